/**
 * Models whose every answer can be foretold, on places without processes. Layer k makes 2h + k of
 * what is before it; the last adds 3 times what the first made.
 */
import type { AccordionBundle } from "../../../../../runtime/bundle/schema.ts";
import {
  type Batch,
  type BatchResult,
  type Executor,
  type ExecutorHandlers,
  InferenceError,
  WorkerLostError,
} from "../../../../../runtime/exec/models/executor.ts";
import type { LossCause } from "../../../../../runtime/exec/models/scaler.ts";
import {
  type AccordionBundleSketch,
  type AccordionModelSketch,
  accordionBundle,
} from "../../../../support/accordion-bundle.ts";

/** Elements of a row of "x" and of "y". */
const WIDTH = 4;

export const DEEP: AccordionModelSketch = {
  name: "deep",
  accuracy: 0.9,
  layerMs: [4, 6, 3, 7, 5, 5],
  hasModel: true,
};
export const SMALL: AccordionModelSketch = {
  name: "small",
  accuracy: 0.8,
  layerMs: [3, 2],
  hasModel: true,
};

export function servedPlaces(sketch: AccordionBundleSketch = {}): AccordionBundle {
  return accordionBundle({ models: [DEEP, SMALL], places: 4, ...sketch });
}

/** The bytes of a row whose elements begin with a value. */
export function rowBytes(value: number): Uint8Array {
  return new Uint8Array(Float32Array.from({ length: WIDTH }, (_, at) => value + at).buffer);
}

/** What a model of so many layers makes of it. */
export function answeredRow(value: number, layerCount: number): number[] {
  return Array.from({ length: WIDTH }, (_, at) => {
    const values = new Map([["x", [value + at]]]);
    runLayers(values, 0, layerCount, layerCount);
    return values.get(nameAfter(layerCount, layerCount))?.[0] ?? Number.NaN;
  });
}

function nameAfter(layers: number, layerCount: number): string {
  if (layers === 0) return "x";
  return layers === layerCount && layerCount > 1 ? "y" : `h${layers}`;
}

function runLayers(
  values: Map<string, readonly number[]>,
  from: number,
  to: number,
  layerCount: number,
): void {
  for (let layer = from; layer < to; layer++) {
    const before = valuesOf(values, nameAfter(layer, layerCount));
    const isLast = layer > 0 && layer === layerCount - 1;
    const first = isLast ? valuesOf(values, "h1") : before.map(() => 0);
    const made = before.map((value, at) => 2 * value + layer + 1 + 3 * (first[at] ?? 0));
    values.set(nameAfter(layer + 1, layerCount), made);
  }
}

function valuesOf(values: ReadonlyMap<string, readonly number[]>, name: string) {
  const found = values.get(name);
  if (found === undefined) throw new Error(`a stage was not given ${name}`);
  return found;
}

interface Held {
  readonly worker: number;
  readonly batch: Batch;
  readonly resolve: (result: BatchResult) => void;
  readonly reject: (error: Error) => void;
}

/** Runs are kept until the test says how they end. */
export class FakePlaces implements Executor {
  readonly handlers: ExecutorHandlers;
  readonly held: Held[] = [];
  /** Every run, as `worker: model from-to`. */
  readonly told: string[] = [];
  /** Mistakes of who asks: a run on a worker that is busy, or gone. */
  readonly mistakes: string[] = [];
  readonly #stages: readonly (readonly [name: string, from: number, to: number, layers: number])[];
  readonly #stageModels: AccordionBundle["tasks"][number]["variants"][number]["stages"];
  readonly #up = new Set<number>();

