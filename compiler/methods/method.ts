/**
 * Interface of a method: how an application becomes levels, what they promise, how they are
 * simulated and reported. A method is one object of this form in the registry; the rest of the
 * compiler does not distinguish methods.
 */
import type {
  ActionValues,
  Bundle,
  Level,
  NoActionValues,
  PaceFigures,
  PacePromises,
  Provenance,
} from "stratagem-runtime/internal/bundle/schema";
import type { CommandResult } from "stratagem-runtime/internal/commands/command-result";
import type { ModelReader } from "stratagem-runtime/internal/exec/process/model-reader";
import type { PlannedRequests } from "../load/planned-workload.ts";
import type { BatchFacts, RanBatch } from "../model/batch-facts.ts";
import type { BundleFrame } from "../model/frames.ts";
import type { FeedKind } from "../model/model-feeds.ts";
import type { ModelFiles } from "../model/model-files.ts";
import type { RootBranches } from "../model/root-branches.ts";
import type { SimulateWatch } from "../processes/simulate-watch.ts";
import type { ArrivalProcess } from "../simulate/arrivals.ts";
import type { ScalerDelay } from "../simulate/graph/scaler-clock.ts";
import type { OnOutcome } from "../simulate/outcomes.ts";
import type { CountedFrom } from "../simulate/queue-times.ts";
import type { ServiceTimeMode } from "../simulate/service-times.ts";
import type { StationOptions } from "../simulate/serving/stations.ts";
import type { Application, MethodName, Policy, PolicyOf } from "../spec/application.ts";
import type { Mistake } from "../spec/document/mistakes.ts";
import type { LoadedApplication } from "../spec/load-application.ts";
import type { LevelPromises } from "./level-promises.ts";
import type { SolverName } from "./solver-names.ts";

/** A method as its folder implements it, with its own bundle, frame and policy types. */
export type CompilerMethodOf<
  M extends MethodName,
  B extends Bundle = Extract<Bundle, { readonly method: M }>,
  F extends BundleFrame = Extract<BundleFrame, { readonly method: M }>,
> = MethodCore<B, F, PolicyOf<M>> & Partial<MethodExtras<B, F, PolicyOf<M>>>;

/** A method as callers see it: with every member, the method's own or its default. */
export type CompilerMethod = MethodCore & MethodExtras;

/**
 * Members that every method implements. They are declared as methods and not as function
 * properties, so that a method of known types is assignable to one of any type: callers that ask
 * the registry for the method of a bundle pass it that bundle.
 *
 * @typeParam B bundles.
 * @typeParam F frame that levels share.
 * @typeParam P policy of the spec.
 * @typeParam L levels of B.
 */
interface MethodCore<
  B extends Bundle = Bundle,
  F extends BundleFrame = BundleFrame,
  P extends Policy = Policy,
  L extends Level = B["levels"][number],
> {
  readonly name: MethodName;

  // From an application to a frame; reads no file and no clock.

  /** Yields what the application asks for that the method does not support. */
  mistakes(application: Application<P>): Iterable<Mistake>;
  /**
   * Returns the policy with another solver.
   * @throws RuntimeError if the method has no such solver.
   */
  withSolver(policy: P, solver: SolverName): P;
  /** @param application one without mistakes. */
  frame(application: Application<P>, models: ModelFiles): F;

  // From a frame to levels.

  /**
   * Whether a level is solved so fast that only one process, one level after the other, pays off.
   */
  readonly isQuick: boolean;
  /**
   * Solves the level for one load. The same frame and load give the same level, bit for bit, unless
   * a time limit of the policy ends the search.
   * @param nowMs a monotonic clock, for the limit.
   * @param branches if several machines search the level; only for methods that divide their
   * search.
   */
  solveLevel(
    frame: F,
    loadQps: number,
    nowMs: () => number,
    branches?: RootBranches,
  ): Solved<L> | Promise<Solved<L>>;

  // Promises of levels.

  /**
   * Returns a level's promises, in the terms of all methods.
   * @param level one of the bundle's.
   */
  promises(bundle: B, level: L): LevelPromises;
  /** Returns the highest violation rate that a level promises, over classes and buckets. */
  worstViolationRate(level: L): number;
  /** Returns the figures of a level that can be recomputed, by name. */
  stated(level: L): object;
  /** Returns a level with these figures recomputed from the bundle's decisions at its load. */
  promised(frame: F, bundle: B, index: number): L;

  // Simulation and reports.

  readonly baselines: Baselines;
  /**
   * @throws RuntimeError for a baseline of another method, and for options that the method cannot
   * simulate.
   */
  simulate(
    bundle: B,
    asked: SimulationRequest,
    watch: SimulateWatch,
  ): CommandResult | Promise<CommandResult>;
  /**
   * Returns warnings about what the cluster or the application cannot do as requested, one line
   * each.
   */
  warnings(bundle: B, application: Application<P>): readonly string[];
  /** @throws RuntimeError for an option that does not apply, InputError for a simulation. */
  report(bundle: B, asked: ReportRequest): Promise<Report>;
}

