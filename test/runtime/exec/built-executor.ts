/** The executor as it ships: its workers are processes, which run compiled files only. */

import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { WorkerLimits } from "stratagem-runtime/internal/exec/limits/worker-limits";
import type {
  ExecutorOptions,
  VariantModel,
} from "stratagem-runtime/internal/exec/models/executor";
import { devicesOn } from "stratagem-runtime/internal/exec/models/worker-device";
import type {
  ProcessExecutor,
  ProcessExecutorHandlers,
} from "stratagem-runtime/internal/exec/pool/worker-pool";
import { identityModel } from "../../support/onnx-model.ts";

type PoolModule = typeof import("stratagem-runtime/internal/exec/pool/worker-pool");
type ExecutorModule = typeof import("stratagem-runtime/internal/exec/models/executor");

export const POOL_URL = new URL("../../../runtime/dist/exec/pool/worker-pool.js", import.meta.url)
  .href;
const { startExecutor }: PoolModule = await import(POOL_URL);
/** The classes that the compiled executor throws. */
export const { InferenceError, WorkerLostError }: ExecutorModule = await import(
  new URL("../../../runtime/dist/exec/models/executor.js", import.meta.url).href
);

export const WIDTH = 4;
const folder = mkdtempSync(join(tmpdir(), "stratagem-executor-"));

/** A variant whose model gives back what it gets, in a file of its own. */
export function identityVariant(name: string, width = WIDTH): VariantModel {
  const path = join(folder, `${name}.onnx`);
  writeFileSync(path, identityModel(width));
  const shape = [-1, width];
  return {
    name,
    path,
    inputs: [{ name: "x", dtype: "float32", shape }],
    outputs: [{ name: "y", dtype: "float32", shape }],
    warmBatches: [1, 2],
  };
}

/** The bytes of rows of WIDTH numbers that count up from `first`. */
export function countingRows(first: number, rowCount: number, width = WIDTH): Uint8Array {
  const values = Float32Array.from({ length: rowCount * width }, (_, index) => first + index);
  return new Uint8Array(values.buffer);
}

/** One executor and what it told its handlers, in order, but for those that a test has given. */
export interface StartedExecutor extends ProcessExecutor {
  /**
   * The next thing that was told, as soon as it is: `ready 0`, `lost 0: why`,
   * `failed, next in 250 ms: why`.
   */
  nextEvent(): Promise<string>;
  pidOf(worker: number): number;
}

export async function startedExecutor(
  options: Partial<ExecutorOptions>,
  limits?: Partial<WorkerLimits>,
  ownHandlers: Partial<ProcessExecutorHandlers> = {},
): Promise<StartedExecutor> {
  const told: string[] = [];
  const waiting: ((event: string) => void)[] = [];
  const tell = (event: string) => {
    const receiver = waiting.shift();
    if (receiver === undefined) told.push(event);
    else receiver(event);
  };
  const handlers: ProcessExecutorHandlers = {
    onReady: (worker) => tell(`ready ${worker}`),
    onLost: (worker, reason) => tell(`lost ${worker}: ${reason}`),
    onStartFailed: (reason, retryMs) => tell(`failed, next in ${retryMs} ms: ${reason}`),
    ...ownHandlers,
  };
  const executor = await startExecutor(
    {
      variants: [identityVariant("identity")],
      workerCount: 1,
      standbyCount: 0,
      threadsPerWorker: 1,
      devices: devicesOn("cpu", options.workerCount ?? 1),
      ...options,
    },
    handlers,
    limits,
  );
  return {
    run: (...args) => executor.run(...args),
    close: () => executor.close(),
    pids: () => executor.pids(),
    recycle: (...args) => executor.recycle(...args),
    nextEvent: async () => told.shift() ?? new Promise((resolve) => waiting.push(resolve)),
    pidOf: (worker) => {
      const pid = executor.pids().slots[worker];
      if (pid === undefined) throw new Error(`worker ${worker} has no process`);
      return pid;
    },
  };
}

export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
