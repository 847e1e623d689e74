/** Counts what a policy decides and what becomes of queries. */
import type { OutcomeObserver } from "./query-outcomes.ts";

export interface CountedVariant {
  /** Undefined where there is one task. */
  readonly task: string | undefined;
  readonly variant: string;
  readonly accuracy: number;
}

export interface VariantCount {
  readonly batches: number;
  /** Queries that it was to answer. */
  readonly queries: number;
}

export interface CountsSoFar {
  readonly inTime: number;
  readonly late: number;
  readonly dropped: number;
  /** At the door, before a policy was asked. */
  readonly refused: number;
  /** Sum over queries in time of the accuracy of whoever answered them. */
  readonly accuracySum: number;
  readonly byVariant: readonly VariantCount[];
}

export class PolicyCounts implements OutcomeObserver {
  /** That decided last; NaN before the first decision. */
  level = Number.NaN;
  readonly variants: readonly CountedVariant[];
  #inTime = 0;
  #late = 0;
  #dropped = 0;
  #refused = 0;
  #accuracySum = 0;
  readonly #batches: Float64Array;
  readonly #queries: Float64Array;

  constructor(variants: readonly CountedVariant[]) {
    this.variants = variants;
    this.#batches = new Float64Array(variants.length);
    this.#queries = new Float64Array(variants.length);
  }

  get soFar(): CountsSoFar {
    return {
      inTime: this.#inTime,
      late: this.#late,
      dropped: this.#dropped,
      refused: this.#refused,
      accuracySum: this.#accuracySum,
      byVariant: this.variants.map((_, variant) => ({
        batches: this.#batches[variant] ?? 0,
        queries: this.#queries[variant] ?? 0,
      })),
    };
  }

  onBatch(variant: number, level: number, rows: number): void {
    this.level = level;
    this.#batches[variant] = (this.#batches[variant] ?? 0) + 1;
    this.#queries[variant] = (this.#queries[variant] ?? 0) + rows;
  }

  onAnswered(_query: number, variant: number, isLate: boolean): void {
    if (isLate) {
      this.#late++;
      return;
    }
    this.#inTime++;
    this.#accuracySum += this.variants[variant]?.accuracy ?? Number.NaN;
  }

  onDropped(): void {
    this.#dropped++;
  }

  onCancelled(): void {}

  onRefused(queries: number): void {
    this.#refused += queries;
  }
}

/** What was counted between two times. */
export function countedSince(before: CountsSoFar, now: CountsSoFar): CountsSoFar {
  return {
    inTime: now.inTime - before.inTime,
    late: now.late - before.late,
    dropped: now.dropped - before.dropped,
    refused: now.refused - before.refused,
    accuracySum: now.accuracySum - before.accuracySum,
    byVariant: now.byVariant.map(({ batches, queries }, variant) => {
      const own = before.byVariant[variant];
      return { batches: batches - (own?.batches ?? 0), queries: queries - (own?.queries ?? 0) };
    }),
  };
}

export interface CountedRates {
  readonly queries: number;
  /** Late, dropped or refused, of all; null where there were none. */
  readonly violationRate: number | null;
  /** Of queries in time; null where there were none. */
  readonly accuracyPerSatisfied: number | null;
  /** Queries of a batch, in the mean; null where there was none. */
  readonly meanBatch: number | null;
}

export function ratesOf(counts: CountsSoFar): CountedRates {
  const { inTime, late, dropped, refused, accuracySum, byVariant } = counts;
  const queries = inTime + late + dropped + refused;
  const batches = byVariant.reduce((sum, one) => sum + one.batches, 0);
  const started = byVariant.reduce((sum, one) => sum + one.queries, 0);
  return {
    queries,
    violationRate: queries === 0 ? null : (late + dropped + refused) / queries,
    accuracyPerSatisfied: inTime === 0 ? null : accuracySum / inTime,
    meanBatch: batches === 0 ? null : started / batches,
  };
}
