/** Interface of a method for the runtime: describes its bundles, and hosts them. */

import type {
  ActionValues,
  Bundle,
  NoActionValues,
  RamsisBundle,
  RamsisLevel,
} from "../bundle/schema.ts";
import type { OpenCore } from "../core/command-buffer.ts";
import type { Section } from "../describe/bundle-sections.ts";
import type { DiffLevel } from "../describe/level-diff.ts";
import type { MadeDecision, ReviewedDecision } from "../describe/made-decision.ts";
import type { PlannedWorkers } from "../describe/planned-workers.ts";
import type { ServingSummary } from "../describe/serving-summary.ts";
import type {
  AssignedExecutor,
  AssignedExecutorHandlers,
  Executor,
  ExecutorHandlers,
} from "../exec/models/executor.ts";
import type { Application, ApplicationOptions } from "../server/applications/application.ts";
import type { AxisNames } from "../server/graph/signature/output-groups.ts";
import type { Replayer, ReplayerOptions } from "../server/requests/recorded-entry.ts";
import type { WantedModel } from "./wanted-models.ts";

/**
 * One object per method, made in its folder and found in `registry.ts`. All but `host` is computed
 * from the bundle alone and loads no model and no server.
 */
export interface RuntimeMethod<B extends Bundle> {
  readonly name: B["method"];

  /**
   * Checks a value and all its parts, as `validateBundle` does.
   * @throws BundleError BUNDLE_SCHEMA or BUNDLE_SEMANTICS.
   */
  read(value: unknown): B;
  /** Returns its tables, in the order of the bundle. */
  sections(bundle: B): Section[];

  /** Returns the tasks as in `inspect --json`: figures as plain arrays, tables left out. */
  taskReports(bundle: B): readonly object[];
  /**
   * Returns the levels as in `inspect` and `compile`. @param solveMs wall time of each, if known.
   */
  levelReports(bundle: B, solveMs: readonly number[]): readonly object[];
  /** Returns one row per level: its load and its promises. */
  levelTable(bundle: B): string;
  /** Returns the text of `inspect` without options. */
  summary(bundle: B, file: BundleFile): string;
  /** Describes a level for `inspect --level`. @param level index of the deciding level. */
  describeLevel(bundle: B, level: number): Description;
  /**
   * Describes a state for `inspect --state`. @throws RuntimeError RUNTIME_USAGE for an impossible
   * state.
   */
  describeState(bundle: B, request: StateRequest): Promise<Description>;
  /** Returns the decisions that `verify` has checked. */
  decisions(bundle: B): DecisionCheck;

  /**
   * Returns the decision of a level: for tables that in a state, for plans the plan. @param level
   * index.
   * @throws RuntimeError RUNTIME_USAGE for an impossible state.
   */
  decide(bundle: B, level: number, state: never): object;
  /**
   * Opens the machine that decides, and a buffer for its commands, for a driver with its own clock.
   */
  core(bundle: B, options: never): OpenCore<object, object>;
  /** Opens the same machine as in a server, driven by a recorder's log. */
  replayer(bundle: B, options: ReplayerOptions): Replayer;
  /**
   * Reviews a batch that a server started, by its state only; left out for methods that decide by
   * more. Returns undefined if the bundle does not have the state.
   */
  reviewed?(bundle: B, made: MadeDecision): ReviewedDecision | undefined;

  /** Returns all that `diff` does not compare level by level, with names instead of indices. */
  diffFrame(bundle: B): object;
  /** Compares two levels of the same load for `diff`. */
  levelDiffer(before: B, after: B): DiffLevel;

  /** @throws RuntimeError RUNTIME_MODEL if the bundle was compiled without models. */
  models(bundle: B): readonly WantedModel[];
  /** Returns the number of worker processes for serving. */
  workerCount(bundle: B): number;
  /** Returns those of each pool; left out if each pool has as many as it has workers. */
  workersByPool?(bundle: B): readonly number[];
  /**
   * Returns the workers in the plan of a level, by task and pool; left out if every level uses all
   * workers. @param level index.
   */
  plannedWorkers?(bundle: B, level: number): readonly PlannedWorkers[];
  /** Returns the summary that `serve` prints once it is ready. */
  describeServing(bundle: B): ServingSummary;
  /**
   * Opens its endpoint; the server starts its workers once it listens. @throws RuntimeError
   * RUNTIME_MODEL if the bundle's models do not fit together.
   */
  host(bundle: B, options: HostOptions): Promise<Application>;
}

export interface BundleFile {
  readonly formatVersion: number;
  readonly bytes: number;
  /** Digest of the whole file. */
  readonly sha256: string;
}

/** A description as text and for `--json`. */
export interface Description {
  readonly text: string;
  readonly json: object;
}

export interface StateRequest {
  /** Text of `--state`. */
  readonly text: string;
  /** Load of the requested level; null for the highest. */
  readonly loadQps: number | null;
  /** Index of the deciding level; left out for that of the load. */
  readonly level?: number | undefined;
  /** Left out without a solver. */
  readonly actionValuesOf?: ActionValuesOf | undefined;
}

interface DecisionCheck {
  /** Number of states that have a decision; null for plans. */
  readonly stateCount: number | null;
  readonly text: string;
}

export interface HostOptions extends ApplicationOptions {
  /** Names of first dimensions, for each model of the bundle. */
  readonly axisNames: readonly AxisNames[];
  readonly workers: WorkerStarter;
  /** For methods that add levels while they serve; left out without a solver. */
  readonly generateLevel?: GenerateLevel | undefined;
}

/** Starts the workers of the method once the server listens. */
export interface WorkerStarter {
  /** Loads all models on every worker. @throws RuntimeError RUNTIME_DEVICE */
  start(handlers: ExecutorHandlers): Promise<Executor>;
  /** Loads its assigned models on every worker. @throws RuntimeError RUNTIME_DEVICE */
  startAssigned(handlers: AssignedExecutorHandlers): Promise<AssignedExecutor>;
}

/** Computes the values of the actions of a state. @param level index of the deciding level. */
export type ActionValuesOf = (
  bundle: RamsisBundle,
  level: number,
  queued: number,
  slackMs: number,
) => Promise<ActionValues | NoActionValues>;

/**
 * Computes a level of a bundle, off the serving thread. @throws the signal's reason once it is
 * aborted.
 */
export type GenerateLevel = (
  bundle: RamsisBundle,
  loadQps: number,
  signal: AbortSignal,
) => Promise<RamsisLevel>;
