/** Counts the outcomes of a simulation, by variant and by level. */
import type { Variant } from "stratagem-runtime/internal/bundle/schema";
import {
  LatencySample,
  type LatencySummary,
  requestsPerBatch,
} from "../../../simulate/latency-sample.ts";

/**
 * Outcomes of the queries of one simulation. Ratios with denominator 0 are null, except the
 * violation rate, which is then 0.
 */
export interface Outcome {
  readonly queries: number;
  /** Served by their deadline. */
  readonly satisfied: number;
  /** Served after their deadline. */
  readonly late: number;
  /** Never served. */
  readonly dropped: number;
  /** (late + dropped) / queries */
  readonly violationRate: number;
  /** Mean accuracy, over satisfied queries, of the variant that served them. Source: RAMSIS §7. */
  readonly accuracyPerSatisfied: number | null;
  /** The same sum over all queries: a violation counts as accuracy 0. */
  readonly accuracyPerQuery: number | null;
  /** Arrival to completion, over the queries served. */
  readonly latencyMs: LatencySummary | null;
  readonly byVariant: Readonly<Record<string, VariantOutcome>>;
  /** Keyed by the load of the level, and the pace of one for slower machines. */
  readonly byLevel: Readonly<Record<string, LevelOutcome>>;
}

interface VariantOutcome {
  /** Queries served, by the deadline or not. */
  readonly queries: number;
  readonly satisfied: number;
  readonly batches: number;
  /** Batches whose first query, that of the earliest deadline, was in time. */
  readonly timelyBatches: number;
  readonly meanBatch: number | null;
  readonly accuracy: number;
}

interface LevelOutcome {
  /** Batches started by the table of this level. */
  readonly decisions: number;
}

export interface CountedLevel {
  readonly loadQps: number;
  /** Left out for 1. */
  readonly pace?: number;
}

/** Counts the outcomes of a simulation as they happen. */
export class Tally {
  readonly #variants: readonly Variant[];
  readonly #levels: readonly CountedLevel[];
  readonly #latency = new LatencySample();
  readonly #satisfiedByVariant: Float64Array;
  readonly #queriesByVariant: Float64Array;
  readonly #batchesByVariant: Float64Array;
  readonly #timelyByVariant: Float64Array;
  readonly #decisionsByLevel: Float64Array;
  #dropped = 0;

  constructor(variants: readonly Variant[], levels: readonly CountedLevel[]) {
    this.#variants = variants;
    this.#levels = levels;
    this.#satisfiedByVariant = new Float64Array(variants.length);
    this.#queriesByVariant = new Float64Array(variants.length);
    this.#batchesByVariant = new Float64Array(variants.length);
    this.#timelyByVariant = new Float64Array(variants.length);
    this.#decisionsByLevel = new Float64Array(levels.length);
  }

  countDrop(): void {
    this.#dropped++;
  }

  countBatch(variant: number, level: number): void {
    add(this.#batchesByVariant, variant, 1);
    add(this.#decisionsByLevel, level, 1);
  }

  countTimelyBatch(variant: number): void {
    add(this.#timelyByVariant, variant, 1);
  }

  countServed(variant: number, latencyMs: number, satisfied: boolean): void {
    this.#latency.record(latencyMs);
    add(this.#queriesByVariant, variant, 1);
    if (satisfied) add(this.#satisfiedByVariant, variant, 1);
  }

  /** Mean queries of a batch. */
  perBatch(): number {
    const queries = sum(this.#queriesByVariant);
    return requestsPerBatch(queries, [{ queries, batches: sum(this.#batchesByVariant) }]);
  }

  outcome(): Outcome {
    const served = sum(this.#queriesByVariant);
    const satisfied = sum(this.#satisfiedByVariant);
    const queries = served + this.#dropped;
    let satisfiedAccuracy = 0;
    for (const [index, variant] of this.#variants.entries()) {
      satisfiedAccuracy += variant.accuracy * (this.#satisfiedByVariant[index] ?? Number.NaN);
    }
    return {
      queries,
      satisfied,
      late: served - satisfied,
      dropped: this.#dropped,
      violationRate: queries === 0 ? 0 : (queries - satisfied) / queries,
      accuracyPerSatisfied: ratio(satisfiedAccuracy, satisfied),
      accuracyPerQuery: ratio(satisfiedAccuracy, queries),
      latencyMs: this.#latency.summary(this.perBatch()),
      byVariant: Object.fromEntries(
        this.#variants.map((variant, index) => [
          variant.name,
          this.#variantOutcome(variant, index),
        ]),
      ),
      byLevel: Object.fromEntries(
        this.#levels.map(({ loadQps, pace }, index) => [
          pace === undefined ? loadQps : `${loadQps} at pace ${pace}`,
          { decisions: this.#decisionsByLevel[index] ?? Number.NaN },
        ]),
      ),
    };
  }

  #variantOutcome(variant: Variant, index: number): VariantOutcome {
    const queries = this.#queriesByVariant[index] ?? Number.NaN;
    const batches = this.#batchesByVariant[index] ?? Number.NaN;
    return {
      queries,
      satisfied: this.#satisfiedByVariant[index] ?? Number.NaN,
      batches,
      timelyBatches: this.#timelyByVariant[index] ?? Number.NaN,
      meanBatch: ratio(queries, batches),
      accuracy: variant.accuracy,
    };
  }
}

function add(counts: Float64Array, index: number, amount: number): void {
  counts[index] = (counts[index] ?? Number.NaN) + amount;
}

function sum(counts: Float64Array): number {
  return counts.reduce((total, count) => total + count, 0);
}

function ratio(numerator: number, denominator: number): number | null {
  return denominator === 0 ? null : numerator / denominator;
}
