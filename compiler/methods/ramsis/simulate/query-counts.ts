/** Counts the outcomes of queries: all of them, and those of each class. */
import type { Variant } from "stratagem-runtime/internal/bundle/schema";
import type { OnOutcome } from "../../../simulate/outcomes.ts";
import type { QueryClasses } from "../../../simulate/query-classes.ts";
import { ClassTally, type OutcomeByClass } from "./class-tally.ts";
import { type CountedLevel, Tally } from "./tally.ts";

export type OnViolation = (arrivalMs: number, sloClass: number) => void;

/** Queries that arrive from one time until another, exclusive. */
interface ArrivedBetween {
  readonly fromMs: number;
  readonly untilMs: number;
}

export interface CountOptions {
  /** Only these queries are counted, and batches by their first one; default: all. */
  readonly counted?: ArrivedBetween;
  /** Called for every counted query that is late or dropped. */
  readonly onViolation?: OnViolation;
  /** Called for every counted query. */
  readonly onOutcome?: OnOutcome;
}

/** A query is identified by the time its client sent it. */
export class QueryCounts {
  /** One per class, or one for all, as clients have it. */
  readonly sloMs: Float64Array;
  readonly #tally: Tally;
  readonly #classes: QueryClasses | null;
  /** One for each class, empty if all queries have the same SLO. */
  readonly #classTallies: readonly ClassTally[];
  readonly #hasBuckets: boolean;
  readonly #fromMs: number;
  readonly #untilMs: number;
  readonly #onViolation: OnViolation | undefined;
  readonly #onOutcome: OnOutcome | undefined;

  /** @param classes null if all queries have the same SLO. */
  constructor(
    served: {
      readonly variants: readonly Variant[];
      readonly levels: readonly CountedLevel[];
      readonly sloMs: number;
      readonly hasBuckets: boolean;
    },
    classes: QueryClasses | null,
    { counted, onViolation, onOutcome }: CountOptions,
  ) {
    this.#tally = new Tally(served.variants, served.levels);
    this.sloMs =
      classes === null
        ? Float64Array.of(served.sloMs)
        : Float64Array.from(classes.names, (_, sloClass) => classes.sloMs(sloClass));
    this.#hasBuckets = served.hasBuckets;
    this.#classes = classes;
    this.#classTallies = classes?.names.map(() => new ClassTally(served.variants)) ?? [];
    this.#fromMs = counted?.fromMs ?? 0;
    this.#untilMs = counted?.untilMs ?? Number.POSITIVE_INFINITY;
    this.#onViolation = onViolation;
    this.#onOutcome = onOutcome;
  }

  countDrop(sentMs: number, sloClass: number): void {
    if (!this.isCounted(sentMs)) return;
    this.#tally.countDrop();
    this.#classTallies[sloClass]?.countDrop();
    this.#onViolation?.(sentMs, sloClass);
    this.#onOutcome?.(sentMs, Number.NaN, this.sloMs[sloClass]);
  }

  /**
   * Counts a started batch.
   * @param firstMs when its first query was sent.
   */
  countBatch(variant: number, level: number, firstMs: number): void {
    if (this.isCounted(firstMs)) this.#tally.countBatch(variant, level);
  }

  /**
   * Counts an answer at the client.
   * @param isFirst whether the query was the first of its batch.
   */
  countServed(
    variant: number,
    sentMs: number,
    endMs: number,
    sloClass: number,
    isFirst: boolean,
  ): void {
    if (!this.isCounted(sentMs)) return;
    // The deadline is the dispatcher's own sum; end − sent <= SLO would round differently.
    const satisfied = endMs <= sentMs + (this.sloMs[sloClass] ?? Number.NaN);
    if (isFirst && satisfied) this.#tally.countTimelyBatch(variant);
    this.#tally.countServed(variant, endMs - sentMs, satisfied);
    this.#classTallies[sloClass]?.countServed(variant, endMs - sentMs, satisfied);
    if (!satisfied) this.#onViolation?.(sentMs, sloClass);
    this.#onOutcome?.(sentMs, endMs - sentMs, this.sloMs[sloClass]);
  }

  outcome(): OutcomeByClass {
    const outcome = this.#tally.outcome();
    if (this.#classes === null) return outcome;
    const byClass = this.#classes.names.map((name, index) => [
      name,
      this.#classTallies[index]?.outcome(this.#tally.perBatch()),
    ]);
    const byKind = Object.fromEntries(byClass);
    return this.#hasBuckets ? { ...outcome, byBucket: byKind } : { ...outcome, byClass: byKind };
  }

  isCounted(sentMs: number): boolean {
    return sentMs >= this.#fromMs && sentMs < this.#untilMs;
  }
}
