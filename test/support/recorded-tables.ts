/** A recorded server of tables: what it was told, and what it did. */
import fc from "fast-check";
import { vi } from "vitest";
import type { RamsisBundle } from "../../runtime/bundle/schema.ts";
import {
  type Batch,
  type BatchResult,
  type Executor,
  WorkerLostError,
} from "../../runtime/exec/models/executor.ts";
import type {
  RecordedCommand,
  RecordedEvent,
} from "../../runtime/methods/ramsis/serve/recorded-dispatcher.ts";
import { Scheduler } from "../../runtime/methods/ramsis/serve/scheduler.ts";
import type { RowAnswer, Submission } from "../../runtime/server/requests/request.ts";
import type { VariantWish } from "../../runtime/server/requests/variant-wish.ts";
import { signatureOf } from "../../runtime/server/tensors/signature.ts";
import { bucketBundle } from "./bucket-bundle.ts";
import { classBundle } from "./class-bundle.ts";
import { waitingBundle } from "./pooled-bundle.ts";
import { tinyBundle } from "./tiny-bundle.ts";

type Entry = RecordedEvent | RecordedCommand;

const TENSOR = { dtype: "float32", shape: [-1, 1] } as const;
const MODEL = {
  file: "m.onnx",
  sha256: "0".repeat(64),
  inputs: [{ name: "x", ...TENSOR }],
  outputs: [{ name: "y", ...TENSOR }],
};

const LOADS_QPS = [20, 100, 1000];
export type TableKind = "bound" | "pooled" | "classes" | "buckets";

/**
 * A queue for each worker, one for all, classes that have workers of their own at the lower
 * levels, or buckets.
 */
export function servedTables(workers: number, kind: TableKind): RamsisBundle {
  if (kind === "buckets") return bucketsOf(workers);
  const bound = tinyBundle({ workers, maxQueue: 3, sloMs: 100, loadsQps: LOADS_QPS });
  const bundle =
    kind === "classes" ? classesOf(workers) : kind === "pooled" ? waitingBundle(bound) : bound;
  const tasks = bundle.tasks.map((task) => ({
    ...task,
    variants: task.variants.map((variant) => ({ ...variant, model: MODEL })),
  }));
  return { ...bundle, tasks };
}

/** The queue of the smaller bucket waits for a second query. */
function bucketsOf(workers: number): RamsisBundle {
  return bucketBundle({
    workers,
    loadsQps: LOADS_QPS,
    decide: ({ bucket, queued, slackMs }) => {
      return bucket === 0 && queued === 1 && slackMs > 40 ? "wait" : { variant: 0, batch: queued };
    },
  });
}

function classesOf(workers: number): RamsisBundle {
  const split = workers === 1 ? null : [1, workers - 1];
  const bundle = classBundle({ workers, split, loadsQps: LOADS_QPS });
  const levels = bundle.levels.map((level) => {
    const { classTables: _, ...together } = level;
    return level.loadQps === 1000 ? together : level;
  });
  return { ...bundle, levels };
}

/** The lowest levels of a bundle; with fewer of them the same loads are decided by others. */
function withLevels(bundle: RamsisBundle, levelCount: number): RamsisBundle {
  return { ...bundle, levels: bundle.levels.slice(0, levelCount) };
}

interface HeldBatch {
  readonly compute: () => void;
  readonly finish: () => void;
  readonly lose: () => void;
}

/** Echoes its input when it is told to. */
class HeldExecutor implements Executor {
  /** By worker that has any: the batches that it has not answered, in order. */
  readonly running = new Map<number, HeldBatch[]>();

  run(worker: number, { rows, inputs }: Batch, onComputed = () => {}): Promise<BatchResult> {
    return new Promise((resolve, reject) => {
      const bytes = Buffer.concat([...(inputs[0] ?? [])]);
      const batches = this.running.get(worker) ?? [];
      this.running.set(worker, batches);
      batches.push({
        compute: onComputed,
        finish: () =>
          resolve({
            outputs: [{ shape: [rows, bytes.length / 4 / rows], bytes }],
            wallMs: 1,
            cpuMs: 1,
            cores: 1,
          }),
        lose: () => reject(new WorkerLostError(worker, "killed")),
      });
    });
  }

  async close(): Promise<void> {}
}

