/**
 * What the compiler knows of a method: how an application becomes levels, what they promise, how
 * they are simulated and shown. A method is one object of this form in the registry; nothing else
 * of the compiler knows methods apart.
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
import type { ServiceTimeMode } from "../simulate/service-times.ts";
import type { StationOptions } from "../simulate/serving/stations.ts";
import type { Application, MethodName, Policy, PolicyOf } from "../spec/application.ts";
import type { Mistake } from "../spec/document/mistakes.ts";
import type { LoadedApplication } from "../spec/load-application.ts";
import type { LevelPromises } from "./level-promises.ts";
import type { SolverName } from "./solver-names.ts";

/** The method of a name as its folder writes it, with its own bundle, frame and policy. */
export type CompilerMethodOf<
  M extends MethodName,
  B extends Bundle = Extract<Bundle, { readonly method: M }>,
  F extends BundleFrame = Extract<BundleFrame, { readonly method: M }>,
> = MethodCore<B, F, PolicyOf<M>> & Partial<MethodExtras<B, F, PolicyOf<M>>>;

/** A method as callers see it: they find every member, its own or the default of most methods. */
export type CompilerMethod = MethodCore & MethodExtras;

/**
 * What every method says itself. Members are methods and not functions, so that one of known types
 * can be held as one of any: who asks the registry for the method of a bundle hands it that bundle.
 *
 * @typeParam B bundles. @typeParam F what their levels share. @typeParam P policy of the spec.
 * @typeParam L levels of B.
 */
interface MethodCore<
  B extends Bundle = Bundle,
  F extends BundleFrame = BundleFrame,
  P extends Policy = Policy,
  L extends Level = B["levels"][number],
> {
  readonly name: MethodName;

  // From an application to a frame: no file and no clock is read.

  /** What the application asks for that the method cannot do. */
  mistakes(application: Application<P>): Iterable<Mistake>;
  /** The policy under `--solver`. @throws RuntimeError if the method has no such solver. */
  withSolver(policy: P, solver: SolverName): P;
  /** @param application one without mistakes. */
  frame(application: Application<P>, models: ModelFiles): F;

  // From a frame to levels.

  /** Whether a level is so quick that nothing but one after the other, in this process, pays. */
  readonly isQuick: boolean;
  /**
   * The level for one load: the same frame and load give the same level, bit for bit, unless a
   * time limit of the policy cuts it short. @param nowMs a monotonic clock, for the limit.
   * @param branches where several machines search the level, of methods that divide its search.
   */
  solveLevel(
    frame: F,
    loadQps: number,
    nowMs: () => number,
    branches?: RootBranches,
  ): Solved<L> | Promise<Solved<L>>;

  // What a level promises.

  /** What a level promises, in the terms of all methods. @param level one of the bundle's. */
  promises(bundle: B, level: L): LevelPromises;
  /** The highest violation rate that a level promises, of a class or bucket if need be. */
  worstViolationRate(level: L): number;
  /** What a level states that can be computed again, figures by name. */
  stated(level: L): object;
  /** A level with these figures computed from what the bundle decides at its load. */
  promised(frame: F, bundle: B, index: number): L;

  // Simulation, and what people are told.

  readonly baselines: Baselines;
  /** @throws RuntimeError for a baseline of another method, and for what cannot be simulated. */
  simulate(
    bundle: B,
    asked: SimulationRequest,
    watch: SimulateWatch,
  ): CommandResult | Promise<CommandResult>;
  /** What the cluster, or the application, cannot do as it was asked to; a line each. */
  warnings(bundle: B, application: Application<P>): readonly string[];
  /**
   * @throws RuntimeError for an option that asks for what there is not, InputError for a
   * simulation.
   */
  report(bundle: B, asked: ReportRequest): Promise<Report>;
}

/** What methods may leave out: `method-defaults.ts` has what holds then. */
export interface MethodExtras<
  B extends Bundle = Bundle,
  F extends BundleFrame = BundleFrame,
  P extends Policy = Policy,
  L extends Level = B["levels"][number],
