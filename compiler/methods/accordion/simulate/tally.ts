/** Counts what becomes of simulated queries, by model and priority. */
import type { MalleableVariant } from "stratagem-runtime/internal/bundle/schema";
import { ratio } from "../../../simulate/graph/batch-tally.ts";
import { LatencySample, type LatencySummary } from "../../../simulate/latency-sample.ts";
import type { AccordionQueries } from "./queries.ts";

/**
 * What became of the queries of one simulation. Ratios of nothing are null, except violation rates,
 * which are then 0.
 */
export interface QueryOutcome {
  readonly queries: number;
  /** Served by their deadline. */
  readonly satisfied: number;
  /** Served after it. */
  readonly late: number;
  /** Never served. */
  readonly dropped: number;
  /** (late + dropped) / queries */
  readonly violationRate: number;
  /** Mean over satisfied queries of the accuracy of the models that they name. */
  readonly accuracyPerSatisfied: number | null;
  /** The same sum over all queries: a violation counts as accuracy 0. */
  readonly accuracyPerQuery: number | null;
  /** Arrival to the last instance, over the queries served. */
  readonly latencyMs: LatencySummary | null;
  readonly byVariant: Readonly<Record<string, ModelOutcome>>;
  readonly byPriority: { readonly high: PriorityOutcome; readonly low: PriorityOutcome };
  /** Of all queries, dropped ones included. */
  readonly instances: number;
}

/** Of the queries that name a model. */
export interface ModelOutcome {
  readonly queries: number;
  readonly satisfied: number;
  readonly late: number;
  readonly dropped: number;
  /** Mean instances of a query. */
  readonly meanBatch: number | null;
  readonly accuracy: number;
}

export interface PriorityOutcome {
  readonly queries: number;
  readonly satisfied: number;
  readonly late: number;
  readonly dropped: number;
  readonly violationRate: number;
  readonly latencyMs: LatencySummary | null;
}

/** Counts of one group of queries. */
class Group {
  queries = 0;
  satisfied = 0;
  late = 0;
  dropped = 0;
  instances = 0;

  get violationRate(): number {
    return this.queries === 0 ? 0 : (this.late + this.dropped) / this.queries;
  }
}

/** Counts what becomes of queries as it happens. */
export class AccordionTally {
  readonly #queries: AccordionQueries;
  readonly #variants: readonly MalleableVariant[];
  readonly #models: readonly Group[];
  /** Low, then high, as in `isHigh`. */
  readonly #priorities: readonly [Group, Group] = [new Group(), new Group()];
  readonly #latencies: readonly [LatencySample, LatencySample] = [
    new LatencySample(),
    new LatencySample(),
  ];
  readonly #latency = new LatencySample();

  constructor(queries: AccordionQueries, variants: readonly MalleableVariant[]) {
    this.#queries = queries;
    this.#variants = variants;
    this.#models = variants.map(() => new Group());
  }

  /** A query that is over, as are all of them once. @param endMs NaN for one that was dropped. */
  countOver(query: number, endMs: number): void {
    const { arrivalMs, batch, deadlineMs, isHigh } = this.#queries;
    const priority = isHigh[query] === 1 ? 1 : 0;
    const isLate = endMs > (deadlineMs[query] ?? Number.NaN);
    count(this.#priorities[priority], batch[query] ?? 0, endMs, isLate);
    const model = this.#models[this.#queries.model[query] ?? 0];
    if (model !== undefined) count(model, batch[query] ?? 0, endMs, isLate);
    if (Number.isNaN(endMs)) return;
    const latencyMs = endMs - (arrivalMs[query] ?? Number.NaN);
    this.#latency.record(latencyMs);
    this.#latencies[priority].record(latencyMs);
  }

  outcome(): QueryOutcome {
    const [low, high] = this.#priorities;
    const queries = low.queries + high.queries;
    const satisfied = low.satisfied + high.satisfied;
    let accuracySum = 0;
    for (const [model, { accuracy }] of this.#variants.entries()) {
      accuracySum += accuracy * (this.#models[model]?.satisfied ?? 0);
    }
    return {
      queries,
      satisfied,
      late: low.late + high.late,
      dropped: low.dropped + high.dropped,
      violationRate: queries === 0 ? 0 : (queries - satisfied) / queries,
      accuracyPerSatisfied: ratio(accuracySum, satisfied),
      accuracyPerQuery: ratio(accuracySum, queries),
      latencyMs: this.#latency.summary(),
      byVariant: this.#byVariant(),
      byPriority: { high: this.#ofPriority(1), low: this.#ofPriority(0) },
      instances: low.instances + high.instances,
    };
  }

  #byVariant(): Record<string, ModelOutcome> {
    const byVariant: Record<string, ModelOutcome> = {};
    for (const [model, { name, accuracy }] of this.#variants.entries()) {
      const { queries, satisfied, late, dropped, instances } = this.#models[model] ?? new Group();
      const meanBatch = ratio(instances, queries);
      byVariant[name] = { queries, satisfied, late, dropped, meanBatch, accuracy };
    }
    return byVariant;
  }

  #ofPriority(priority: 0 | 1): PriorityOutcome {
    const { queries, satisfied, late, dropped, violationRate } = this.#priorities[priority];
    const latencyMs = this.#latencies[priority].summary();
    return { queries, satisfied, late, dropped, violationRate, latencyMs };
  }
}

function count(group: Group, instances: number, endMs: number, isLate: boolean): void {
  group.queries++;
  group.instances += instances;
  if (Number.isNaN(endMs)) group.dropped++;
  else if (isLate) group.late++;
  else group.satisfied++;
}
