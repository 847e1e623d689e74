import { createHash } from "node:crypto";
import type {
  ProfileCommand,
  ProfileSurroundings,
} from "../../../compiler/commands/profile/profile.ts";
import type { TensorInfo } from "../../../runtime/bundle/schema.ts";
import type {
  AssignedExecutor,
  Batch,
  BatchResult,
} from "../../../runtime/exec/models/executor.ts";

/** Wall and processor time of the run of a number, counted from 0, on some cores. */
export type Timing = (
  batch: Batch,
  run: number,
  cores: number,
) => { readonly wallMs: number; readonly cpuMs: number };

/** Outputs of a batch; null for zeros. */
export type Answer = (batch: Batch) => BatchResult["outputs"] | null;

export interface FakeMachine extends ProfileSurroundings {
  /** Every batch in its order, as `variant@rows`, with `×cores` where they are several. */
  readonly runs: string[];
  /** The worker and the beginning and end of each of them on the clock. */
  readonly spans: { readonly worker: number; readonly fromMs: number; readonly toMs: number }[];
  /** Indices of the variants that each worker was assigned last. */
  readonly assigned: (readonly number[])[];
  /** Cores that were asked for, after those at the start. */
  readonly resizes: number[];
  closedCount: number;
}

/** Digest that `fakeMachine` gives a model for its file's name. */
export function fakeDigest(file: string): string {
  return createHash("sha256").update(file).digest("hex");
}

/** Time that the way to the worker and back takes on the fake clock. */
export const TRANSPORT_MS = 0.125;

/** Time that a change of cores takes, which is no part of any batch. */
const RESIZE_MS = 50;

/**
 * A machine on which only runs take time, and exactly as long as they are told to; those of several
 * workers at the same time.
 */
export function fakeMachine(
  timing: Timing,
  changes: Partial<ProfileSurroundings> = {},
  answer: Answer = () => null,
): FakeMachine {
  const clock = new FakeClock();
  const machine: FakeMachine = {
    runs: [],
    spans: [],
    assigned: [],
    resizes: [],
    closedCount: 0,
    nowMs: () => clock.nowMs,
    onProgress: () => {},
    onNote: () => {},
    signal: new AbortController().signal,
    machine: {
      processor: "Fake 9000",
      cores: 2,
      quota: null,
      memoryBytes: 2 ** 30,
      os: "Fake 1",
      nodeVersion: "20.0.0",
      onnxruntimeVersion: "1.0.0",
    },
    readModel: async (path) => ({
      model: {
        file: path,
        sha256: fakeDigest(path.replace(/.*\//, "")),
        inputs: [{ name: "x", dtype: "float32", shape: [-1, 2] }],
        outputs: [{ name: "y", dtype: "float32", shape: [-1, 2] }],
      },
    }),
    startExecutor: (options, handlers): AssignedExecutor => {
      let cores = options.threadsPerWorker;
      // As the real one: once the caller holds the executor.
      setImmediate(() => {
        for (let worker = 0; worker < options.workerCount; worker++) handlers.onReady(worker);
      });
      return {
        assign: (worker, variants, assignedCores) => {
          cores = assignedCores ?? cores;
          machine.assigned[worker] = variants;
          queueMicrotask(() => handlers.onModelReady(worker, variants.length));
        },
        resize: (worker, resizedCores) => {
          machine.resizes.push(resizedCores);
          clock.nowMs += RESIZE_MS;
          queueMicrotask(() => {
            cores = resizedCores;
            handlers.onResized?.(worker, resizedCores);
          });
        },
        release: () => {},
        run: async (worker, batch) => {
          const fromMs = clock.nowMs;
          const { wallMs, cpuMs } = timing(batch, machine.runs.length, cores);
          machine.runs.push(`${batch.variant}@${batch.rows}${cores === 1 ? "" : `×${cores}`}`);
          const toMs = fromMs + wallMs + TRANSPORT_MS;
          machine.spans.push({ worker, fromMs, toMs });
          await clock.at(toMs);
          const { outputs } = options.variants[batch.variant] ?? { outputs: [] };
          return { outputs: answer(batch) ?? outputs.map(zeros), wallMs, cpuMs, cores };
        },
        close: async () => {
          machine.closedCount++;
        },
      };
    },
    ...changes,
  };
  return machine;
}

/** Goes on to what is awaited next once nothing else is left to do. */
class FakeClock {
  nowMs = 0;
  readonly #awaited: { readonly atMs: number; readonly resolve: () => void }[] = [];

  at(atMs: number): Promise<void> {
    return new Promise((resolve) => {
      this.#awaited.push({ atMs, resolve });
      if (this.#awaited.length === 1) setImmediate(() => this.#proceed());
    });
  }

  #proceed(): void {
    this.#awaited.sort((a, b) => a.atMs - b.atMs);
    const next = this.#awaited.shift();
    if (next === undefined) return;
    this.nowMs = Math.max(this.nowMs, next.atMs);
    next.resolve();
    if (this.#awaited.length > 0) setImmediate(() => this.#proceed());
  }
}

/** An output of 4-byte elements; where axis 0 is open, of one row. */
function zeros({ shape }: TensorInfo): BatchResult["outputs"][number] {
  const fixed = shape.map((size) => Math.max(1, size));
  const bytes = new Uint8Array(fixed.reduce((product, size) => product * size, 4));
  return { shape: fixed, bytes };
}

export function commandFor(folder: string, changes: Partial<ProfileCommand> = {}): ProfileCommand {
  return {
    app: `${folder}/app.yaml`,
    out: `${folder}/profile.json`,
    task: null,
    batches: [1, 2],
    repeat: 20,
    threads: 1,
    cores: null,
    device: "cpu",
    hardware: null,
    seed: 1,
    dryRun: false,
    force: false,
    budgetMs: null,
    effort: { warmUpMs: 0, extraMs: 0 },
    ...changes,
  };
}

/** Two variants of which no profile exists yet. */
export const UNPROFILED = `version: 1
application: demo
slo: { latency: 150 ms }
workload:
  arrivals: { process: poisson }
  loads: [100]
cluster:
  workers: 4
tasks:
  - name: classify
    variants:
      - { name: s, accuracy: 0.5, profile: profile.json#small, model: small.onnx }
      - { name: l, accuracy: 75%, profile: profile.json#large, model: large.onnx }
policy:
  method: ramsis
`;
