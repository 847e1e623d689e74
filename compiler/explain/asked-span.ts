/** The span of time that `--time` asks for. */
import { RuntimeError } from "stratagem-runtime/internal/base/errors";

/** Milliseconds since 1970; the end is exclusive. */
export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

const MINUTE_MS = 60_000;
const LONGEST_MS = 24 * 60 * MINUTE_MS;

/** A minute by any time in it, or `BEGIN/END`. @throws RuntimeError RUNTIME_USAGE. */
export function askedSpan(text: string): Span {
  const [begin = Number.NaN, end, ...rest] = text.split("/").map((time) => timeOf(time, text));
  if (end === undefined) {
    const fromMs = Math.floor(begin / MINUTE_MS) * MINUTE_MS;
    return { fromMs, toMs: fromMs + MINUTE_MS };
  }
  const isSpan = rest.length === 0 && end > begin && end - begin <= LONGEST_MS;
  if (isSpan) return { fromMs: begin, toMs: end };
  throw usage(`--time: expected BEGIN/END, a day apart at most, got "${text}"`);
}

/** Parses a time as access logs have it, in UTC; seconds and fractions may be left out. */
function timeOf(time: string, text: string): number {
  const match = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d)(:\d\d)?(\.\d{1,6})?Z?$/.exec(time);
  const [, day, minute, second = ":00", fraction = ""] = match ?? [];
  const ms = match === null ? Number.NaN : Date.parse(`${day}T${minute}${second}${fraction}Z`);
  if (!Number.isNaN(ms)) return ms;
  throw usage(`--time: expected a minute such as 2026-11-23T14:05, or BEGIN/END, got "${text}"`);
}

function usage(message: string): RuntimeError {
  return new RuntimeError("RUNTIME_USAGE", message);
}
