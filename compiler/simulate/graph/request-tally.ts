/** Counts the outcomes of requests. */
import { LatencySample, type LatencySummary, requestsPerBatch } from "../latency-sample.ts";
import type { CountedFrom } from "../queue-times.ts";
import { ratio, type TaskBatches } from "./batch-tally.ts";
import type { Timeline } from "./timeline.ts";

/**
 * Outcomes of the requests of one simulation. Ratios with denominator 0 are null, except the
 * violation rate, which is then 0.
 */
export interface RequestOutcome {
  readonly queries: number;
  /** Served by the deadline; includes requests that visit no task. */
  readonly satisfied: number;
  /** Served after the deadline. */
  readonly late: number;
  /**
   * Dropped: one of their queries was dropped, or more requests were under way than the simulation
   * keeps.
   */
  readonly dropped: number;
  /** (late + dropped) / queries */
  readonly violationRate: number;
  /**
   * Mean accuracy of satisfied requests that visited a task: the mean over their paths of the
   * product of the accuracies of the variants along each.
   */
  readonly accuracyPerSatisfied: number | null;
  /**
   * The same sum, divided by all requests except those satisfied without a task: a violation counts
   * as accuracy 0.
   */
  readonly accuracyPerQuery: number | null;
  /** Arrival to the last completion, over the requests served. */
  readonly latencyMs: LatencySummary | null;
}

export class RequestTally {
  readonly #timeline: Timeline | null;
  readonly #latency = new LatencySample();
  readonly #fromMs: number;
  /** All requests, counted or not. */
  #arrived = 0;
  #requests = 0;
  #satisfied = 0;
  #late = 0;
  #dropped = 0;
  #accuracySum = 0;
  /** Satisfied requests that visited no task. */
  #unserved = 0;

  constructor(timeline: Timeline | null, { countedFromMs = 0 }: CountedFrom) {
    this.#timeline = timeline;
    this.#fromMs = countedFromMs;
  }

  countRequest(arrivalMs: number): void {
    this.#arrived++;
    if (arrivalMs < this.#fromMs) return;
    this.#requests++;
    this.#timeline?.countRequest(arrivalMs);
  }

  countDropped(arrivalMs: number): void {
    if (arrivalMs < this.#fromMs) return;
    this.#dropped++;
    this.#timeline?.countViolation(arrivalMs);
  }

  /** @param accuracy NaN for a request that visited no task. */
  countServed(arrivalMs: number, latencyMs: number, isLate: boolean, accuracy: number): void {
    if (arrivalMs < this.#fromMs) return;
    this.#latency.record(latencyMs);
    if (isLate) {
      this.#late++;
      this.#timeline?.countViolation(arrivalMs);
      return;
    }
    this.#satisfied++;
    if (Number.isNaN(accuracy)) this.#unserved++;
    else this.#accuracySum += accuracy;
  }

  outcome(tasks: readonly TaskBatches[]): RequestOutcome {
    const queries = this.#requests;
    return {
      queries,
      satisfied: this.#satisfied,
      late: this.#late,
      dropped: this.#dropped,
      violationRate: queries === 0 ? 0 : (queries - this.#satisfied) / queries,
      accuracyPerSatisfied: ratio(this.#accuracySum, this.#satisfied - this.#unserved),
      accuracyPerQuery: ratio(this.#accuracySum, queries - this.#unserved),
      latencyMs: this.#latency.summary(requestsPerBatch(this.#arrived, tasks)),
    };
  }
}
