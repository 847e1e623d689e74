import type { ProfileCommand, ProfileSurroundings } from "../../../compiler/commands/profile.ts";
import type { Batch, Executor } from "../../../runtime/exec/executor.ts";

/** Wall and processor time of the run of a number, counted from 0. */
export type Timing = (
  batch: Batch,
  run: number,
) => { readonly wallMs: number; readonly cpuMs: number };

export interface FakeMachine extends ProfileSurroundings {
  /** Every batch in its order, as `variant@rows`. */
  readonly runs: string[];
  closedCount: number;
}

/** Time that the way to the worker and back takes on the fake clock. */
export const TRANSPORT_MS = 0.125;

/** A machine on which only runs take time, and exactly as long as they are told to. */
export function fakeMachine(
  timing: Timing,
  changes: Partial<ProfileSurroundings> = {},
): FakeMachine {
  let nowMs = 0;
  const machine: FakeMachine = {
    runs: [],
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
    startExecutor: (_options, handlers): Executor => {
      handlers.onReady(0);
      return {
        run: async (_worker, batch) => {
          const { wallMs, cpuMs } = timing(batch, machine.runs.length);
          machine.runs.push(`${batch.variant}@${batch.rows}`);
          nowMs += wallMs + TRANSPORT_MS;
          return { outputs: [], wallMs, cpuMs };
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