> {
  /** Whether it serves sequences of requests, whose models have state. */
  readonly keepsState: boolean;
  /** What has to give a task its inputs; null where models are cut instead of linked. */
  readonly feeds: FeedKind | null;
  /** What of the model files does not fit each other. */
  modelMistakes(application: Application<P>, models: ModelFiles): Iterable<Mistake>;
  /**
   * Opens models to make files of them; null where they are served as they are.
   * @param prober runs them, under limits.
   * @throws InputError for a model it cannot work with.
   */
  openModels(loaded: LoadedApplication<P>, prober: ModelProber): Promise<OpenedModels<B> | null>;

  /** Loads of a list that levels are searched for, with both ends. */
  searched(frame: F, loadsQps: readonly number[]): ReadonlySet<number>;
  /** The level of another load, from those searched above and below it. */
  moved(frame: F, loadQps: number, around: readonly L[]): L;
  /** Whether several machines can search one level. */
  dividesSearch(frame: F): boolean;
  /** Whether each level chooses its margin for the serving path. */
  readonly marginByLevel: boolean;
  /** What is left to do once all levels are solved, which ascend by load. */
  afterLevels(
    frame: F,
    solved: readonly SolvedLevel<L>[],
    settle: Settle<L>,
  ): readonly SolvedLevel<L>[] | Promise<readonly SolvedLevel<L>[]>;
  /** Of the levels that are as good as one, the one closest to its neighbour. */
  settle(frame: F, level: L, neighbour: L, nowMs: () => number): Promise<L>;
  /** How far two levels are apart, by which methods that choose accuracies place them. */
  gapOf(a: L, b: L): LevelGap;
  bundle(frame: F, levels: readonly L[], provenance: Provenance): B;
  /** What a bundle tells of the frame it was compiled from. */
  frameOf(bundle: B): F;

  /** Levels and promises for slower machines; null for methods without them. */
  readonly paces: MethodPaces<B, F> | null;
  /** Workers of each pool, [poolCount], that a level's plan wants. @param level of the bundle. */
  plannedWorkers(bundle: B, level: L): readonly number[];
  /** Whether replicas come and go with the load, each as a process of its own. */
  readonly scales: boolean;
  /** Whether promises can be computed again from the frame of a bundle alone. */
  isRecomputable(frame: F): boolean;
  /**
   * Whether levels are solved with what they state; else others may be followed at a load, so that
   * it takes all of the bundle to tell it.
   */
  readonly promisesAlone: boolean;
  /** What the actions of a state are worth at a level. @throws TypeError where it has no states. */
  actionValues(
    bundle: B,
    level: number,
    queued: number,
    slackMs: number,
  ): ActionValues | NoActionValues;
  /** What the bundle knows of a batch that a server ran, for whoever explains what came of it. */
  batchFacts(bundle: B, ran: RanBatch): BatchFacts;

  /** Whether a request is one query whatever rows it has; else each row is one. */
  readonly servesWhole: boolean;
  /** What of its models is measured beside whole batches on one core. */
  readonly profiled: "layers" | "cores" | null;
  /** The requests that its simulation draws; null where each is one row to the one model. */
  requestsOf(
    bundle: B,
    arrivals: ArrivalProcess,
    durationMs: number,
    seed: number,
  ): PlannedRequests | null;
  /** The level as a baseline would plan it, null for none; for baselines solved in processes. */
  baselineLevel(frame: F, level: L, baseline: string, nowMs: () => number): L | null;
  /** Whether the times of batches can be drawn from their quantiles. */
  hasServiceTimeQuantiles(bundle: B): boolean;
  /** Whether promises are simulated with such times. */
  promisesQuantiles(bundle: B): boolean;

  /** What `compile` shows before and after the table of levels. */
  tablesAround(bundle: B): {
    readonly before: readonly string[];
    readonly after: readonly string[];
  };
  /** Whether plans have a cost over time. */
  readonly costsOverDay: boolean;
  /**
   * What the bundle costs over the day that the application names, or over one from its lowest load
   * to its highest; null where there is neither.
   */
  overDay(bundle: B, application: Application<P>): ToldDay | null;
}

/** Members are methods, as those of `CompilerMethod` are. @typeParam L levels of other paces. */
export interface MethodPaces<B extends Bundle, F, L extends object = object> {
  /** Levels for a machine whose service times are `pace` times the profile's, in their order. */
  levels(
    bundle: B,
    frame: F,
    pace: number,
    nowMs: () => number,
  ): readonly L[] | Promise<readonly L[]>;
  /** The bundle with levels that were solved for other paces. */
  with(bundle: B, levels: readonly L[]): B;
  /**
   * Simulates the whole bundle on such a machine at the load of a level.
   * @param seed of the traffic; left out, that of promises.
   */
  promised(bundle: B, level: number, pace: number, seed?: number): PaceFigures;
  /** The level that states this too. */
  promising(level: B["levels"][number], promised: PacePromises): B["levels"][number];
}

/** What a day comes to: a line for people, and figures. */
export interface ToldDay {
  readonly text: string;
  readonly json: object;
}

