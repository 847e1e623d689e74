/** What a process that solves levels is asked, and what it answers. */
import type { Level } from "stratagem-runtime/internal/bundle/schema";

export type LevelRequest =
  | { readonly kind: "solve"; readonly loadQps: number }
  /** Of the levels that are as good as one, the one closest to its neighbour. */
  | { readonly kind: "settle"; readonly level: Level; readonly neighbour: Level }
  /** A level as a baseline would plan it. */
  | { readonly kind: "baseline"; readonly baseline: string; readonly level: Level }
  | { readonly kind: "evaluate"; readonly level: Level };

/** @typeParam L level of the method whose frame the process has. */
export type LevelReply<L extends Level = Level> =
  | { readonly kind: "solved"; readonly level: L; readonly ms: number }
  /** A baseline has no plan for the level. */
  | { readonly kind: "unplanned"; readonly loadQps: number }
  | { readonly kind: "evaluated"; readonly promised: object };

/** Why a request has no reply: the stack of what the solver threw. */
export interface LevelFailure {
  readonly kind: "failed";
  readonly stack: string;
}
