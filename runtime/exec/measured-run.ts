/** One run of a model inside a worker, with what it took. */
import type { BatchResult } from "./executor.ts";

/** @param cores that it may use. @throws what the run throws. */
export async function measuredRun(
  cores: number,
  run: () => Promise<BatchResult["outputs"]>,
): Promise<BatchResult> {
  const cpuBefore = process.cpuUsage();
  const startMs = performance.now();
  const outputs = await run();
  const wallMs = performance.now() - startMs;
  const { user, system } = process.cpuUsage(cpuBefore);
  return { outputs, wallMs, cpuMs: (user + system) / 1000, cores };
}
