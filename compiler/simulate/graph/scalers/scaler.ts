/**
 * Interface of autoscalers in the simulator: an autoscaler observes a stage and returns a number of
 * replicas.
 */

/** Facts about a stage that set up an autoscaler. */
export interface StageFacts {
  /** Service time of a batch of b at index b − 1, ms, up to the largest batch of a replica. */
  readonly batchMs: Float64Array;
  /** The stage's part of the SLO: the share of its whole batches on the longest path. */
  readonly shareMs: number;
  /** Start-up time of a replica. */
  readonly startMs: number;
  /** Replicas at time 0, all ready. */
  readonly replicas: number;
}

/** Observable state of a stage. */
export interface StageState {
  readonly nowMs: number;
  /** Desired replicas, as last decided, and ready ones. */
  readonly target: number;
  readonly ready: number;
  /** Queries that wait, and that run, now. */
  readonly waiting: number;
  readonly running: number;
  /** Queries that have arrived since time 0. */
  readonly arrived: number;
  /** Integrals since time 0, ms: of queries in the stage, of those that wait, of busy replicas. */
  readonly inStageMs: number;
  readonly waitingMs: number;
  readonly busyMs: number;
}

/** The autoscaler of one stage. */
export interface StageScaler {
  /**
   * Observes the stage; called once per period.
   * @returns desired replicas; the caller limits them to the available range.
   */
  decide(state: StageState): number;
}

type ScalerOption = number | string;

/** Options of an autoscaler other than its target; names end in their unit. */
export type ScalerOptions = Readonly<Record<string, ScalerOption>>;

/** An autoscaler with all options chosen; targets are per stage. */
export interface ScalerChoice {
  readonly options: ScalerOptions;
  /** Targets that tuning tries, ascending. */
  readonly targets: readonly number[];
  /** @param target value for the metric, in its unit. */
  open(facts: StageFacts, target: number): StageScaler;
}

export interface Scaler {
  /** Time between two polls. */
  readonly periodMs: number;
  /** Documented defaults, with this target. */
  readonly shipped: ScalerChoice;
  readonly target: number;
  /** Choices that tuning tries. */
  readonly tried: readonly ScalerChoice[];
}

interface ScalerSketch<O extends ScalerOptions> {
  readonly periodMs: number;
  readonly target: number;
  readonly options: O;
  /** Options that replace defaults, and the targets to try with them. */
  readonly tried: readonly {
    readonly options: Partial<O>;
    readonly targets: readonly number[];
  }[];
  open(facts: StageFacts, target: number, options: O): StageScaler;
}

/** Returns an autoscaler with options of its own type. */
export function scalerOf<O extends ScalerOptions>(sketch: ScalerSketch<O>): Scaler {
  const { periodMs, target } = sketch;
  const choiceOf = (own: Partial<O>, targets: readonly number[]): ScalerChoice => {
    const options: O = { ...sketch.options, ...own };
    return { options, targets, open: (facts, held) => sketch.open(facts, held, options) };
  };
  return {
    periodMs,
    target,
    shipped: choiceOf({}, [target]),
    tried: sketch.tried.map(({ options, targets }) => choiceOf(options, targets)),
  };
}

/** Throughput of one replica with whole batches, queries per second. */
export function throughputOf({ batchMs }: StageFacts): number {
  return (1000 * batchMs.length) / (batchMs.at(-1) ?? Number.NaN);
}
