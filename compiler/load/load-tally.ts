/** Counts what became of the queries of a load test. */
import { LatencySample, type LatencySummary } from "../simulate/latency-sample.ts";

/**
 * What the client saw of its queries. Ratios of nothing are null, except the violation rate, which
 * is then 0.
 */
export interface LoadOutcome {
  readonly queries: number;
  /** Answered within the SLO; without an SLO, answered. */
  readonly satisfied: number;
  /** Answered after it. */
  readonly late: number;
  /** Never answered, or with an error. */
  readonly dropped: number;
  /** (late + dropped) / queries */
  readonly violationRate: number;
  /** Mean over satisfied queries of the accuracy that the reply states for its variant. */
  readonly accuracyPerSatisfied: number | null;
  /** The same sum over all queries: a violation counts as accuracy 0. */
  readonly accuracyPerQuery: number | null;
  /**
   * Share of the satisfied queries with a label whose class was right; comparable with
   * `accuracyPerSatisfied`.
   */
  readonly measuredAccuracy: number | null;
  /**
   * From the scheduled arrival to the end of the reply, over answered queries: what the generator
   * was late counts against the server too.
   */
  readonly latencyMs: LatencySummary | null;
  /** The same from the moment at which the request was really sent. */
  readonly latencyFromSendMs: LatencySummary | null;
  readonly byVariant: Readonly<Record<string, VariantLoadOutcome>>;
  /** Queries without a good reply, by HTTP status, or by what went wrong where there was none. */
  readonly errors: Readonly<Record<string, number>>;
  /** How long after its scheduled arrival a query was sent. */
  readonly sendLagMs: { readonly p50: number; readonly p99: number; readonly max: number } | null;
}

interface VariantLoadOutcome {
  /** Queries answered, within the SLO or not. */
  readonly queries: number;
  readonly satisfied: number;
  /** Answered queries that had a label, and those of them whose class was right. */
  readonly labelled: number;
  readonly correct: number;
}

interface Answer {
  readonly variant: string | null;
  readonly accuracy: number | null;
  /** Null for a query without a label. */
  readonly isCorrect: boolean | null;
  readonly latencyMs: number;
  /** From the moment it was really sent. */
  readonly fromSendMs: number;
  /** Of the query's class; left out where the tally's holds for all. */
  readonly sloMs?: number;
}

/** Name under which answers are counted whose reply names no variant. */
const UNNAMED = "(unnamed)";

/** Counts queries as their fates become known. */
export class LoadTally {
  readonly #sloMs: number | null;
  readonly #latency = new LatencySample();
  readonly #fromSend = new LatencySample();
  readonly #sendLag = new LatencySample();
  readonly #byVariant = new Map<string, Writable<VariantLoadOutcome>>();
  readonly #errors = new Map<string, number>();
  #satisfied = 0;
  #satisfiedAccuracy = 0;
  /** Satisfied queries whose reply states no accuracy. */
  #unstated = 0;
  #satisfiedLabelled = 0;
  #satisfiedCorrect = 0;
  #answered = 0;
  #dropped = 0;

  /** @param sloMs null when every answer is in time. */
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

  /** @param reason HTTP status, or a word for what went wrong. */
  countDrop(reason: string): void {
    this.#dropped++;
    this.#errors.set(reason, (this.#errors.get(reason) ?? 0) + 1);
  }

  outcome(): LoadOutcome {
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
      latencyMs: this.#latency.summary(),
      latencyFromSendMs: this.#fromSend.summary(),
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
