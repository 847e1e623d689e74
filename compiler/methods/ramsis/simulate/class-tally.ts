/** What a simulation counts of one class of queries. */
import type { Variant } from "stratagem-runtime/internal/bundle/schema";
import { LatencySample } from "../../../simulate/latency-sample.ts";
import type { Outcome } from "./tally.ts";

/** What happened to the queries of one class; as of all of them. */
type ClassOutcome = Omit<Outcome, "byVariant" | "byLevel">;

export interface OutcomeByClass extends Outcome {
  /** By the names of the classes, where queries have several SLOs. */
  readonly byClass?: Readonly<Record<string, ClassOutcome>>;
  /** By the names of the buckets, where there are any. */
  readonly byBucket?: Readonly<Record<string, ClassOutcome>>;
}

/** Counts the outcomes of a simulation for one class of queries. */
export class ClassTally {
  readonly #variants: readonly Variant[];
  readonly #latency = new LatencySample();
  #served = 0;
  #satisfied = 0;
  #accuracySum = 0;
  #dropped = 0;

  constructor(variants: readonly Variant[]) {
    this.#variants = variants;
  }

  countDrop(): void {
    this.#dropped++;
  }

  countServed(variant: number, latencyMs: number, isSatisfied: boolean): void {
    this.#latency.record(latencyMs);
    this.#served++;
    if (!isSatisfied) return;
    this.#satisfied++;
    this.#accuracySum += this.#variants[variant]?.accuracy ?? Number.NaN;
  }

  outcome(): ClassOutcome {
    const satisfied = this.#satisfied;
    const queries = this.#served + this.#dropped;
    return {
      queries,
      satisfied,
      late: this.#served - satisfied,
      dropped: this.#dropped,
      violationRate: queries === 0 ? 0 : (queries - satisfied) / queries,
      accuracyPerSatisfied: satisfied === 0 ? null : this.#accuracySum / satisfied,
      accuracyPerQuery: queries === 0 ? null : this.#accuracySum / queries,
      latencyMs: this.#latency.summary(),
    };
  }
}
