/** The executor of assigned workers as it ships, and what it tells. */
import { devicesOn } from "stratagem-runtime/internal/exec/models/worker-device";
import { onTestFinished } from "vitest";
import type { WorkerLimits } from "../../../runtime/exec/limits/worker-limits.ts";
import type {
  AssignedExecutorOptions,
  AssignedProcessExecutor,
  AssignedProcessHandlers,
} from "../../../runtime/exec/pool/assigned-pool.ts";
import { isAlive } from "./built-executor.ts";

type PoolModule = typeof import("../../../runtime/exec/pool/assigned-pool.ts");
const { startAssignedExecutor }: PoolModule = await import(
  new URL("../../../runtime/dist/exec/pool/assigned-pool.js", import.meta.url).href
);

export interface StartedAssigned {
  readonly executor: AssignedProcessExecutor;
  /**
   * The next thing that was told, as soon as it is: `ready 0`, `model 0: 2 loads`, `resized 0: 2`,
   * `lost 0: why`, `failed: why`.
   */
  next(): Promise<string>;
  pidOf(worker: number): number;
}

/** Closed after the test. */
export async function startedAssigned(
  options: Pick<AssignedExecutorOptions, "variants"> & Partial<AssignedExecutorOptions>,
  limits: Partial<WorkerLimits> = {},
): Promise<StartedAssigned> {
  const told: string[] = [];
  const waiting: ((event: string) => void)[] = [];
  const tell = (event: string) => {
    const receiver = waiting.shift();
    if (receiver === undefined) told.push(event);
    else receiver(event);
  };
  const handlers: AssignedProcessHandlers = {
    onReady: (worker) => tell(`ready ${worker}`),
    onModelReady: (worker, loads) => tell(`model ${worker}: ${loads} loads`),
    onResized: (worker, cores) => tell(`resized ${worker}: ${cores}`),
    onLost: (worker, reason) => tell(`lost ${worker}: ${reason}`),
    onStartFailed: (reason) => tell(`failed: ${reason}`),
  };
  const executor = await startAssignedExecutor(
    {
      workerCount: 1,
      threadsPerWorker: 1,
      devices: devicesOn("cpu", options.workerCount ?? 1),
      ...options,
    },
    handlers,
    limits,
  );
  onTestFinished(() => executor.close());
  return {
    executor,
    next: async () => told.shift() ?? new Promise((resolve) => waiting.push(resolve)),
    pidOf: (worker) => executor.pids().slots[worker] ?? Number.NaN,
  };
}

export async function gone(pid: number): Promise<void> {
  while (isAlive(pid)) await new Promise(setImmediate);
}
