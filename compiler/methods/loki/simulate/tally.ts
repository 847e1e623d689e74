/** Counts the outcomes of a simulated pipeline, by variant and by second. */
import type { LokiBundle } from "stratagem-runtime/internal/bundle/schema";
import {
  LatencySample,
  type LatencySummary,
  requestsPerBatch,
} from "../../../simulate/latency-sample.ts";
import type { OnOutcome } from "../../../simulate/outcomes.ts";
import type { CountedFrom } from "../../../simulate/queue-times.ts";

/**
 * Outcomes of the requests of one simulation. Ratios with denominator 0 are null, except the
 * violation rate, which is then 0.
 */
export interface LokiOutcome {
  /** Number of requests. */
  readonly queries: number;
  /** Every leaf query was served by the deadline. */
  readonly satisfied: number;
  /** All were served, some after it. */
  readonly late: number;
  /** Not admitted, or one of its queries was dropped. */
  readonly dropped: number;
  /** (late + dropped) / queries */
  readonly violationRate: number;
  /** Mean accuracy of the paths of satisfied requests that reached a leaf. */
  readonly accuracyPerSatisfied: number | null;
  /**
   * The same sum, divided by all requests except those satisfied without a leaf: a violation counts
   * as accuracy 0.
   */
  readonly accuracyPerQuery: number | null;
  /** Arrival to the last leaf, over the requests served. */
  readonly latencyMs: LatencySummary | null;
  /** Keyed by `task/variant`. */
  readonly byVariant: Readonly<Record<string, LokiVariantOutcome>>;
  readonly byTask: Readonly<Record<string, TaskOutcome>>;
  /** Keyed by the load of the level, and its pace if it has one. */
  readonly byLevel: Readonly<Record<string, { readonly decisions: number }>>;
  /** Servers that the plan in force uses. */
  readonly servers: { readonly mean: number; readonly max: number };
  readonly planSwitches: number;
  /** Since the first request. */
  readonly modelLoads: number;
  readonly timeline: readonly TimelineSecond[] | null;
}

interface LokiVariantOutcome {
  /** Queries of the task that it served. */
  readonly queries: number;
  readonly batches: number;
  readonly meanBatch: number | null;
  readonly accuracy: number;
}

interface TaskOutcome {
  /** Queries that reached the task. */
  readonly queries: number;
  readonly served: number;
  /** Dropped, or cancelled because another query of the request was dropped. */
  readonly dropped: number;
  readonly batches: number;
  readonly meanBatch: number | null;
}

/** Totals by the second in which requests arrived. */
interface TimelineSecond {
  readonly requests: number;
  readonly violations: number;
  /** Mean over the satisfied requests; null without any. */
  readonly accuracy: number | null;
  /** At the end of the second. */
  readonly servers: number;
  /** Index of the level at the end of the second. */
  readonly level: number;
}

/** Counts the outcomes of a simulated pipeline as they happen. */
export class LokiTally {
  planSwitches = 0;
  modelLoads = 0;
  readonly #bundle: LokiBundle;
  readonly #latency = new LatencySample();
  readonly #fromMs: number;
  /** All requests, counted or not. */
  #arrived = 0;
  #requests = 0;
  #satisfied = 0;
  #late = 0;
  #dropped = 0;
  #accuracySum = 0;
  #leafless = 0;
  readonly queriesByTask: Float64Array;
  readonly servedByTask: Float64Array;
  readonly queriesByVariant: Float64Array;
  readonly batchesByVariant: Float64Array;
  readonly decisionsByLevel: Float64Array;
  #serverMs = 0;
  #maxServers = 0;
  #observedMs = 0;
  #servers = 0;
  readonly #timeline: Timeline | null;
  readonly #onOutcome: OnOutcome;

  constructor(
    bundle: LokiBundle,
    timelineSeconds: number | null,
    { countedFromMs = 0, onOutcome = () => {} }: CountedFrom & { readonly onOutcome?: OnOutcome },
  ) {
    this.#fromMs = countedFromMs;
    this.#onOutcome = onOutcome;
    const variantCount = bundle.tasks.reduce((total, { variants }) => total + variants.length, 0);
    this.#bundle = bundle;
    this.queriesByTask = new Float64Array(bundle.tasks.length);
    this.servedByTask = new Float64Array(bundle.tasks.length);
    this.queriesByVariant = new Float64Array(variantCount);
    this.batchesByVariant = new Float64Array(variantCount);
    const { levels, paceLevels = [] } = bundle;
    this.decisionsByLevel = new Float64Array(levels.length + paceLevels.length);
    this.#timeline = timelineSeconds === null ? null : new Timeline(timelineSeconds);
  }

