import {
  type AssignedExecutor,
  type AssignedExecutorHandlers,
  type Batch,
  type BatchResult,
  InferenceError,
  RowsRefusedError,
  WorkerLostError,
} from "../../../../runtime/exec/models/executor.ts";
import type { LossCause } from "../../../../runtime/exec/models/scaler.ts";
import type { PipelineScheduler } from "../../../../runtime/server/graph/pipeline-scheduler.ts";
import { FACTORS, type SceneRow } from "./served-pipeline.ts";

interface Held {
  readonly worker: number;
  readonly batch: Batch;
  readonly onComputed: () => void;
  /** Its worker takes the next one. */
  isComputed: boolean;
  readonly resolve: (result: BatchResult) => void;
  readonly reject: (error: Error) => void;
}

/**
 * The models of `servedPipeline`, or others, without processes: batches and loads are kept until
 * the test says how they end.
 */
export class FakeAssignedExecutor implements AssignedExecutor {
  readonly handlers: AssignedExecutorHandlers;
  readonly held: Held[] = [];
  readonly batches: (Batch & { readonly worker: number })[] = [];
  /** Workers whose models are being loaded, in order. */
  readonly loading: number[] = [];
  /**
   * Every assignment, as `worker: variants`, with `on n` after it where cores are said, every
   * resize, as `worker: on n`, every release, as `worker: off`.
   */
  readonly told: string[] = [];
  readonly #variants = new Map<number, readonly number[]>();
  readonly #answer: (batch: Batch) => BatchResult["outputs"];

  constructor(handlers: AssignedExecutorHandlers, answer = outputsOf) {
    this.handlers = handlers;
    this.#answer = answer;
  }

  /** An executor that a scheduler has, and reports to. */
  static of(scheduler: PipelineScheduler, answer = outputsOf): FakeAssignedExecutor {
    const executor = new FakeAssignedExecutor(
      {
        onReady: (worker) => scheduler.onWorkerReady(worker),
        onModelReady: (worker, loads) => scheduler.onModelReady(worker, loads),
        onResized: (worker) => scheduler.onResized(worker),
        onLost: (worker, reason) => scheduler.onWorkerLost(worker, reason),
      },
      answer,
    );
    scheduler.attach(executor);
    return executor;
  }

  assign(worker: number, variants: readonly number[], cores?: number): void {
    const on = cores === undefined ? "" : ` on ${cores}`;
    this.told.push(`${worker}: ${variants.join(" ")}${on}`);
    this.#stopLoading(worker);
    this.#variants.set(worker, variants);
    this.loading.push(worker);
  }

  /** In force at once. */
  resize(worker: number, cores: number): void {
    this.told.push(`${worker}: on ${cores}`);
    queueMicrotask(() => this.handlers.onResized?.(worker, cores));
  }

  release(worker: number): void {
    this.told.push(`${worker}: off`);
    this.#stopLoading(worker);
    this.#variants.delete(worker);
  }

  /** Measured time of every batch, ms; NaN for none. */
  wallMs = Number.NaN;

  run(worker: number, batch: Batch, onComputed = () => {}): Promise<BatchResult> {
    if (this.#variants.get(worker)?.includes(batch.variant) !== true) {
      throw new Error(`worker ${worker} does not hold ${batch.variant}`);
    }
    if (this.loading.includes(worker)) throw new Error(`worker ${worker} is still loading`);
    const isBusy = this.held.some((held) => held.worker === worker && !held.isComputed);
    if (isBusy) throw new Error(`${worker} is busy`);
    this.batches.push({ ...batch, worker });
    return new Promise((resolve, reject) => {
      this.held.push({ worker, batch, onComputed, isComputed: false, resolve, reject });
    });
  }

  /** A batch is computed; its answer is on its way until it is finished. */
  compute(index = 0): void {
    const held = this.held[index];
    if (held === undefined || held.isComputed) return;
    held.isComputed = true;
    held.onComputed();
  }

  /** The load that was begun first is done. */
  load(): void {
    const worker = this.loading.shift();
    if (worker === undefined) return;
    this.handlers.onModelReady(worker, this.#variants.get(worker)?.length ?? 0);
  }

  finish(index = 0): void {
    const { batch, resolve } = this.take(index);
    resolve({ outputs: this.#answer(batch), wallMs: this.wallMs, cpuMs: 1, cores: 1 });
  }

  refuse(index = 0): void {
    this.take(index).reject(new InferenceError("detect", "the model said no"));
  }

  /** Refuses some rows of a batch for what they are. */
  refuseRows(rows: readonly number[], index = 0): void {
    const held = this.take(index);
    const own = [...new Set(rows.map((row) => row % held.batch.rows))].sort((a, b) => a - b);
    held.reject(new RowsRefusedError("detect", "no image", own));
  }

  /** Ends a worker, and its batches if it has any. */
  lose(worker: number, cause: LossCause = "ended"): void {
    for (;;) {
      const index = this.held.findIndex((held) => held.worker === worker);
      if (index < 0) break;
      this.take(index).reject(new WorkerLostError(worker, "killed"));
    }
    this.#stopLoading(worker);
    this.#variants.delete(worker);
    this.handlers.onLost(worker, "killed", cause);
  }

  take(index = 0): Held {
    const [held] = this.held.splice(index, 1);
    if (held === undefined) throw new Error("no batch is held");
    return held;
  }

  async close(): Promise<void> {}

  #stopLoading(worker: number): void {
    const index = this.loading.indexOf(worker);
    if (index >= 0) this.loading.splice(index, 1);
  }
}

function outputsOf({ variant, inputs }: Batch): BatchResult["outputs"] {
  const bytes = Uint8Array.from(Buffer.concat([...(inputs[0] ?? [])]));
  const values = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
  return variant < 2
    ? detected(values)
    : [
        floats(
          2,
          values.map((v) => v * factorOf(variant)),
        ),
      ];
}

function factorOf(variant: number): number {
  return FACTORS[variant - 2] ?? Number.NaN;
}

function detected(values: Float32Array): BatchResult["outputs"] {
  const rows: SceneRow[] = Array.from({ length: values.length / 2 }, (_, row) => ({
    crops: values[2 * row] ?? 0,
    value: values[2 * row + 1] ?? 0,
  }));
  const crops = rows.flatMap(({ crops: count, value }) =>
    Array.from({ length: count }, (_, position) => [value, position] as const),
  );
  const counts = BigInt64Array.from(rows, ({ crops: count }) => BigInt(count));
  return [
    floats(2, Float32Array.from(crops.flat())),
    { shape: [rows.length], bytes: new Uint8Array(counts.buffer) },
    floats(
      1,
      Float32Array.from(crops, ([value, position]) => value + position),
    ),
    floats(
      1,
      Float32Array.from(rows, ({ value }) => value),
    ),
  ];
}

function floats(width: number, values: Float32Array) {
  return {
    shape: [values.length / width, width],
    bytes: new Uint8Array(values.buffer, values.byteOffset, values.byteLength),
  };
}
