/** Span of time that `--minute`, or `--from` and `--to`, select. */
import { RuntimeError } from "stratagem-runtime/internal/base/errors";

/** Milliseconds since 1970; the end is exclusive. */
export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

const MINUTE_MS = 60_000;
const LONGEST_MS = 24 * 60 * MINUTE_MS;

export interface AskedSpan {
  readonly minute?: string | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

/**
 * Parses the options that select a span.
 * @returns null if none of them is given.
 * @throws RuntimeError RUNTIME_USAGE.
 */
export function askedSpan({ minute, from, to }: AskedSpan): Span | null {
  if (minute !== undefined) {
    const fromMs = Math.floor(timeOf("--minute", minute) / MINUTE_MS) * MINUTE_MS;
    return { fromMs, toMs: fromMs + MINUTE_MS };
  }
  if (from === undefined && to === undefined) return null;
  if (from === undefined || to === undefined) {
    throw usage(`expected --from and --to together, got ${from === undefined ? "--to" : "--from"}`);
  }
  const span = { fromMs: timeOf("--from", from), toMs: timeOf("--to", to) };
  if (span.toMs > span.fromMs && span.toMs - span.fromMs <= LONGEST_MS) return span;
  throw usage(`--to: expected a time after --from and at most a day later, got "${to}"`);
}

/** Parses a time as access logs have it, in UTC; seconds and fractions may be left out. */
function timeOf(option: string, text: string): number {
  const match = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d)(:\d\d)?(\.\d{1,6})?Z?$/.exec(text);
  const [, day, minute, second = ":00", fraction = ""] = match ?? [];
  const ms = match === null ? Number.NaN : Date.parse(`${day}T${minute}${second}${fraction}Z`);
  if (!Number.isNaN(ms)) return ms;
  throw usage(`${option}: expected a time such as 2026-11-23T14:05, in UTC, got "${text}"`);
}

function usage(message: string): RuntimeError {
  return new RuntimeError("RUNTIME_USAGE", message);
}