  countRequest(arrivalMs: number): void {
    this.#arrived++;
    if (arrivalMs >= this.#fromMs) this.#requests++;
  }

  countDropped(arrivalMs: number): void {
    if (arrivalMs < this.#fromMs) return;
    this.#dropped++;
    this.#onOutcome(arrivalMs, Number.NaN);
    this.#timeline?.count(arrivalMs, false, Number.NaN);
  }

  /** @param accuracy NaN for a request that reached no leaf. */
  countServed(arrivalMs: number, latencyMs: number, satisfied: boolean, accuracy: number): void {
    if (arrivalMs < this.#fromMs) return;
    this.#latency.record(latencyMs);
    this.#onOutcome(arrivalMs, latencyMs);
    this.#timeline?.count(arrivalMs, satisfied, accuracy);
    if (!satisfied) {
      this.#late++;
      return;
    }
    this.#satisfied++;
    if (Number.isNaN(accuracy)) this.#leafless++;
    else this.#accuracySum += accuracy;
  }

  countBatch(variant: number, level: number, batch: number): void {
    this.batchesByVariant[variant] = (this.batchesByVariant[variant] ?? 0) + 1;
    this.queriesByVariant[variant] = (this.queriesByVariant[variant] ?? 0) + batch;
    this.decisionsByLevel[level] = (this.decisionsByLevel[level] ?? 0) + 1;
  }

  /** Records the servers and the level in force since the last event. */
  observe(nowMs: number, servers: number, level: number): void {
    this.#serverMs += this.#servers * (nowMs - this.#observedMs);
    this.#observedMs = nowMs;
    this.#servers = servers;
    if (servers > this.#maxServers) this.#maxServers = servers;
    this.#timeline?.observe(nowMs, servers, level);
  }

  outcome(): LokiOutcome {
    const { tasks, levels, paceLevels = [] } = this.#bundle;
    const queries = this.#requests;
    const taskOfVariant = tasks.flatMap((task) => task.variants.map(() => task.name));
    const byTask = Object.fromEntries(
      tasks.map(({ name }, task) => {
        const came = this.queriesByTask[task] ?? 0;
        const served = this.servedByTask[task] ?? 0;
        const batches = this.batchesByVariant.reduce(
          (sum, count, variant) => sum + (taskOfVariant[variant] === name ? count : 0),
          0,
        );
        const meanBatch = ratio(served, batches);
        return [name, { queries: came, served, dropped: came - served, batches, meanBatch }];
      }),
    );
    const ofTasks = Object.values(byTask).map((one) => ({ ...one, queries: one.served }));
    const names = tasks.flatMap((task) =>
      task.variants.map(({ name, accuracy }) => ({ name: `${task.name}/${name}`, accuracy })),
    );
    return {
      queries,
      satisfied: this.#satisfied,
      late: this.#late,
      dropped: this.#dropped,
      violationRate: queries === 0 ? 0 : (queries - this.#satisfied) / queries,
      accuracyPerSatisfied: ratio(this.#accuracySum, this.#satisfied - this.#leafless),
      accuracyPerQuery: ratio(this.#accuracySum, queries - this.#leafless),
      latencyMs: this.#latency.summary(requestsPerBatch(this.#arrived, ofTasks)),
      byVariant: Object.fromEntries(
        names.map(({ name, accuracy }, variant) => {
          const served = this.queriesByVariant[variant] ?? 0;
          const batches = this.batchesByVariant[variant] ?? 0;
          return [name, { queries: served, batches, meanBatch: ratio(served, batches), accuracy }];
        }),
      ),
      byTask,
      byLevel: Object.fromEntries(
        [...levels, ...paceLevels].map((one, level) => [
          "pace" in one ? `${one.loadQps} at pace ${one.pace}` : one.loadQps,
          { decisions: this.decisionsByLevel[level] ?? 0 },
        ]),
      ),
      servers: {
        mean: this.#observedMs === 0 ? this.#servers : this.#serverMs / this.#observedMs,
        max: this.#maxServers,
      },
      planSwitches: this.planSwitches,
      modelLoads: this.modelLoads,
      timeline: this.#timeline?.seconds() ?? null,
    };
  }
}

/** Requests by the second in which they arrived. */
class Timeline {
  readonly #requests: Float64Array;
  readonly #satisfied: Float64Array;
  readonly #accuracySum: Float64Array;
  readonly #leafCount: Float64Array;
  readonly #servers: Float64Array;
  readonly #level: Float64Array;
  #second = 0;

  constructor(seconds: number) {
    this.#requests = new Float64Array(seconds);
    this.#satisfied = new Float64Array(seconds);
    this.#accuracySum = new Float64Array(seconds);
    this.#leafCount = new Float64Array(seconds);
    this.#servers = new Float64Array(seconds);
    this.#level = new Float64Array(seconds);
  }

  count(arrivalMs: number, satisfied: boolean, accuracy: number): void {
    const second = Math.floor(arrivalMs / 1000);
    add(this.#requests, second, 1);
    if (!satisfied) return;
    add(this.#satisfied, second, 1);
    if (Number.isNaN(accuracy)) return;
    add(this.#accuracySum, second, accuracy);
    add(this.#leafCount, second, 1);
  }

  observe(nowMs: number, servers: number, level: number): void {
    const second = Math.min(Math.floor(nowMs / 1000), this.#servers.length - 1);
    this.#stayUntil(second);
    this.#servers[second] = servers;
    this.#level[second] = level;
    this.#second = second;
  }

  /** Fills the seconds without events since the last one. */
  #stayUntil(second: number): void {
    this.#servers.fill(this.#servers[this.#second] ?? 0, this.#second + 1, second);
    this.#level.fill(this.#level[this.#second] ?? 0, this.#second + 1, second);
  }

  seconds(): TimelineSecond[] {
    this.#stayUntil(this.#servers.length);
    return Array.from(this.#requests, (requests, second) => ({
      requests,
      violations: requests - (this.#satisfied[second] ?? 0),
      accuracy: ratio(this.#accuracySum[second] ?? 0, this.#leafCount[second] ?? 0),
      servers: this.#servers[second] ?? 0,
      level: this.#level[second] ?? 0,
    }));
  }
}

function add(counts: Float64Array, index: number, amount: number): void {
  counts[index] = (counts[index] ?? Number.NaN) + amount;
}

function ratio(numerator: number, denominator: number): number | null {
  return denominator === 0 ? null : numerator / denominator;
}
