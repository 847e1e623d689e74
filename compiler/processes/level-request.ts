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
  /** Requests a simulation of one load with a whole bundle. */
  | { readonly kind: "simulate"; readonly bundle: Bundle; readonly run: LoadRun }
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
  | { readonly kind: "promised"; readonly level: L }
  | { readonly kind: "simulated"; readonly load: SimulatedLoad };

/** One load to simulate, on a machine that may be slower or short of workers. */
export interface LoadRun {
  readonly loadQps: number;
  /** Requests that arrive earlier are not counted. */
  readonly fromMs: number;
  /** Spans of equal length in which requests are counted. */
  readonly windowCount: number;
  readonly windowMs: number;
  readonly seed: number;
  readonly serviceTimes: "p95" | "sampled";
  /** Latency above which an answer is late; null for the SLO of the bundle, or of each class. */
  readonly sloMs: number | null;
  /** Service times relative to the profile. */
  readonly pace: number;
  /** Workers that are missing from the start. */
  readonly lost: number;
}

/** Requests that arrived in one span of time. */
export interface Window {
  readonly queries: number;
  /** Answered too late, or not at all, counted from the scheduled arrival. */
  readonly late: number;
  /** The same, counted from the time of sending: without delays of the load generator. */
  readonly serverLate: number;
  /** Late by half the SLO. */
  readonly slow: number;
}

export interface SimulatedLoad {
  readonly windows: readonly Window[];
  /** Latencies of counted requests; null if none was answered. */
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
  /** Accuracy of answers in time, and mean number of servers; null if the method states none. */
  readonly accuracy: number | null;
  readonly servers: number | null;
}

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
