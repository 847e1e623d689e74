/** What an autoscaler is to the simulator: it looks at a stage and says how many replicas. */

/** What whoever sets up an autoscaler knows of a stage. */
export interface StageFacts {
  /** What a batch of b takes lies at b − 1, ms, up to the largest that a replica takes. */
  readonly batchMs: Float64Array;
  /** Part of the SLO that is the stage's: that of its whole batches on the longest path. */
  readonly shareMs: number;
  /** Time that a replica takes to come up. */
  readonly startMs: number;
  /** Replicas at time 0, which are up. */
  readonly replicas: number;
}

/** What can be seen of a stage. */
export interface StageSight {
  readonly nowMs: number;
  /** Replicas that there are to be, as was last said, and those that are up. */
  readonly target: number;
  readonly ready: number;
  /** Queries that wait, and that run, now. */
  readonly waiting: number;
  readonly running: number;
  /** Queries that have come since time 0. */
  readonly arrived: number;
  /** Integrals since time 0, ms: of queries in the stage, of those that wait, of busy replicas. */
  readonly inStageMs: number;
  readonly waitingMs: number;
  readonly busyMs: number;
}

/** The autoscaler of one stage. */
export interface StageScaler {
  /**
   * Looks at the stage; called once every period.
   * @returns replicas that there are to be; whoever asks keeps them between 1 and what there is.
   */
  look(sight: StageSight): number;
}

type ScalerOption = number | string;

/** What is set of an autoscaler beside its target, by names that end in their unit. */
export type ScalerOptions = Readonly<Record<string, ScalerOption>>;

/** An autoscaler with all options chosen; targets are stage by stage. */
export interface ScalerChoice {
  readonly options: ScalerOptions;
  /** What hindsight tries, ascending. */
  readonly targets: readonly number[];
  /** @param target what it holds its metric to, in the unit of the metric. */
  open(facts: StageFacts, target: number): StageScaler;
}

export interface Scaler {
  /** Time between two looks. */
  readonly periodMs: number;
  /** As its documentation has it by default, with this target. */
  readonly shipped: ScalerChoice;
  readonly target: number;
  /** What hindsight chooses among. */
  readonly tried: readonly ScalerChoice[];
}

interface ScalerSketch<O extends ScalerOptions> {
  readonly periodMs: number;
  readonly target: number;
  readonly options: O;
  /** Options in place of the defaults, and targets to try with them. */
  readonly tried: readonly {
    readonly options: Partial<O>;
    readonly targets: readonly number[];
  }[];
  open(facts: StageFacts, target: number, options: O): StageScaler;
}

/** An autoscaler of options that only it knows. */
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

/** Of one replica with whole batches, queries per second. */
export function throughputOf({ batchMs }: StageFacts): number {
  return (1000 * batchMs.length) / (batchMs.at(-1) ?? Number.NaN);
}
