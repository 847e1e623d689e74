/** What a load is, phase by phase, and what is said of its answers. */

export interface LoadOrder {
  readonly port: number;
  /** Whole requests, sent in turn. */
  readonly messages: readonly Uint8Array[];
  /** One begins where the other ends, whatever is still on its way. */
  readonly phases: readonly LoadPhase[];
  /** A 200 that comes later than this is no goodput, ms. */
  readonly sloMs: number;
  /** Connections at most, one request in flight on each. */
  readonly connections: number;
  readonly seed: number;
}

/** A Poisson process. */
export interface LoadPhase {
  readonly qps: number;
  readonly seconds: number;
}

/** Quantiles in ms, NaN without a sample. */
export interface Quantiles {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

export interface PhaseReport extends LoadPhase {
  /** Requests that left. */
  readonly sent: number;
  /** Requests that the process brought, those included for which no connection was free in time. */
  readonly due: number;
  /**
   * Answers by status, such as 200; `lost` for a connection that ended without one, `unanswered`
   * for none within 15 s of the end.
   */
  readonly byStatus: Readonly<Record<string, number>>;
  /** Answers that say no: by status and the words of their errors. */
  readonly byReason: Readonly<Record<string, number>>;
  /** 200 within the SLO, counted from the write. */
  readonly good: number;
  /** From the write to the last byte: of 200, and of 429 and 503. */
  readonly acceptedMs: Quantiles;
  readonly shedMs: Quantiles;
  /** From when a request was due to its write. */
  readonly lagMs: Quantiles;
  /** Of each window of `WINDOW_MS` by the time of the write: requests, and those not good. */
  readonly sentByWindow: readonly number[];
  readonly badByWindow: readonly number[];
}

export const WINDOW_MS = 250;

/** Answers of a status, or another fate. */
export function countOf({ byStatus }: PhaseReport, fate: string): number {
  return byStatus[fate] ?? 0;
}
