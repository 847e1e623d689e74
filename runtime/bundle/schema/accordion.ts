/** Bundle of Accordion: pipelines of the layers of models over execution places. */
import type {
  CommonFields,
  ExpectedTimes,
  ModelFile,
  PacePromises,
  ProfileReference,
  Table,
} from "./common.ts";
import type { Spread } from "./serving.ts";

/**
 * Models that run as pipelines of layers over execution places (EPs): a table gives the cuts of a
 * model for any number of places, and the latency of a query with each.
 */
export interface AccordionBundle extends CommonFields {
  readonly method: "accordion";
  /** Exactly one. */
  readonly tasks: readonly MalleableTask[];
  readonly policy: AccordionOptions;
  /**
   * uint16 [shapeCount, poolCount]: places of each pool that a query may have. By ascending sum,
   * then lexicographically descending, so with one pool row n − 1 has n places. Sums are from 1 to
   * `policy.maxDepth`; the table has all shapes that the places allow.
   */
  readonly shapes: Table;
  /** Ascending in `loadQps`, at least one. */
  readonly levels: readonly AccordionLevel[];
}

/** Models that clients name: each is cut and scheduled separately. */
export interface MalleableTask {
  readonly name: string;
  readonly variants: readonly MalleableVariant[];
}

export interface MalleableVariant {
  readonly name: string;
  /** Measured accuracy, 0..1. */
  readonly accuracy: number;
  /** The whole model, as clients see it; its stages are what is served. */
  readonly model: ModelFile | null;
  /** Source of the times, in the order of the pools. */
  readonly profiles: readonly ProfileReference[];
  /** Layers that the model can be cut into; 0 if the profile gives speed-ups instead. */
  readonly layerCount: number;
  /**
   * In the order of the shapes; null if the model has fewer layers than the shape has places. The
   * first is never null.
   */
  readonly pipelines: readonly (LayerPipeline | null)[];
  /**
   * float64 [shapeCount, maxBatch]: time of a query of b instances, above 0 and strictly ascending
   * along axis 1; Infinity without a pipeline.
   */
  readonly latencyMs: Table;
  /** Stages of all pipelines, each once; empty without a model. */
  readonly stages: readonly StageModel[];
}

/** Layers `from` to `to` − 1 of a model as a model of one instance. */
export interface StageModel {
  readonly from: number;
  readonly to: number;
  readonly model: ModelFile;
}

/** A model cut into as many contiguous stages as its shape has places. */
export interface LayerPipeline {
  /** Layers of each stage, each at least 1; empty if the profile gives speed-ups instead. */
  readonly cut: readonly number[];
  /** Pool of the place of each stage. */
  readonly pools: readonly number[];
  /** Time of one instance in each stage; empty like `cut`. */
  readonly stageMs: readonly number[];
  /** Spreads of these times, ms; left out if profiles have no quantiles, or no serving path. */
  readonly stageSpreads?: readonly Spread[];
  /** τ: time between two instances, that of the heaviest stage. */
  readonly stepMs: number;
  /**
   * Time of one instance on the first shape over the step of this pipeline in steady state: the
   * ratio of their throughputs.
   */
  readonly speedup: number;
  /** Whether the stages were measured as they are cut, rather than summed from their layers. */
  readonly isMeasured: boolean;
}

/**
 * Options of the Accordion solver and of the scheduler that follows its table, every field
 * explicit.
 */
export interface AccordionOptions {
  /** Workers in use, taken from the pools in their order; at most as many as exist. */
  readonly executionPlaces: number;
  /** Most places of one query. */
  readonly maxDepth: number;
  /** Pipelined: T(B) = L + (B − 1) τ. Paper: T(B) = B L / S, as its figures imply. */
  readonly timing: "pipelined" | "paper";
  /** Most instances of one query. */
  readonly maxBatch: number;
  readonly scheduler: SchedulerName;
  /**
   * Whether running queries also get more places: free ones that make them end earlier if no query
   * waits, and those that keep one of high priority from being late. The latter may therefore start
   * on fewer places than it needs, and has a claim on others that become free.
   */
  readonly regrow: boolean;
  /**
   * Whether queries behind one that has to wait may start on the free places if those are enough
   * for them and the waiting one is still on time; within a priority.
   */
  readonly backfill: boolean;
  /** Cost of giving a running query other places. */
  readonly reconfigurationMs: number;
  /**
   * Limit for queries of low priority, as a multiple of the SLO, or of the time that a tighter
   * deadline of their own leaves; a query that takes longer is given up. Null: never.
   */
  readonly dropAfterSlos: number | null;
  /**
   * When that is decided. Turn: once it is certain and no query of its priority waits before it.
   * Arrival: by a forecast at its arrival, the paper's Algorithm 1.
   */
  readonly dropout: "turn" | "arrival";
  /**
   * Queries of simulations: log-normal batch sizes of this mean and this σ of the logarithm, at
   * least 1, and the share of low priority.
   */
  readonly meanBatch: number;
  readonly batchSigma: number;
  readonly lowShare: number;
}

/**
 * Accordion: malleable. The others are baselines whose queries keep the places they start with.
 * Source: Accordion §4.2.
 */
export type SchedulerName = "accordion" | "slo-conforming" | "fastest" | "bbs" | "one-stage";

export interface AccordionLevel {
  readonly loadQps: number;
  /** Whether the load is within capacity and the expected violations within `violationCeiling`. */
  readonly feasible: boolean;
  /**
   * Throughput of all places when each runs a query of its own, queries per second: the upper bound
   * for any schedule.
   */
  readonly capacityQps: number;
  readonly expected: PlaceExpected;
}

/** Figures from a simulation of the level at its load. */
export interface PlaceExpected extends PacePromises, ExpectedTimes {
  /** Share of all queries that are late, dropped or both. */
  readonly violationRate: number;
  readonly droppedRate: number;
  /** Percentiles of the served queries. */
  readonly latencyMsP50: number;
  readonly latencyMsP99: number;
  /** Mean share of busy places. */
  readonly occupancy: number;
  /** Mean number of running queries. */
  readonly activeQueries: number;
  /** Shrinks and growths per query. */
  readonly reconfigurations: number;
  readonly queries: number;
  readonly seed: number;
  readonly durationMs: number;
}
