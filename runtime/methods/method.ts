/** A method as the runtime sees it: what it says of its bundles, and how it hosts them. */

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
 * One object per method, made in its folder of what the folder holds, and found in `registry.ts`.
 * All but `host` is computed from the bundle alone and loads no model and no server.
 */
export interface RuntimeMethod<B extends Bundle> {
  readonly name: B["method"];

  /**
   * Checks a value and everything in it, as `validateBundle` does.
   * @throws BundleError BUNDLE_SCHEMA or BUNDLE_SEMANTICS.
   */
  read(value: unknown): B;
  /** Its tables, in the order of the bundle. */
  sections(bundle: B): Section[];

  /** Tasks as `inspect --json` tells them: figures as plain arrays, tables left out. */
  taskReports(bundle: B): readonly object[];
  /**
   * Levels as `inspect` and `compile` tell them. @param solveMs wall time of each, where it is
   * known.
   */
  levelReports(bundle: B, solveMs: readonly number[]): readonly object[];
  /** One row per level: its load and what it promises. */
  levelTable(bundle: B): string;
  /** The text of `inspect` without options. */
  summary(bundle: B, file: BundleFile): string;
  /** What `inspect --level` tells. @param level index of the one that decides. */
  describeLevel(bundle: B, level: number): Description;
  /** What `inspect --state` tells. @throws RuntimeError RUNTIME_USAGE if there is no such state. */
  describeState(bundle: B, request: StateRequest): Promise<Description>;
  /** What `verify` has found to be sound. */
  decisions(bundle: B): DecisionCheck;

  /**
   * What is decided at a level: of tables in a state, of plans the plan. @param level index.
   * @throws RuntimeError RUNTIME_USAGE for a state that there cannot be.
   */
  decide(bundle: B, level: number, state: never): object;
  /** The machine that decides and a buffer for its commands, for a driver's own clock. */
  core(bundle: B, options: never): OpenCore<object, object>;
  /** The same machine as a server drives it, driven by what a recorder was told instead. */
  replayer(bundle: B, options: ReplayerOptions): Replayer;
  /**
   * What the bundle says of a batch that a server started, by the state it was started in alone;
   * left out where more than that decides. Undefined where the bundle does not know the state.
   */
  reviewed?(bundle: B, made: MadeDecision): ReviewedDecision | undefined;

  /** All that `diff` does not compare level by level, with names where the bundle has indices. */
  diffFrame(bundle: B): object;
  /** How `diff` compares two levels of the same load. */
  levelDiffer(before: B, after: B): DiffLevel;

  /** @throws RuntimeError RUNTIME_MODEL if the bundle was compiled without what is to run. */
  models(bundle: B): readonly WantedModel[];
  /** Worker processes that serving it takes. */
  workerCount(bundle: B): number;
  /** Those of each pool; left out where a pool has as many as it has workers. */
  workersByPool?(bundle: B): readonly number[];
  /**
   * Workers that the plan of a level uses, by task and pool; left out where every level is for all
   * workers. @param level index.
   */
  plannedWorkers?(bundle: B, level: number): readonly PlannedWorkers[];
  /** What `serve` says once it is ready. */
  describeServing(bundle: B): ServingSummary;
  /**
   * Opens its endpoint; the server starts its workers once it listens. @throws RuntimeError
   * RUNTIME_MODEL if the bundle's models do not fit together.
   */
  host(bundle: B, options: HostOptions): Promise<Application>;
}

/** The file that held a bundle. */
export interface BundleFile {
  readonly formatVersion: number;
  readonly bytes: number;
  /** Of the whole file. */
  readonly sha256: string;
}

/** The same thing for people and for `--json`. */
export interface Description {
  readonly text: string;
  readonly json: object;
}

export interface StateRequest {
  /** As given to `--state`. */
  readonly text: string;
  /** Load whose level is asked; null for the highest. */
  readonly loadQps: number | null;
  /** Index of the level that decides; left out for that of the load. */
  readonly level?: number | undefined;
  /** Left out where there is no solver. */
  readonly actionValuesOf?: ActionValuesOf | undefined;
}

interface DecisionCheck {
  /** States that have a decision; null where levels are plans. */
  readonly stateCount: number | null;
  readonly text: string;
}

export interface HostOptions extends ApplicationOptions {
  /** Names of first dimensions, of each model that the bundle wants. */
  readonly axisNames: readonly AxisNames[];
  readonly workers: WorkerStarter;
  /** For methods that add levels while they serve; left out where there is no solver. */
  readonly generateLevel?: GenerateLevel | undefined;
}

/** Starts as many workers as the method wants, once the server listens. */
export interface WorkerStarter {
  /** All models on every worker. @throws RuntimeError RUNTIME_DEVICE */
  start(handlers: ExecutorHandlers): Promise<Executor>;
  /** On every worker what it is assigned. @throws RuntimeError RUNTIME_DEVICE */
  startAssigned(handlers: AssignedExecutorHandlers): Promise<AssignedExecutor>;
}

/** Computes what the actions of a state are worth. @param level index of the level that decides. */
export type ActionValuesOf = (
  bundle: RamsisBundle,
  level: number,
  queued: number,
  slackMs: number,
) => Promise<ActionValues | NoActionValues>;

/**
 * Computes a level of a bundle, away from the thread that serves. @throws the signal's reason once
 * it is aborted.
 */
export type GenerateLevel = (
  bundle: RamsisBundle,
  loadQps: number,
  signal: AbortSignal,
) => Promise<RamsisLevel>;