export const tableActions = fc.array(
  fc.record({
    kind: fc.constantFrom(
      "submit",
      "submit",
      "submit",
      "compute",
      "finish",
      "lose",
      "lose",
      "ready",
      "ready",
      "cancel",
      "policy",
      "refuse",
    ),
    pick: fc.nat(),
    rows: fc.integer({ min: 1, max: 6 }),
    variant: fc.constantFrom<VariantWish | undefined>(undefined, undefined, "same", 0, 1),
    gapMs: fc.integer({ min: 0, max: 40 }),
  }),
  { maxLength: 80 },
);
type Action = typeof tableActions extends fc.Arbitrary<readonly (infer Each)[]> ? Each : never;

export interface RecordedRequest {
  readonly submission: Submission<RowAnswer>;
  /** The only input, which is also the only output. */
  readonly bytes: Uint8Array;
}

export interface Recorded {
  readonly log: Entry[];
  readonly requests: readonly RecordedRequest[];
  readonly scheduler: Scheduler;
}

/**
 * Runs a scheduler through the actions, on a clock of its own, and brings everything to its end:
 * workers that were lost come back, but those that are gone for good.
 */
export async function record(
  bundle: RamsisBundle,
  steps: readonly Action[],
  gone: readonly number[],
): Promise<Recorded> {
  const log: Entry[] = [];
  const requests: RecordedRequest[] = [];
  const kindCount = (bundle.slo.classes ?? bundle.buckets)?.length ?? 1;
  let nowMs = 0;
  const scheduler = new Scheduler({
    bundle,
    signature: signatureOf(bundle),
    nowMs: () => nowMs,
    maxPending: 40,
    recorder: (entry) => log.push(structuredClone(entry)),
  });
  const executor = new HeldExecutor();
  scheduler.attach(executor);
  const workers = Array.from({ length: scheduler.workerCount }, (_, worker) => worker);
  const lose = (worker: number) => {
    for (const batch of executor.running.get(worker) ?? []) batch.lose();
    executor.running.delete(worker);
    scheduler.onWorkerLost(worker, "killed");
  };
  const perform: Record<string, (step: Action) => void> = {
    submit: ({ rows, variant, pick }) => {
      const sloClass = pick % kindCount;
      const width = bundle.buckets === undefined ? 1 : Number(bundle.buckets[sloClass]?.name);
      const values = Float32Array.from({ length: rows * width }, (_, at) => {
        return 100 * requests.length + at;
      });
      const bytes = new Uint8Array(values.buffer);
      const deadlineMs = nowMs + (bundle.slo.classes?.[sloClass]?.latencyMs ?? 100);
      const submission = scheduler.submit({ rows, inputs: [bytes], variant }, deadlineMs, sloClass);
      requests.push({ submission, bytes });
    },
    cancel: ({ pick }) => requests[pick % Math.max(1, requests.length)]?.submission.cancel(),
    refuse: ({ rows, pick }) => scheduler.reject(rows, pick % kindCount),
    ready: ({ pick }) => scheduler.onWorkerReady(pick % workers.length),
    compute: ({ pick }) => pickedBatches(executor, pick)?.at(-1)?.compute(),
    finish: ({ pick }) => finish(executor, pick),
    policy: ({ pick }) => scheduler.replaceBundle(withLevels(bundle, 1 + (pick % 3))),
    lose: ({ pick }) => lose(pick % workers.length),
  };
  const pass = async (ms: number) => {
    nowMs += ms;
    vi.advanceTimersByTime(ms);
    // Lets the scheduler see what the executor's promises have become.
    await new Promise(setImmediate);
  };
  for (const worker of workers) scheduler.onWorkerReady(worker);
  for (const step of steps) {
    await pass(step.gapMs);
    perform[step.kind]?.(step);
    await pass(0);
  }
  for (const worker of workers) {
    if (gone.includes(worker)) lose(worker);
    else scheduler.onWorkerReady(worker);
  }
  for (let round = 0; scheduler.pendingCount > 0 && round < MOST_ROUNDS; round++) {
    while (executor.running.size > 0) finish(executor, 0);
    await pass(10);
  }
  return { log, requests, scheduler };
}

/** Ten milliseconds each: nothing waits as long. */
const MOST_ROUNDS = 500;

function pickedBatches({ running }: HeldExecutor, pick: number): HeldBatch[] | undefined {
  return [...running.values()][pick % running.size];
}

/** The oldest batch of a worker is answered. */
function finish({ running }: HeldExecutor, pick: number): void {
  const worker = [...running.keys()][pick % running.size];
  const batches = worker === undefined ? undefined : running.get(worker);
  batches?.shift()?.finish();
  if (worker !== undefined && batches?.length === 0) running.delete(worker);
}
