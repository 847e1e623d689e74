/** Messages between the compiler and its level-solving processes. */
import type { Bundle, Level } from "stratagem-runtime/internal/bundle/schema";
import type { AskedBranches, FoundBranch } from "../model/root-branches.ts";

export type LevelRequest =
  | {
      readonly kind: "solve";
      readonly loadQps: number;
      /** Branches to search, if several machines share the search. */
      readonly branches?: AskedBranches | undefined;
    }
  /** Requests levels for machines with service times multiplied by `pace`. */
  | { readonly kind: "pace-levels"; readonly bundle: Bundle; readonly pace: number }
  /** Requests the promises of a level of a bundle, also on slower machines. */
  | {
      readonly kind: "promise";
      readonly bundle: Bundle;
      readonly level: number;
      /** True if it was just solved and already has its own promises. */
      readonly isSolved: boolean;
    }
  /** Requests a level with the tables of a neighbouring one. */
  | { readonly kind: "move"; readonly loadQps: number; readonly around: readonly Level[] }
  /** Requests the level closest to its neighbour among those with equal value. */
  | { readonly kind: "settle"; readonly level: Level; readonly neighbour: Level }
  /** Requests a level planned by a baseline. */
  | { readonly kind: "baseline"; readonly baseline: string; readonly level: Level };

/** Sends the bundle for subsequent requests, which leave it out. */
export interface HeldBundle {
  readonly kind: "bundle";
  readonly bundle: Bundle;
}

/** @typeParam L level of the process's method. */
export type LevelReply<L extends Level = Level> =
  | {
      readonly kind: "solved";
      readonly level: L;
      readonly ms: number;
      /** True if branches of its search were left out. */
      readonly isPart?: true;
    }
  /** The baseline has no plan for the level. */
  | { readonly kind: "unplanned"; readonly loadQps: number }
  | { readonly kind: "pace-levels"; readonly levels: readonly object[] }
  | { readonly kind: "promised"; readonly level: L };

/** Progress of a request: a branch of the level's search was completed. */
export interface BranchNote {
  readonly kind: "branch";
  readonly branch: FoundBranch;
}

/** Failed request with the stack of the solver's error. */
export interface LevelFailure {
  readonly kind: "failed";
  readonly stack: string;
}
