import type {
  ActionValues,
  Bundle,
  Expected,
  LokiBundle,
  LokiLevel,
  NoActionValues,
  PipelinePlan,
  RamsisBundle,
  RamsisLevel,
} from "../../runtime/bundle/schema.ts";
import type { Application } from "../spec/application.ts";
import type { Mistake } from "../spec/mistakes.ts";

/** A bundle without its levels: what they all share, and all that a solver needs to compute one. Plain data, so it can cross processes. */
export type FrameOf<B extends Bundle> = Omit<B, "levels" | "provenance">;

export type RamsisFrame = FrameOf<RamsisBundle>;
export type LokiFrame = FrameOf<LokiBundle>;
export type BundleFrame = RamsisFrame | LokiFrame;

/** Model files as the compiler read them, by the path the application gives. */
export type ModelFiles = ReadonlyMap<
  string,
  RamsisBundle["tasks"][number]["variants"][number]["model"]
>;

/** One system: how an application becomes a decision problem, and a load level a policy. Solvers do no I/O and read no clock but for a time limit. */
export interface Solver<B extends Bundle> {
  /** What the application asks for that the method cannot do. */
  mistakes(application: Application): Iterable<Mistake>;
  /** @param application one without mistakes. */
  frame(application: Application, models: ModelFiles): FrameOf<B>;
}

/** A solver of decision tables, which promise what can be recomputed from them alone. */
export interface TableSolver extends Solver<RamsisBundle> {
  /** Computes the policy for one load. The same frame and load give the same level, bit for bit. */
  solveLevel(frame: RamsisFrame, loadQps: number): RamsisLevel;
  /** Recomputes what a level's policy promises, from its tables alone. */
  expectedOf(frame: RamsisFrame, level: RamsisLevel): Expected;
  /** Recomputes what the actions of one state are worth where a level's policy decides ever after, from its tables alone. */
  actionValues(
    frame: RamsisFrame,
    level: RamsisLevel,
    queued: number,
    slackMs: number,
  ): ActionValues | NoActionValues;
}

/** A level as planned, before a simulation has said what to expect of it. */
export type PlannedLevel = Omit<LokiLevel, "expected" | "stages" | "transition">;

/** A solver of plans, whose consequences take a simulation to tell. */
export interface PlanSolver extends Solver<LokiBundle> {
  /** The plan for one load. @param headroom relative to the load. @param nowMs a monotonic clock, for the time limit. The same frame and load give the same plan, unless the time limit of the policy cuts it short. */
  planLevel(
    frame: LokiFrame,
    loadQps: number,
    options: { readonly headroom: number; readonly nowMs: () => number },
  ): Promise<PlannedLevel>;
  /** Of the plans that are as good as a level's, the one closest to its neighbour's. */
  settle(
    frame: LokiFrame,
    level: LokiLevel,
    neighbour: LokiLevel,
    nowMs: () => number,
  ): Promise<PipelinePlan>;
}
