/** The bundle of Accordion: pipelines of the layers of models over execution places. */
import type {
  CommonFields,
  ExpectedLatency,
  ModelFile,
  PacePromises,
  ProfileReference,
  Table,
} from "./common.ts";
import type { Spread } from "./serving.ts";

/**
 * Models that run as pipelines of layers over execution places (EPs): a table says how a model is
 * cut for any number of them, and how long a query then takes.
 */
export interface AccordionBundle extends CommonFields {
  readonly method: "accordion";
  /** There is just one. */
  readonly tasks: readonly MalleableTask[];
  readonly policy: AccordionOptions;
  /**
   * uint16 [shapeCount, poolCount]: how many places of each pool a query may have. By ascending
   * sum, then lexicographically descending, so with one pool row n − 1 has n places. Sums are from
   * 1 to `policy.maxDepth`; all shapes that the places allow are there.
   */
  readonly shapes: Table;
  /** Ascending in `loadQps`, at least one. */
  readonly levels: readonly AccordionLevel[];
}

/** Models that clients name: each is cut and scheduled by itself. */
export interface MalleableTask {
  readonly name: string;
  readonly variants: readonly MalleableVariant[];
}

export interface MalleableVariant {
  readonly name: string;
  /** Measured accuracy, 0..1. */
  readonly accuracy: number;
  /** The whole model: what clients see of it. Served are its stages. */
  readonly model: ModelFile | null;
  /** Where the times are from, in the order of the pools. */
  readonly profiles: readonly ProfileReference[];
  /** Layers that the model can be cut into; 0 where the profile gives speed-ups instead. */
  readonly layerCount: number;
  /**
   * In the order of the shapes; null where the model has fewer layers than the shape has places.
   * The first is never null.
   */
  readonly pipelines: readonly (LayerPipeline | null)[];
  /**
   * float64 [shapeCount, maxBatch]: time of a query of b instances, above 0 and strictly ascending
   * along axis 1; Infinity where there is no pipeline.
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
  /** Layers of each stage, each at least 1; empty where the profile gives speed-ups instead. */
  readonly cut: readonly number[];
  /** Pool of the place of each stage. */
  readonly pools: readonly number[];
  /** What one instance takes in each stage; empty like `cut`. */
  readonly stageMs: readonly number[];
  /**
   * How these times spread, ms; left out where profiles have no quantiles, or say nothing of
   * serving.
   */
  readonly stageSpreads?: readonly Spread[];
  /** τ: time between two instances, that of the heaviest stage. */
  readonly stepMs: number;
  /**
   * Time of one instance over that with this pipeline in steady state: how many times as many
   * instances per second pass as on the first shape alone.
   */
  readonly speedup: number;
  /** Whether the stages were measured as they are cut, instead of added up from their layers. */
  readonly isMeasured: boolean;
}

/**
 * Options of the Accordion solver and of the scheduler that follows its table, every field
 * explicit.
 */
export interface AccordionOptions {
  /** Workers of the pools in their order that are used, at most as many as there are. */
  readonly executionPlaces: number;
  /** Most places of one query. */
  readonly maxDepth: number;
  /** Pipelined: T(B) = L + (B − 1) τ. Paper: T(B) = B L / S, as its figures imply. */
  readonly timing: "pipelined" | "paper";
  /** Most instances of one query. */
  readonly maxBatch: number;
  readonly scheduler: SchedulerName;
  /**
   * Whether running queries get more places too: free ones that make them end earlier when nothing
   * waits, and those that save one of high priority from being late; which therefore starts on
   * fewer places than it needs, if there are no more, and has a claim on the others.
   */
  readonly regrow: boolean;
  /**
   * Whether queries behind one that has to wait may start on the free places if those are enough
   * for them, and it is on time all the same; within a priority.
   */
  readonly backfill: boolean;
  /** Cost of giving a running query other places. */
  readonly reconfigurationMs: number;
  /**
   * A query of low priority that takes longer than so many times the SLO, or than so many times
   * what a tighter deadline of its own leaves, is given up; null: never.
   */
  readonly dropAfterSlos: number | null;
  /**
   * When that is decided. Turn: once it is certain and none of its priority waits before it.
   * Arrival: by a forecast when it comes, the paper's Algorithm 1.
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
   * Queries per second that all places carry when each runs a query of its own: no schedule carries
   * more.
   */
  readonly capacityQps: number;
  readonly expected: PlaceExpected;
}

/** What a simulation of the level at its load gives. */
export interface PlaceExpected extends PacePromises {
  /** Late, dropped or both, of all queries. */
  readonly violationRate: number;
  readonly droppedRate: number;
  /** Percentiles are of the queries that were served. */
  readonly latencyMsP50: number;
  readonly latencyMsP99: number;
  readonly latencyMs?: ExpectedLatency;
  /** Mean share of the places that are busy. */
  readonly occupancy: number;
  /** Mean queries that run at a time. */
  readonly activeQueries: number;
  /** Shrinks and growths per query. */
  readonly reconfigurations: number;
  readonly queries: number;
  readonly seed: number;
  readonly durationMs: number;
}