/** Members that methods may leave out; `method-defaults.ts` has the defaults. */
export interface MethodExtras<
  B extends Bundle = Bundle,
  F extends BundleFrame = BundleFrame,
  P extends Policy = Policy,
  L extends Level = B["levels"][number],
> {
  /** Whether the method serves sequences of requests, whose models keep state. */
  readonly keepsState: boolean;
  /** Edges that must provide the inputs of a task; null if models are cut instead of linked. */
  readonly feeds: FeedKind | null;
  /** Yields model files that do not fit together. */
  modelMistakes(application: Application<P>, models: ModelFiles): Iterable<Mistake>;
  /**
   * Opens models to make files from them; null if they are served unchanged.
   * @param prober runs them, within limits.
   * @throws InputError for an unsupported model.
   */
  openModels(loaded: LoadedApplication<P>, prober: ModelProber): Promise<OpenedModels<B> | null>;

  /** Returns the loads of a list that levels are searched for, including both ends. */
  searched(frame: F, loadsQps: readonly number[]): ReadonlySet<number>;
  /** Returns the level of another load, from the searched levels above and below it. */
  moved(frame: F, loadQps: number, around: readonly L[]): L;
  /** Returns whether several machines can search one level. */
  dividesSearch(frame: F): boolean;
  /** Whether each level chooses its margin for the serving path. */
  readonly marginByLevel: boolean;
  /** Post-processes the solved levels, which ascend by load. */
  afterLevels(
    frame: F,
    solved: readonly SolvedLevel<L>[],
    settle: Settle<L>,
  ): readonly SolvedLevel<L>[] | Promise<readonly SolvedLevel<L>[]>;
  /** Returns, among the levels as good as this one, the closest to its neighbour. */
  settle(frame: F, level: L, neighbour: L, nowMs: () => number): Promise<L>;
  /** Returns the distance of two levels; methods that choose accuracies place levels by it. */
  gapOf(a: L, b: L): LevelGap;
  bundle(frame: F, levels: readonly L[], provenance: Provenance): B;
  /** Returns the frame of a bundle, as far as the bundle holds it. */
  frameOf(bundle: B): F;

  /** Levels and promises for slower machines; null for methods without them. */
  readonly paces: MethodPaces<B, F> | null;
  /**
   * Returns the workers of each pool, [poolCount], in a level's plan.
   * @param level of the bundle.
   */
  plannedWorkers(bundle: B, level: L): readonly number[];
  /** Whether replicas start and stop with the load, each as its own process. */
  readonly scales: boolean;
  /** Returns whether promises can be recomputed from the frame of a bundle alone. */
  isRecomputable(frame: F): boolean;
  /**
   * Whether a level's promises depend on the level alone. Otherwise another level may serve its
   * load, so promises need the whole bundle.
   */
  readonly promisesAlone: boolean;
  /**
   * Returns the values of the actions of a state at a level.
   * @throws TypeError if the method has no states.
   */
  actionValues(
    bundle: B,
    level: number,
    queued: number,
    slackMs: number,
  ): ActionValues | NoActionValues;
  /** Returns what the bundle knows of a batch that a server ran, for explanations. */
  batchFacts(bundle: B, ran: RanBatch): BatchFacts;

  /** Whether a request is one query however many rows it has; otherwise each row is one. */
  readonly servesWhole: boolean;
  /** Measurements of its models other than whole batches on one core. */
  readonly profiled: "layers" | "cores" | null;
  /** Returns the requests that its simulation draws; null if each is one row for the only model. */
  requestsOf(
    bundle: B,
    arrivals: ArrivalProcess,
    durationMs: number,
    seed: number,
  ): PlannedRequests | null;
  /**
   * Returns the level as a baseline plans it, null for no baseline; for baselines that are solved
   * in processes.
   */
  baselineLevel(frame: F, level: L, baseline: string, nowMs: () => number): L | null;
  /** Returns whether batch times can be drawn from their quantiles. */
  hasServiceTimeQuantiles(bundle: B): boolean;
  /** Returns whether promises are simulated with drawn times. */
  promisesQuantiles(bundle: B): boolean;

  /** Returns what `compile` prints before and after the table of levels. */
  tablesAround(bundle: B): {
    readonly before: readonly string[];
    readonly after: readonly string[];
  };
  /** Whether plans have a cost over time. */
  readonly costsOverDay: boolean;
  /**
   * Returns the cost of the bundle over the day that the application names, or over a day from its
   * lowest load to its highest; null without either.
   */
  overDay(bundle: B, application: Application<P>): DayReport | null;
}

/**
 * Members are declared as methods, like those of `CompilerMethod`.
 * @typeParam L levels of other paces.
 */
