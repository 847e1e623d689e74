import type {
  AccordionBundle,
  ActionValues,
  Bundle,
  Expected,
  InferlineBundle,
  InferlineLevel,
  LokiBundle,
  LokiLevel,
  NoActionValues,
  PipelinePlan,
  RamsisBundle,
  RamsisLevel,
  ThemisBundle,
  ThemisLevel,
} from "../../runtime/bundle/schema.ts";
import type { ModelFiles } from "../model/model-files.ts";
import type { Application } from "../spec/application.ts";
import type { Mistake } from "../spec/mistakes.ts";
import type { Trace } from "../spec/trace.ts";

/** A bundle without its levels: what they all share, and all that a solver needs to compute one. Plain data, so it can cross processes. */
export type FrameOf<B extends Bundle> = Omit<B, "levels" | "provenance">;

export type RamsisFrame = FrameOf<RamsisBundle>;
export type LokiFrame = FrameOf<LokiBundle>;
/** With the trace that samples are parts of, where arrivals are recorded and the application is at hand. */
export type InferlineFrame = FrameOf<InferlineBundle> & { readonly recorded: Trace | null };
/** Without the transitions, which are between levels. */
export type ThemisFrame = Omit<FrameOf<ThemisBundle>, "transitions">;
export type AccordionFrame = FrameOf<AccordionBundle>;
export type BundleFrame = RamsisFrame | LokiFrame | InferlineFrame | ThemisFrame | AccordionFrame;

/** One system: how an application becomes a decision problem, and a load level a policy. Solvers do no I/O and read no clock but for a time limit. */
export interface Solver<B extends Bundle, F = FrameOf<B>> {
  /** What the application asks for that the method cannot do. */
  mistakes(application: Application): Iterable<Mistake>;
  /** @param application one without mistakes. */
  frame(application: Application, models: ModelFiles): F;
}

/** A solver of decision tables, which promise what can be recomputed from them alone. */
export interface TableSolver extends Solver<RamsisBundle> {
  /** Computes the policy for one load. The same frame and load give the same level, bit for bit. */
  solveLevel(frame: RamsisFrame, loadQps: number): RamsisLevel;
  /** The level of a load with the tables of another level, and what they promise there. */
  withTableOf(frame: RamsisFrame, loadQps: number, level: RamsisLevel): RamsisLevel;
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

/** A level as provisioned, before a simulation with the tuner has said what to expect of it. */
export type ProvisionedLevel = Omit<InferlineLevel, "expected"> & {
  readonly heldOut: InferlineLevel["expected"]["heldOut"];
};

/** A solver of plans that are judged by an estimator of its own. */
export interface ProvisioningSolver extends Solver<InferlineBundle> {
  frame(application: Application, models: ModelFiles): InferlineFrame;
  /** The plan for one load. The same frame and load give the same level, bit for bit. */
  provisionLevel(frame: InferlineFrame, loadQps: number): ProvisionedLevel;
  /** Recomputes what the estimator says of a level's plan on its sample traces, and on held-out ones; null if the traces are not at hand. */
  estimateOf(
    frame: InferlineFrame,
    level: InferlineLevel,
  ): Pick<ProvisionedLevel, "sample" | "heldOut"> | null;
}

/** A solver of plans and of the ways from one to another, so quick that all levels are one piece of work. */
export interface ScalingSolver extends Solver<ThemisBundle, ThemisFrame> {
  /** Plans for loads, one after the other as they are asked for. The same frame gives the same levels, bit for bit, in any order. */
  open(frame: ThemisFrame): {
    scaleLevel(loadQps: number): ThemisLevel;
    /** How the plans of levels become one another; their order is that of the bundle. */
    transitions(levels: readonly ThemisLevel[]): ThemisBundle["transitions"];
  };
  /** Recomputes what a level's plans promise, from the bundle alone. */
  expectedOf(
    frame: ThemisFrame,
    level: ThemisLevel,
  ): Pick<ThemisLevel, "horizontal" | "vertical" | "joint" | "steady">;
}

/** A solver of pipelines that hold for all loads: a level only says what comes of them at its load. */
export interface PlaceSolver extends Solver<AccordionBundle> {
  /** What of the model files does not fit their profiles. @param layerCounts layers that a model can be cut into, by the path the application gives. */
  layerCountMistakes(
    application: Application,
    layerCounts: ReadonlyMap<string, number>,
  ): Iterable<Mistake>;
  /** Load that no schedule carries more of. */
  capacityQps(frame: AccordionFrame): number;
}
