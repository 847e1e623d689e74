/** Counts the results of a load test's queries. */
import { LatencySample, type LatencySummary } from "../simulate/latency-sample.ts";

/**
 * Results of queries at the client. Ratios without a denominator are null, except the violation
 * rate, which is 0.
 */
export interface LoadOutcome {
  readonly queries: number;
  /** Answered within the SLO; without an SLO, answered. */
  readonly satisfied: number;
  /** Answered after the SLO. */
  readonly late: number;
  /** Queries without a successful answer. */
  readonly dropped: number;
  /** (late + dropped) / queries */
  readonly violationRate: number;
  /** Mean over satisfied queries of the accuracy that the reply states for its variant. */
  readonly accuracyPerSatisfied: number | null;
  /** The same sum over all queries: a violation counts as accuracy 0. */
  readonly accuracyPerQuery: number | null;
  /**
   * Share of correct classes among satisfied queries with a label; comparable with
   * `accuracyPerSatisfied`.
   */
  readonly measuredAccuracy: number | null;
  /**
   * From the scheduled arrival to the end of the reply, over answered queries; includes the delay
   * of the generator.
   */
  readonly latencyMs: LatencySummary | null;
  /** The same from the time of sending. */
  readonly latencyFromSendMs: LatencySummary | null;
  readonly byVariant: Readonly<Record<string, VariantLoadOutcome>>;
  /** Queries without a successful reply, by HTTP status or kind of failure. */
  readonly errors: Readonly<Record<string, number>>;
  /** Delay between the scheduled arrival and the time of sending. */
  readonly sendLagMs: { readonly p50: number; readonly p99: number; readonly max: number } | null;
}

interface VariantLoadOutcome {
  /** Answered queries, within the SLO or not. */
  readonly queries: number;
  readonly satisfied: number;
  /** Answered queries with a label, and those with the correct class. */
  readonly labelled: number;
  readonly correct: number;
}

interface Answer {
  readonly variant: string | null;
  readonly accuracy: number | null;
  /** Null for a query without a label. */
  readonly isCorrect: boolean | null;
  readonly latencyMs: number;
  /** From the time of sending. */
  readonly fromSendMs: number;
  /** SLO of the query's class; default: that of the tally. */
  readonly sloMs?: number;
}

/** Name for answers without a variant. */
const UNNAMED = "(unnamed)";

/** Counts queries by result. */
export class LoadTally {
  readonly #sloMs: number | null;
  readonly #latency = new LatencySample();
  readonly #fromSend = new LatencySample();
  readonly #sendLag = new LatencySample();
  readonly #byVariant = new Map<string, Writable<VariantLoadOutcome>>();
  readonly #errors = new Map<string, number>();
  #satisfied = 0;
  #satisfiedAccuracy = 0;
  /** Satisfied queries without a stated accuracy. */
  #unstated = 0;
  #satisfiedLabelled = 0;
  #satisfiedCorrect = 0;
  #answered = 0;
  #dropped = 0;

  /** @param sloMs null to count every answer as in time. */
  constructor(sloMs: number | null) {
    this.#sloMs = sloMs;
  }

  countSent(lagMs: number): void {
    this.#sendLag.record(lagMs);
  }

  countAnswer({ variant, accuracy, isCorrect, latencyMs, fromSendMs, sloMs }: Answer): void {
    const limitMs = sloMs ?? this.#sloMs;
    const satisfied = limitMs === null || latencyMs <= limitMs;
    const counts = this.#countsOf(variant ?? UNNAMED);
    this.#answered++;
    this.#latency.record(latencyMs);
    this.#fromSend.record(fromSendMs);
    counts.queries++;
    if (isCorrect !== null) counts.labelled++;
    if (isCorrect) counts.correct++;
    if (!satisfied) return;
    this.#satisfied++;
    counts.satisfied++;
    if (accuracy === null) this.#unstated++;
    else this.#satisfiedAccuracy += accuracy;
    if (isCorrect !== null) this.#satisfiedLabelled++;
    if (isCorrect) this.#satisfiedCorrect++;
  }

  /** @param reason HTTP status, or a word for the failure. */
  countDrop(reason: string): void {
    this.#dropped++;
    this.#errors.set(reason, (this.#errors.get(reason) ?? 0) + 1);
  }

  /** @param perBatch mean requests that share a batch. */
  outcome(perBatch: number): LoadOutcome {
    const queries = this.#answered + this.#dropped;
    const satisfied = this.#satisfied;
    const known = this.#unstated === 0;
    const lag = this.#sendLag.summary();
    return {
      queries,
      satisfied,
      late: this.#answered - satisfied,
      dropped: this.#dropped,
      violationRate: queries === 0 ? 0 : (queries - satisfied) / queries,
      accuracyPerSatisfied: known ? ratio(this.#satisfiedAccuracy, satisfied) : null,
      accuracyPerQuery: known ? ratio(this.#satisfiedAccuracy, queries) : null,
      measuredAccuracy: ratio(this.#satisfiedCorrect, this.#satisfiedLabelled),
      latencyMs: this.#latency.summary(perBatch),
      latencyFromSendMs: this.#fromSend.summary(perBatch),
      byVariant: sortedRecord(this.#byVariant),
      errors: sortedRecord(this.#errors),
      sendLagMs: lag === null ? null : { p50: lag.p50, p99: lag.p99, max: lag.max },
    };
  }

  #countsOf(variant: string): Writable<VariantLoadOutcome> {
    const known = this.#byVariant.get(variant);
    if (known !== undefined) return known;
    const counts = { queries: 0, satisfied: 0, labelled: 0, correct: 0 };
    this.#byVariant.set(variant, counts);
    return counts;
  }
}

type Writable<T> = { -readonly [K in keyof T]: T[K] };

function sortedRecord<T>(map: ReadonlyMap<string, T>): Record<string, T> {
  return Object.fromEntries([...map].sort(([a], [b]) => (a < b ? -1 : 1)));
}

function ratio(numerator: number, denominator: number): number | null {
  return denominator === 0 ? null : numerator / denominator;
}
