import type { InferlineBundle } from "../../../runtime/bundle/schema.ts";
import { LatencySample, type LatencySummary } from "../latency-sample.ts";
import { type MeanAndMax, ReplicaCosts, type ReplicaSummary } from "./replica-costs.ts";
import { StageTimeline, type StageTimelineSecond } from "./stage-timeline.ts";

/** What became of the requests of one simulation. Ratios of nothing are null, except the violation rate, which is then 0. */
export interface StageOutcome extends ReplicaSummary {
  /** Requests. */
  readonly queries: number;
  /** Served by the deadline; a request that visits no task is. */
  readonly satisfied: number;
  /** Served after it. */
  readonly late: number;
  /** More requests were under way than the simulation keeps. */
  readonly dropped: number;
  /** (late + dropped) / queries */
  readonly violationRate: number;
  /** Mean over satisfied requests that visited a task of their accuracy: the mean over the variants of the tasks where they ended. */
  readonly accuracyPerSatisfied: number | null;
  /** The same sum over all requests but those that were satisfied without a task: a violation counts as accuracy 0. */
  readonly accuracyPerQuery: number | null;
  /** Arrival to the last completion, over the requests served. */
  readonly latencyMs: LatencySummary | null;
  /** Keyed by `task/variant`. */
  readonly byVariant: Readonly<Record<string, StageVariantOutcome>>;
  readonly byTask: Readonly<Record<string, StageTaskOutcome>>;
  readonly planSwitches: number;
  readonly timeline: readonly StageTimelineSecond[] | null;
}

export interface StageVariantOutcome {
  /** Queries of the task that it served. */
  readonly queries: number;
  readonly batches: number;
  readonly meanBatch: number | null;
  readonly accuracy: number;
}

export interface StageTaskOutcome {
  /** Requests that visited the task. */
  readonly queries: number;
  readonly batches: number;
  readonly meanBatch: number | null;
  readonly replicas: MeanAndMax;
}

/** Counts the outcomes of a simulation as they happen. */
export class StageTally {
  planSwitches = 0;
  readonly replicas: ReplicaCosts;
  readonly timeline: StageTimeline | null;
  readonly #bundle: InferlineBundle;
  readonly #latency = new LatencySample();
  #requests = 0;
  #satisfied = 0;
  #late = 0;
  #accuracySum = 0;
  /** Satisfied requests that visited no task. */
  #unserved = 0;
  readonly #queriesByVariant: Float64Array;
  readonly #batchesByVariant: Float64Array;

  constructor(bundle: InferlineBundle, durationMs: number, hasTimeline: boolean) {
    const variantCount = bundle.tasks.reduce((total, { variants }) => total + variants.length, 0);
    this.#bundle = bundle;
    this.replicas = new ReplicaCosts(bundle, durationMs);
    this.timeline = hasTimeline ? new StageTimeline(Math.ceil(durationMs / 1000)) : null;
    this.#queriesByVariant = new Float64Array(variantCount);
    this.#batchesByVariant = new Float64Array(variantCount);
  }

  countRequest(arrivalMs: number): void {
    this.#requests++;
    this.timeline?.countRequest(arrivalMs);
  }

  countDropped(arrivalMs: number): void {
    this.timeline?.countViolation(arrivalMs);
  }

  /** @param accuracy NaN for a request that visited no task. */
  countServed(arrivalMs: number, latencyMs: number, isLate: boolean, accuracy: number): void {
    this.#latency.record(latencyMs);
    if (isLate) {
      this.#late++;
      this.timeline?.countViolation(arrivalMs);
      return;
    }
    this.#satisfied++;
    if (Number.isNaN(accuracy)) this.#unserved++;
    else this.#accuracySum += accuracy;
  }

  countBatch(variant: number, batch: number): void {
    this.#batchesByVariant[variant] = (this.#batchesByVariant[variant] ?? 0) + 1;
    this.#queriesByVariant[variant] = (this.#queriesByVariant[variant] ?? 0) + batch;
  }

  outcome(): StageOutcome {
    const queries = this.#requests;
    return {
      queries,
      satisfied: this.#satisfied,
      late: this.#late,
      dropped: queries - this.#satisfied - this.#late,
      violationRate: queries === 0 ? 0 : (queries - this.#satisfied) / queries,
      accuracyPerSatisfied: ratio(this.#accuracySum, this.#satisfied - this.#unserved),
      accuracyPerQuery: ratio(this.#accuracySum, queries - this.#unserved),
      latencyMs: this.#latency.summary(),
      ...this.#byStage(),
      ...this.replicas.summary(),
      planSwitches: this.planSwitches,
      timeline: this.timeline?.seconds() ?? null,
    };
  }

  #byStage(): Pick<StageOutcome, "byVariant" | "byTask"> {
    const byVariant: Record<string, StageVariantOutcome> = {};
    const byTask: Record<string, StageTaskOutcome> = {};
    let next = 0;
    for (const [task, { name, variants }] of this.#bundle.tasks.entries()) {
      let served = 0;
      let started = 0;
      for (const { name: variant, accuracy } of variants) {
        const queries = this.#queriesByVariant[next] ?? 0;
        const batches = this.#batchesByVariant[next] ?? 0;
        const meanBatch = ratio(queries, batches);
        byVariant[`${name}/${variant}`] = { queries, batches, meanBatch, accuracy };
        served += queries;
        started += batches;
        next++;
      }
      const meanBatch = ratio(served, started);
      const replicas = this.replicas.ofTask(task);
      byTask[name] = { queries: served, batches: started, meanBatch, replicas };
    }
    return { byVariant, byTask };
  }
}

function ratio(numerator: number, denominator: number): number | null {
  return denominator === 0 ? null : numerator / denominator;
}
