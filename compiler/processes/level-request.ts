/** What a process that solves levels is asked, and what it answers. */
import type { Bundle, Level } from "stratagem-runtime/internal/bundle/schema";
import type { AskedBranches, FoundBranch } from "../model/root-branches.ts";

export type LevelRequest =
  | {
      readonly kind: "solve";
      readonly loadQps: number;
      /** Where several machines search it. */
      readonly branches?: AskedBranches | undefined;
    }
  /** Levels for machines whose service times are so many times the profile's. */
  | { readonly kind: "pace-levels"; readonly bundle: Bundle; readonly pace: number }
  /** A level of a bundle, by index, with what it promises, on slower machines as well. */
  | {
      readonly kind: "promise";
      readonly bundle: Bundle;
      readonly level: number;
      /** Whether it has just been solved, with what it promises by itself. */
      readonly isSolved: boolean;
    }
  /** A level with the tables of one of those around it. */
  | { readonly kind: "move"; readonly loadQps: number; readonly around: readonly Level[] }
  /** Of the levels that are as good as one, the one closest to its neighbour. */
  | { readonly kind: "settle"; readonly level: Level; readonly neighbour: Level }
  /** A level as a baseline would plan it. */
  | { readonly kind: "baseline"; readonly baseline: string; readonly level: Level };

/** Hands a process the bundle of the requests after it, which leave it out. */
export interface HeldBundle {
  readonly kind: "bundle";
  readonly bundle: Bundle;
}

/** @typeParam L level of the method whose frame the process has. */
export type LevelReply<L extends Level = Level> =
  | {
      readonly kind: "solved";
      readonly level: L;
      readonly ms: number;
      /** Where branches of its search were left out. */
      readonly isPart?: true;
    }
  /** A baseline has no plan for the level. */
  | { readonly kind: "unplanned"; readonly loadQps: number }
  | { readonly kind: "pace-levels"; readonly levels: readonly object[] }
  | { readonly kind: "promised"; readonly level: L };

/** Told while a request is answered: a branch of the level's search was searched. */
export interface BranchNote {
  readonly kind: "branch";
  readonly branch: FoundBranch;
}

/** Why a request has no reply: the stack of what the solver threw. */
export interface LevelFailure {
  readonly kind: "failed";
  readonly stack: string;
}
