/** Process that solves levels, or recomputes what their tables promise, one at a time; told first what the levels share. */
import type { Expected, Level } from "../runtime/bundle/schema.ts";
import { solverFor } from "./solvers/registry.ts";
import type { BundleFrame } from "./solvers/solver.ts";

export type LevelRequest =
  | { readonly kind: "solve"; readonly loadQps: number }
  | { readonly kind: "evaluate"; readonly level: Level };

export type LevelReply =
  | { readonly kind: "solved"; readonly level: Level; readonly ms: number }
  | { readonly kind: "evaluated"; readonly expected: Expected };

/** Why a request has no reply: the stack of what the solver threw. */
export interface LevelFailure {
  readonly kind: "failed";
  readonly stack: string;
}

// A terminal interrupts the whole group; the compiler ends its workers itself. Without it there is nobody to work for.
process.on("SIGINT", () => {});
process.on("disconnect", () => process.exit());
process.once("message", (frame: BundleFrame) => {
  process.on("message", (request: LevelRequest) => process.send?.(attempt(frame, request)));
});

function attempt(frame: BundleFrame, request: LevelRequest): LevelReply | LevelFailure {
  try {
    return answer(frame, request);
  } catch (error) {
    return { kind: "failed", stack: String(error instanceof Error ? error.stack : error) };
  }
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
