/** Thread that solves the levels it is sent, one at a time. */
import { isMainThread, parentPort, workerData } from "node:worker_threads";
import { solverFor } from "./solvers/registry.ts";
import type { BundleFrame } from "./solvers/solver.ts";

export interface LevelRequest {
  readonly index: number;
  readonly loadQps: number;
}

if (!isMainThread && parentPort !== null) {
  const port = parentPort;
  const frame = workerData as BundleFrame;
  const solver = solverFor(frame.method);
  port.on("message", ({ index, loadQps }: LevelRequest) => {
    const startMs = performance.now();
    const level = solver.solveLevel(frame, loadQps);
    port.postMessage({ index, level, ms: performance.now() - startMs });
  });
}
