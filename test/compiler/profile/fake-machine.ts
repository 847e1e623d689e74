import type { ProfileCommand, ProfileSurroundings } from "../../../compiler/commands/profile.ts";
import type { AssignedExecutor, Batch } from "../../../runtime/exec/executor.ts";

/** Wall and processor time of the run of a number, counted from 0, on some cores. */
export type Timing = (
  batch: Batch,
  run: number,
  cores: number,
) => { readonly wallMs: number; readonly cpuMs: number };

export interface FakeMachine extends ProfileSurroundings {
  /** Every batch in its order, as `variant@rows`, with `×cores` where they are several. */
  readonly runs: string[];
  /** Cores that were asked for, after those at the start. */
  readonly resizes: number[];
  closedCount: number;
}

/** Time that the way to the worker and back takes on the fake clock. */
export const TRANSPORT_MS = 0.125;

/** Time that a change of cores takes, which is no part of any batch. */
const RESIZE_MS = 50;

/** A machine on which only runs take time, and exactly as long as they are told to. */
export function fakeMachine(
  timing: Timing,
  changes: Partial<ProfileSurroundings> = {},
): FakeMachine {
  let nowMs = 0;
  const machine: FakeMachine = {
    runs: [],
    resizes: [],
    closedCount: 0,
    nowMs: () => nowMs,
    onProgress: () => {},
    signal: new AbortController().signal,
    machine: {
      processor: "Fake 9000",
      cores: 2,
      memoryBytes: 2 ** 30,
      os: "Fake 1",
      nodeVersion: "20.0.0",
      onnxruntimeVersion: "1.0.0",
    },
    readModel: async (path) => ({
      file: path,
      sha256: `digest of ${path.replace(/.*\//, "")}`,
      inputs: [{ name: "x", dtype: "float32", shape: [-1, 2] }],
      outputs: [{ name: "y", dtype: "float32", shape: [-1, 2] }],
    }),
    startExecutor: (options, handlers): AssignedExecutor => {
      let cores = options.threadsPerWorker;
      // As the real one: once the caller holds the executor.
      setImmediate(() => handlers.onReady(0));
      return {
        assign: (worker, variants, assignedCores) => {
          cores = assignedCores ?? cores;
          queueMicrotask(() => handlers.onModelReady(worker, variants.length));
        },
        resize: (worker, resizedCores) => {
          machine.resizes.push(resizedCores);
          nowMs += RESIZE_MS;
          queueMicrotask(() => {
            cores = resizedCores;
            handlers.onResized?.(worker, resizedCores);
          });
        },
        release: () => {},
        run: async (_worker, batch) => {
          const { wallMs, cpuMs } = timing(batch, machine.runs.length, cores);
          machine.runs.push(`${batch.variant}@${batch.rows}${cores === 1 ? "" : `×${cores}`}`);
          nowMs += wallMs + TRANSPORT_MS;
          return { outputs: [], wallMs, cpuMs, cores };
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
