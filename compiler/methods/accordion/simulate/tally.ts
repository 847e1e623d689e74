/** Counts the outcomes of simulated queries, by model, priority and size. */
import type { AccordionBundle, MalleableVariant } from "stratagem-runtime/internal/bundle/schema";
import { toleranceMsOf } from "stratagem-runtime/internal/methods/accordion/core/pipeline-table";
import { ratio } from "../../../simulate/graph/batch-tally.ts";
import { LatencySample, type LatencySummary } from "../../../simulate/latency-sample.ts";
import type { CountedFrom } from "../../../simulate/queue-times.ts";
import type { AccordionQueries } from "./queries.ts";
import { type SizeClass, SizeClasses } from "./size-classes.ts";

/**
 * Outcomes of the queries of one simulation. Ratios with denominator 0 are null, except violation
 * rates, which are then 0.
 */
export interface QueryOutcome {
  readonly queries: number;
  /** Served by their deadline. */
  readonly satisfied: number;
  /** Served after their deadline. */
  readonly late: number;
  /** Never served. */
  readonly dropped: number;
  /** (late + dropped) / queries */
  readonly violationRate: number;
  /** Mean accuracy, over satisfied queries, of the models that they name. */
  readonly accuracyPerSatisfied: number | null;
  /** The same sum over all queries: a violation counts as accuracy 0. */
  readonly accuracyPerQuery: number | null;
  /** Arrival to the last instance, over the queries served. */
  readonly latencyMs: LatencySummary | null;
  readonly byVariant: Readonly<Record<string, ModelOutcome>>;
  readonly byPriority: { readonly high: PriorityOutcome; readonly low: PriorityOutcome };
  /** Every size class, smallest first; classes may be empty. */
  readonly bySize: readonly SizeOutcome[];
  /** Instances of all queries, including dropped ones. */
  readonly instances: number;
}

interface ModelOutcome {
  readonly queries: number;
  readonly satisfied: number;
  readonly late: number;
  readonly dropped: number;
  /** Mean instances of a query. */
  readonly meanBatch: number | null;
  readonly accuracy: number;
}

/** Outcomes of a group of queries; the rate of an empty group is 0. */
export interface GroupOutcome {
  readonly queries: number;
  readonly satisfied: number;
  readonly late: number;
  readonly dropped: number;
  readonly violationRate: number;
}

interface PriorityOutcome extends GroupOutcome {
  readonly latencyMs: LatencySummary | null;
}

/** Outcomes of the queries of one size class. */
export interface SizeOutcome {
  readonly places: SizeClass;
  readonly high: GroupOutcome;
  readonly low: GroupOutcome;
}

/** Counts of one group of queries. */
class Group {
  queries = 0;
  satisfied = 0;
  late = 0;
  dropped = 0;
  instances = 0;

  outcome(): GroupOutcome {
    const { queries, satisfied, late, dropped } = this;
    const violationRate = queries === 0 ? 0 : (late + dropped) / queries;
    return { queries, satisfied, late, dropped, violationRate };
  }
}

/** Counts the outcomes of queries as they end. */
export class AccordionTally {
  readonly #queries: AccordionQueries;
  readonly #fromMs: number;
  readonly #toleranceMs: number;
  readonly #variants: readonly MalleableVariant[];
  readonly #models: readonly Group[];
  /** Low, then high, as in `isHigh`. */
  readonly #priorities: readonly [Group, Group] = [new Group(), new Group()];
  readonly #latencies: readonly [LatencySample, LatencySample] = [
    new LatencySample(),
    new LatencySample(),
  ];
  readonly #latency = new LatencySample();
  readonly #sizes: SizeClasses;
  /** Indexed by size class, low and high. */
  readonly #bySize: readonly (readonly [Group, Group])[];

  constructor(
    queries: AccordionQueries,
    bundle: Pick<AccordionBundle, "shapes" | "tasks" | "policy" | "slo">,
    { countedFromMs = 0 }: CountedFrom,
  ) {
    this.#queries = queries;
    this.#fromMs = countedFromMs;
    this.#toleranceMs = toleranceMsOf(bundle.slo);
    this.#variants = bundle.tasks[0]?.variants ?? [];
    this.#models = this.#variants.map(() => new Group());
    this.#sizes = new SizeClasses(bundle);
    this.#bySize = this.#sizes.classes.map(() => [new Group(), new Group()]);
  }

  /**
   * Counts the end of a query, once per query.
   * @param endMs NaN for a dropped query.
   */
  countOver(query: number, endMs: number): void {
    const { arrivalMs, deadlineMs, isHigh } = this.#queries;
    if ((arrivalMs[query] ?? Number.NaN) < this.#fromMs) return;
    const [model, batch] = [this.#queries.model[query] ?? 0, this.#queries.batch[query] ?? 0];
    const priority = isHigh[query] === 1 ? 1 : 0;
    // Uses the tolerance of the scheduler, which starts queries on shapes that end exactly at their
    // deadline.
    const isLate = endMs > (deadlineMs[query] ?? Number.NaN) + this.#toleranceMs;
    count(this.#priorities[priority], batch, endMs, isLate);
    for (const group of [
      this.#models[model],
      this.#bySize[this.#sizes.of(model, batch)]?.[priority],
    ]) {
      if (group !== undefined) count(group, batch, endMs, isLate);
    }
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
      // Each query is a batch of its own.
      latencyMs: this.#latency.summary(1),
      byVariant: this.#byVariant(),
      byPriority: { high: this.#ofPriority(1), low: this.#ofPriority(0) },
      bySize: this.#bySize.map(([low, high], index) => ({
        places: this.#sizes.classes[index] ?? null,
        high: high.outcome(),
        low: low.outcome(),
      })),
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
    const latencyMs = this.#latencies[priority].summary(1);
    return { ...this.#priorities[priority].outcome(), latencyMs };
  }
}

function count(group: Group, instances: number, endMs: number, isLate: boolean): void {
  group.queries++;
  group.instances += instances;
  if (Number.isNaN(endMs)) group.dropped++;
  else if (isLate) group.late++;
  else group.satisfied++;
}
