/** Counts of a simulation for one class of queries. */
import type { Variant } from "stratagem-runtime/internal/bundle/schema";
import { LatencySample } from "../../../simulate/latency-sample.ts";
import type { Outcome } from "./tally.ts";

/** Outcomes of the queries of one class, like those of all. */
type ClassOutcome = Omit<Outcome, "byVariant" | "byLevel">;

export interface OutcomeByClass extends Outcome {
  /** Keyed by class name, if queries have several SLOs. */
  readonly byClass?: Readonly<Record<string, ClassOutcome>>;
  /** Keyed by bucket name, if there are buckets. */
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

  /** @param perBatch mean queries of a batch, of all classes. */
  outcome(perBatch: number): ClassOutcome {
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
      latencyMs: this.#latency.summary(perBatch),
    };
  }
}