export interface MethodPaces<B extends Bundle, F, L extends object = object> {
  /** Returns levels for a machine whose service times are `pace` times the profile's, in order. */
  levels(
    bundle: B,
    frame: F,
    pace: number,
    nowMs: () => number,
  ): readonly L[] | Promise<readonly L[]>;
  /** Returns the bundle with levels that were solved for other paces. */
  with(bundle: B, levels: readonly L[]): B;
  /**
   * Simulates the whole bundle on a slower machine at the load of a level.
   * @param seed of the traffic; default: that of promises.
   */
  promised(bundle: B, level: number, pace: number, seed?: number): PaceFigures;
  /** Returns the level with these promises added. */
  promising(level: B["levels"][number], promised: PacePromises): B["levels"][number];
}

/** Cost of a day: a line of text, and figures. */
export interface DayReport {
  readonly text: string;
  readonly json: object;
}

export interface Solved<L extends Level = Level> {
  readonly level: L;
  /** Time of the solver alone, ms, if solving was not all. */
  readonly solveMs?: number;
}

/** A level and its solve time, ms, which is reported but not part of the reproducible bundle. */
export interface SolvedLevel<L extends Level = Level> {
  readonly level: L;
  readonly ms: number;
  /** Set if branches of its search were left out: it may not be the level of the bundle. */
  readonly isPart?: true;
}

/** Distance of two levels. */
export interface LevelGap {
  /** Difference in expected accuracy. */
  readonly accuracy: number;
  /** Steps in all other properties; neighbours are less than 1 apart. */
  readonly otherSteps: number;
}

/** Returns, among the levels as good as `level`, the closest to its neighbour. */
export type Settle<L extends Level = Level> = (level: L, neighbour: L) => Promise<L>;

/** Runs models to inspect their values. */
export type ModelProber = Pick<ModelReader, "probe">;

/** Models that were opened to make files from them. */
export interface OpenedModels<B extends Bundle = Bundle> {
  /** Yields models that do not match the measurements. */
  mistakes(): Iterable<Mistake>;
  /**
   * @returns the bundle that names the files.
   * @throws InputError for a model that cannot be served.
   */
  cut(bundle: B): { readonly bundle: B; readonly files: readonly BundleFile[] };
}

/** A file that a bundle names and that lies next to it. */
export interface BundleFile {
  /** File name without directories. */
  readonly file: string;
  readonly sha256: string;
  /** Computed on every call: all files together can be many times as large as the models. */
  readonly bytes: () => Uint8Array;
}

/** Baselines that bundles of a method are compared with in simulations. */
interface Baselines {
  /** Kind of application that they serve, such as "a pipeline"; null for one task. */
  readonly of: string | null;
  /** Whether that is a graph of tasks. */
  readonly isOfPipelines: boolean;
  /** In the order of the help and of messages. */
  readonly names: readonly string[];
  /** Whether their parameters can be tuned in hindsight. */
  readonly tunable: boolean;
  /** @throws RuntimeError if `tuned` is set for a baseline without parameters. */
  has(text: string, tuned: boolean): boolean;
}

export interface NamedBaseline {
  readonly text: string;
  /** The part before a colon. */
  readonly name: string;
  readonly tuned: boolean;
  /** A method that has it; the bundle's own method may have one of the same name. */
  readonly from: Pick<MethodCore, "name" | "baselines">;
}

/** Options of `simulate`. */
export interface SimulationRequest extends CountedFrom {
  readonly arrivals: ArrivalProcess;
  readonly durationMs: number;
  readonly seed: number;
  readonly serviceTimes: ServiceTimeMode;
  readonly fanout: "rounded" | "poisson";
  /** Stations of the serving machine to simulate, if the bundle describes them. */
  readonly stations: StationOptions;
  /** Whether decisions follow the measured pace of the workers; default: true. */
  readonly adapts?: boolean;
  /** Null for the bundle itself. */
  readonly baseline: NamedBaseline | null;
  /** Delay that an autoscaler adds before replicas start, for methods that scale; default: none. */
  readonly scalerDelay?: ScalerDelay | undefined;
  /** Called for every request. */
  readonly onOutcome?: OnOutcome;
}

/** Options of one simulation; the default is the whole serving machine. */
export type AskedRun = Pick<
  SimulationRequest,
  "arrivals" | "durationMs" | "seed" | "serviceTimes"
> &
  Partial<Omit<SimulationRequest, "baseline">>;

/** Null for the bundle itself. */
export type AskedBaseline = Pick<NamedBaseline, "name" | "tuned"> | null;

export interface ReportRequest {
  readonly path: string;
  readonly file: { readonly byteCount: number; readonly sha256: string };
  /** Files that `simulate --json` wrote. */
  readonly simulations: readonly string[];
  /** Load to solve again under other ceilings; null for the highest feasible, false for none. */
  readonly frontierQps: number | null | false;
  /** Traces to simulate, such as days; default: none. */
  readonly traces?: readonly string[];
  readonly signal: AbortSignal;
  /**
   * Counts finished work, and yields so that signals are delivered.
   * @param total amount of work.
   */
  progress(total: number): () => Promise<void>;
}

export interface Report {
  /** The whole HTML document. */
  readonly page: string;
  /** Outcomes of the simulations that it shows. */
  readonly runs?: readonly object[];
  /** Costs under other ceilings, if they were solved. */
  readonly frontier?: object | null;
}