export interface Solved<L extends Level = Level> {
  readonly level: L;
  /** Time of the solver alone, ms, where more was done than solving. */
  readonly solveMs?: number;
}

/** A level and how long it took, ms, which is reported but not part of the reproducible bundle. */
export interface SolvedLevel<L extends Level = Level> {
  readonly level: L;
  readonly ms: number;
  /** Where branches of its search were left out: it may not be that of the bundle. */
  readonly isPart?: true;
}

/** How far two levels are apart. */
export interface LevelGap {
  /** Difference in the accuracy to expect. */
  readonly accuracy: number;
  /** Steps in all else that makes levels differ; neighbours are less than 1 apart. */
  readonly otherSteps: number;
}

/** As the level it is given, but the closest to its neighbour of those that are as good. */
export type Settle<L extends Level = Level> = (level: L, neighbour: L) => Promise<L>;

/** Runs models to see what their values are. */
export type ModelProber = Pick<ModelReader, "probe">;

/** Models that were opened to make files of them. */
export interface OpenedModels<B extends Bundle = Bundle> {
  /** What of them does not fit what was measured. */
  mistakes(): Iterable<Mistake>;
  /**
   * @returns the bundle that names the files.
   * @throws InputError for a model that cannot be served.
   */
  cut(bundle: B): { readonly bundle: B; readonly files: readonly BundleFile[] };
}

/** A file that a bundle names and that lies beside it. */
export interface BundleFile {
  /** File name without directories. */
  readonly file: string;
  readonly sha256: string;
  /** Made anew with every call: those of all files together can be many times the models. */
  readonly bytes: () => Uint8Array;
}

/** What bundles of a method are compared with when they are simulated. */
interface Baselines {
  /** What they stand in for, such as "a pipeline"; null for one task. */
  readonly of: string | null;
  /** Whether that is a graph of tasks. */
  readonly isOfPipelines: boolean;
  /** In the order that the help and messages have them. */
  readonly names: readonly string[];
  /** Whether parameters of theirs can be chosen in hindsight. */
  readonly tunable: boolean;
  /** @throws RuntimeError where `tuned` asks for more than the baseline has. */
  has(text: string, tuned: boolean): boolean;
}

export interface NamedBaseline {
  /** As given. */
  readonly text: string;
  /** Without what follows a colon. */
  readonly name: string;
  readonly tuned: boolean;
  /** A method that has it; the bundle's own may have one of that name as well. */
  readonly from: Pick<MethodCore, "name" | "baselines">;
}

/** As the command line says it. */
export interface SimulationRequest {
  readonly arrivals: ArrivalProcess;
  readonly durationMs: number;
  readonly seed: number;
  readonly serviceTimes: ServiceTimeMode;
  readonly fanout: "rounded" | "poisson";
  /** Which stations of the machine that serves are simulated, where the bundle knows them. */
  readonly stations: StationOptions;
  /** Whether decisions follow the measured pace of the workers; left out for yes. */
  readonly adapts?: boolean;
  /** Null for the bundle itself. */
  readonly baseline: NamedBaseline | null;
  /** What an autoscaler adds before replicas start, of methods that scale; left out, nothing. */
  readonly scalerDelay?: ScalerDelay | undefined;
  /** Told of every request; left out, nobody asks. */
  readonly onOutcome?: OnOutcome;
}

/** A simulation, by default of the whole machine that serves. */
export type AskedRun = Pick<
  SimulationRequest,
  "arrivals" | "durationMs" | "seed" | "serviceTimes"
> &
  Partial<Omit<SimulationRequest, "baseline">>;

/** Null for the bundle itself. */
export type AskedBaseline = Pick<NamedBaseline, "name" | "tuned"> | null;

export interface ReportRequest {
  /** Path of the bundle. */
  readonly path: string;
  readonly file: { readonly byteCount: number; readonly sha256: string };
  /** Files that `simulate --json` printed. */
  readonly simulations: readonly string[];
  /** Load to solve again under other ceilings; null for the highest feasible, false for none. */
  readonly frontierQps: number | null | false;
  /** Traces to simulate, such as days; left out for none. */
  readonly traces?: readonly string[];
  readonly signal: AbortSignal;
  /** Counts work that is done, and lets a signal be delivered. @param total of such work. */
  progress(total: number): () => Promise<void>;
}

export interface Report {
  /** The whole HTML document. */
  readonly page: string;
  /** Outcomes of simulations that it shows. */
  readonly runs?: readonly object[];
  /** What other ceilings cost, where that was solved. */
  readonly frontier?: object | null;
}
