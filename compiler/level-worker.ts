/** Thread that solves levels, or recomputes what their tables promise, one at a time. */
import { isMainThread, parentPort, workerData } from "node:worker_threads";
import type { Expected, Level } from "../runtime/bundle/schema.ts";
import { solverFor } from "./solvers/registry.ts";
import type { BundleFrame } from "./solvers/solver.ts";

export type LevelRequest =
  | { readonly kind: "solve"; readonly loadQps: number }
  | { readonly kind: "evaluate"; readonly level: Level };

export type LevelReply =
  | { readonly kind: "solved"; readonly level: Level; readonly ms: number }
  | { readonly kind: "evaluated"; readonly expected: Expected };

if (!isMainThread && parentPort !== null) {
  const port = parentPort;
  const frame = workerData as BundleFrame;
  port.on("message", (request: LevelRequest) => port.postMessage(answer(frame, request)));
}

function answer(frame: BundleFrame, request: LevelRequest): LevelReply {
  const solver = solverFor(frame.method);
  if (request.kind === "evaluate") {
    return { kind: "evaluated", expected: solver.expectedOf(frame, request.level) };
  }
  const startMs = performance.now();
  const level = solver.solveLevel(frame, request.loadQps);
  return { kind: "solved", level, ms: performance.now() - startMs };
}