  constructor(handlers: ExecutorHandlers, bundle: AccordionBundle) {
    this.handlers = handlers;
    const variants = bundle.tasks.flatMap((task) => task.variants);
    this.#stageModels = variants.flatMap(({ stages }) => stages);
    this.#stages = variants.flatMap(({ name, stages, layerCount }) =>
      stages.map(({ from, to }) => [name, from, to, layerCount] as const),
    );
  }

  run(worker: number, batch: Batch): Promise<BatchResult> {
    if (!this.#up.has(worker)) this.mistakes.push(`${worker} is not up`);
    if (this.held.some((held) => held.worker === worker)) this.mistakes.push(`${worker} is busy`);
    if (batch.rows !== 1) this.mistakes.push(`${batch.rows} rows`);
    const [name, from, to] = this.#stages[batch.variant] ?? [];
    this.told.push(`${worker}: ${name} ${from}-${to}`);
    return new Promise((resolve, reject) => this.held.push({ worker, batch, resolve, reject }));
  }

  isUp(worker: number): boolean {
    return this.#up.has(worker);
  }

  ready(worker: number): void {
    this.#up.add(worker);
    this.handlers.onReady(worker);
  }

  /** A stage is done. @param index among those that run, in the order in which they began. */
  async finish(index = 0): Promise<void> {
    const { batch, resolve } = this.#take(index);
    resolve({ outputs: this.#outputs(batch), wallMs: 1, cpuMs: 1, cores: 1 });
    await settled();
  }

  /** As `finish`, of what a worker runs. */
  async finishOn(worker: number): Promise<void> {
    await this.finish(this.held.findIndex((held) => held.worker === worker));
  }

  /** As `finish`, but with outputs of another number of rows. */
  async finishWrong(index = 0): Promise<void> {
    const { batch, resolve } = this.#take(index);
    const outputs = this.#outputs(batch).map(({ bytes }) => ({ shape: [2, 2], bytes }));
    resolve({ outputs, wallMs: 1, cpuMs: 1, cores: 1 });
    await settled();
  }

  async refuse(index = 0): Promise<void> {
    this.#take(index).reject(new InferenceError("deep stage", "the model said no"));
    await settled();
  }

  /**
   * Ends a worker, and what it runs.
   * @param isToldFirst whether the loss is told before the run is rejected.
   */
  async lose(worker: number, isToldFirst = false): Promise<void> {
    this.#up.delete(worker);
    if (isToldFirst) this.handlers.onLost(worker, "killed");
    this.#reject(worker);
    await settled();
    if (!isToldFirst) this.handlers.onLost(worker, "killed");
  }

  /** As `lose`, but a standby takes the place. */
  async replace(worker: number, cause: LossCause = "ended"): Promise<void> {
    this.#reject(worker);
    this.handlers.onReplaced?.(worker, "killed", cause);
    await settled();
  }

  async close(): Promise<void> {
    for (const { worker, reject } of this.held.splice(0)) {
      reject(new WorkerLostError(worker, "closed"));
    }
  }

  #reject(worker: number): void {
    const index = this.held.findIndex((held) => held.worker === worker);
    if (index >= 0) this.#take(index).reject(new WorkerLostError(worker, "killed"));
  }

  #take(index: number): Held {
    const [held] = this.held.splice(index, 1);
    if (held === undefined || index < 0) throw new Error("no such run is held");
    return held;
  }

  #outputs({ variant, inputs }: Batch): BatchResult["outputs"] {
    const [, from = 0, to = 0, layerCount = 0] = this.#stages[variant] ?? [];
    const { model } = this.#stageModels[variant] ?? {};
    const values = new Map<string, readonly number[]>();
    for (const [index, { name }] of model?.inputs.entries() ?? []) {
      const bytes = Uint8Array.from(Buffer.concat([...(inputs[index] ?? [])]));
      values.set(name, [...new Float32Array(bytes.buffer)]);
    }
    // A layer before the last may be called what the first made.
    runLayers(values, from, to, layerCount);
    return (model?.outputs ?? []).map(({ name }) => {
      const made = Float32Array.from(valuesOf(values, name));
      return { shape: [1, WIDTH], bytes: new Uint8Array(made.buffer) };
    });
  }
}

/** Once what follows from a promise that was settled has happened. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
