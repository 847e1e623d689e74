/** Reads recorded arrivals. */
import { gunzipSync } from "node:zlib";
import { MAX_QPS } from "stratagem-runtime/internal/bundle/limits";
import { Rng } from "stratagem-runtime/internal/core/rng";
import { InputError } from "./document/input-error.ts";
import { show } from "./document/mistakes.ts";
import { decodeUtf8, MEBIBYTE, readBytes } from "./document/source.ts";

/**
 * Recorded arrivals, or a rate that changes over time; times are in ms from the start of the trace.
 */
export type Trace =
  /** `arrivalMs` is non-decreasing from 0. */
  | {
      readonly kind: "arrivals";
      readonly arrivalMs: Float64Array;
      /** Unit that the file's times were cut to; left out if they are used as they are. */
      readonly spreadMs?: number;
    }
  /**
   * The rate is `qps[i]` from `startMs[i]` to the next start, or to `endMs`; `startMs` is strictly
   * ascending from 0.
   */
  | {
      readonly kind: "rates";
      readonly startMs: Float64Array;
      readonly qps: Float64Array;
      readonly endMs: number;
    };

/** Limit of a trace, also after decompression. */
export const MAX_TRACE_BYTES = 64 * MEBIBYTE;
const MAX_LINE_LENGTH = 10_000;
/** Three weeks of seconds. */
export const MAX_TRACE_ROWS = 2_000_000;
/** Leap year, from the first row to the end. */
const MAX_TRACE_MS = 366 * 86_400_000;
/** Units that logs cut times to. */
const COARSE_UNITS_MS = [60_000, 1000, 100, 10];
const SPREAD_STREAM = 0x7370_7264;
/** Seed for traces of specs, which compile to the same bytes each time. */
const SPEC_SEED = 1;
/** Share of its rise by which a column of times may fall: logs are nearly in order. */
const UNORDERED_SHARE = 0.01;
const TIME_HEADER = "a header arrivalMs or arrivalSeconds for times of arrivals";

/**
 * Reads a trace, plain or gzipped, in one of five forms; `#` starts a comment line.
 *
 * - A header whose first column is `TIMESTAMP`: one arrival per row, a date and time such as
 *   `2023-11-16 18:17:03.97996`.
 * - A header whose first column is `arrivalMs` or `arrivalSeconds`: one arrival per row.
 * - Two columns of numbers: second, queries/s from then to the next row. The last row lasts as long
 *   as the one before it.
 * - One column of numbers: queries in each second. Numbers that only rise may also be times, so
 *   they need a header.
 * - A header `qps` and one column of numbers: queries in each second.
 *
 * Columns are separated by commas; those of numbers also by white space. Times are shifted so that
 * the first is 0. Times cut to a unit of 10 ms or more, so that some are equal, are spread over it.
 * @param seed for spreading.
 * @throws InputError
 */
export function readTrace(path: string, seed: number = SPEC_SEED): Trace {
  const rows = rowsOf(readText(path), path);
  const first = rows.next().value;
  if (first === undefined) throw refusal(path, "a trace", "no rows");
  const header = first.text.split(",")[0]?.trim() ?? "";
  const arrivalFormat = ARRIVAL_FORMATS.get(header);
  if (arrivalFormat !== undefined) return spread(readArrivals(rows, path, arrivalFormat), seed);
  if (first.text === "qps") return readCounts(rows, path, true);
  const columnCount = columnsOf(first.text).length;
  if (columnCount === 1) return readCounts(prepend(first, rows), path, false);
  if (columnCount === 2) return readRates(prepend(first, rows), path);
  const expected = `a header ${HEADERS}, or one or two columns of numbers`;
  throw refusal(`${path}:${first.line}`, expected, show(first.text));
}

/** Says how the times of traces were spread; empty for those used as they are. */
export function spreadTexts(...named: readonly { file: string; trace: Trace }[]): string[] {
  return named.flatMap(({ file, trace }) => {
    const { spreadMs } = spreadPart(trace);
    if (spreadMs === undefined) return [];
    const unit = spreadMs < 1000 ? `${spreadMs} ms` : `${spreadMs / 1000} s`;
    return [
      `${file}: all times are multiples of ${unit} and some are equal, so each arrival is placed ` +
        `at random within its ${unit}`,
    ];
  });
}

export function spreadPart(trace: Trace): { readonly spreadMs?: number } {
  if (trace.kind === "rates" || trace.spreadMs === undefined) return {};
  return { spreadMs: trace.spreadMs };
}

interface Row {
  /** Counted from 1. */
  readonly line: number;
  readonly text: string;
}

function readText(path: string): string {
  const read = readBytes(path, MAX_TRACE_BYTES);
  if (!read.ok) {
    const message = `${path}: expected a readable file, but ${read.reason}`;
    throw new InputError("INPUT_UNREADABLE", message);
  }
  const isGzip = read.bytes[0] === 0x1f && read.bytes[1] === 0x8b;
  return decodeUtf8(isGzip ? decompress(read.bytes, path) : read.bytes, path);
}

function decompress(bytes: Buffer, path: string): Buffer {
  try {
    return gunzipSync(bytes, { maxOutputLength: MAX_TRACE_BYTES });
  } catch (error) {
    const limit = `more than ${MAX_TRACE_BYTES / MEBIBYTE} MiB`;
    throw refusal(path, "a gzipped trace", error instanceof RangeError ? limit : "damaged data");
  }
}

/** Yields non-empty lines, trimmed; one at a time, since a trace may have millions. */
function* rowsOf(text: string, path: string): Generator<Row, undefined> {
  let start = 0;
  let rowCount = 0;
  for (let line = 1; start < text.length; line++) {
    if (line > 2 * MAX_TRACE_ROWS || rowCount > MAX_TRACE_ROWS) {
      throw refusal(`${path}:${line}`, `at most ${MAX_TRACE_ROWS} rows`, "more");
    }
    const newline = text.indexOf("\n", start);
    const end = newline === -1 ? text.length : newline;
    if (end - start > MAX_LINE_LENGTH) {
      const expected = `a line of at most ${MAX_LINE_LENGTH} characters`;
      throw refusal(`${path}:${line}`, expected, `${end - start}`);
    }
    const content = text.slice(start, end).trim();
    if (content !== "" && !content.startsWith("#")) {
      rowCount++;
      yield { line, text: content };
    }
    start = end + 1;
  }
}

function* prepend(first: Row, rest: Iterable<Row>): Generator<Row> {
  yield first;
  yield* rest;
}

/**
 * Time in two parts, since a double cannot hold milliseconds since 1970 with all fractional digits.
 */
interface Instant {
  readonly wholeMs: number;
  readonly fractionMs: number;
}

interface ArrivalFormat {
  readonly expected: string;
  readonly parse: (cell: string) => Instant | null;
}

const ARRIVAL_FORMATS: ReadonlyMap<string, ArrivalFormat> = new Map([
  ["TIMESTAMP", { expected: "a date and time such as 2023-11-16 18:17:03.98", parse: parseDate }],
  ["arrivalMs", { expected: "a time in ms such as 1.5", parse: parseMs }],
  ["arrivalSeconds", { expected: "a time in seconds such as 1.5", parse: parseSeconds }],
]);
const HEADERS = [...ARRIVAL_FORMATS.keys(), "or qps"].join(", ");

function parseDate(cell: string): Instant | null {
  const match = /^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(\.\d{1,12})?(Z|[+-]\d\d:\d\d)?$/.exec(cell);
  if (match === null) return null;
  const [, date, time, fraction = ".0", zone = "Z"] = match;
  const wholeMs = Date.parse(`${date}T${time}${zone}`);
  return Number.isNaN(wholeMs) ? null : { wholeMs, fractionMs: Number(`${fraction}e3`) };
}

function parseMs(cell: string): Instant | null {
  const ms = parseNumber(cell);
  return ms === null ? null : { wholeMs: ms, fractionMs: 0 };
}

/** Keeps microseconds, which the product of a decimal fraction and 1000 may miss. */
function parseSeconds(cell: string): Instant | null {
  const seconds = parseNumber(cell);
  return seconds === null ? null : { wholeMs: Math.round(seconds * 1e6) / 1000, fractionMs: 0 };
}

function readArrivals(
  rows: Iterable<Row>,
  path: string,
  format: ArrivalFormat,
): Extract<Trace, { kind: "arrivals" }> {
  const arrivals: number[] = [];
  let origin: Instant | null = null;
  let previousMs = 0;
  for (const { line, text } of rows) {
    const cell = text.split(",")[0]?.trim() ?? "";
    const instant = format.parse(cell);
    if (instant === null) throw refusal(`${path}:${line}`, format.expected, show(cell));
    origin ??= instant;
    const arrivalMs = instant.wholeMs - origin.wholeMs + (instant.fractionMs - origin.fractionMs);
    if (arrivalMs < previousMs) {
      throw refusal(`${path}:${line}`, "an arrival that is not before the one above", show(cell));
    }
    if (arrivalMs > MAX_TRACE_MS) throw tooLong(`${path}:${line}`, show(cell));
    arrivals.push(arrivalMs);
    previousMs = arrivalMs;
  }
  if (arrivals.length === 0) throw refusal(path, "at least one arrival", "only a header");
  return { kind: "arrivals", arrivalMs: Float64Array.from(arrivals) };
}

/**
 * Spreads equal times of a coarse clock uniformly over its unit: left together they would be bursts
 * that no client sent.
 */
function spread(trace: Extract<Trace, { kind: "arrivals" }>, seed: number): Trace {
  const { arrivalMs } = trace;
  const spreadMs = coarseUnitMs(arrivalMs);
  if (spreadMs === null) return trace;
  const rng = new Rng(seed, SPREAD_STREAM);
  const spreadOut = new Float64Array(arrivalMs.length);
  for (let from = 0, to = 0; from < arrivalMs.length; from = to) {
    const startMs = arrivalMs[from] ?? 0;
    for (; arrivalMs[to] === startMs; to++) spreadOut[to] = startMs + rng.nextFloat() * spreadMs;
    spreadOut.subarray(from, to).sort();
  }
  const [originMs = 0] = spreadOut;
  return { ...trace, arrivalMs: spreadOut.map((ms) => ms - originMs), spreadMs };
}

/** Returns the longest unit that all times are multiples of, if some are equal; else null. */
function coarseUnitMs(arrivalMs: Float64Array): number | null {
  if (!arrivalMs.some((ms, index) => ms === arrivalMs[index + 1])) return null;
  const endMs = arrivalMs.at(-1) ?? 0;
  for (const unitMs of COARSE_UNITS_MS) {
    // Times within one minute do not show that minutes are the unit.
    if (unitMs > Math.max(endMs, 1000)) continue;
    if (arrivalMs.every((ms) => ms % unitMs === 0)) return unitMs;
  }
  return null;
}

function readCounts(rows: Iterable<Row>, path: string, isNamed: boolean): Trace {
  const counts: number[] = [];
  let [peak, mostFall] = [0, 0];
  for (const row of rows) {
    const [count = 0] = numbersOf(row, 1, "a number of queries of at least 0", path);
    counts.push(count);
    peak = Math.max(peak, count);
    mostFall = Math.max(mostFall, peak - count);
  }
  const [first] = counts;
  if (first === undefined) throw refusal(path, "at least one number of queries", "only a header");
  if (!isNamed && peak > first && mostFall <= UNORDERED_SHARE * (peak - first)) {
    const expected = `${TIME_HEADER}, or qps for queries in each second`;
    throw refusal(path, expected, `${counts.length} numbers that rise from ${first} to ${peak}`);
  }
  const startMs = Float64Array.from(counts, (_, second) => second * 1000);
  return { kind: "rates", startMs, qps: Float64Array.from(counts), endMs: counts.length * 1000 };
}

function readRates(rows: Iterable<Row>, path: string): Trace {
  const startMs: number[] = [];
  const qps: number[] = [];
  let originMs = 0;
  for (const row of rows) {
    const [second = 0, rate = 0] = numbersOf(row, 2, "a second and a rate, both at least 0", path);
    if (startMs.length === 0) originMs = second * 1000;
    const start = second * 1000 - originMs;
    if (start <= (startMs.at(-1) ?? -1)) {
      throw refusal(`${path}:${row.line}`, "a second after the one above", String(second));
    }
    if (start > MAX_TRACE_MS) throw tooLong(`${path}:${row.line}`, String(second));
    startMs.push(start);
    qps.push(rate);
  }
  const [lastMs, beforeMs] = [startMs.at(-1), startMs.at(-2)];
  if (lastMs === undefined || beforeMs === undefined) {
    throw refusal(path, "at least two rows of second and rate", "one");
  }
  const endMs = lastMs + (lastMs - beforeMs);
  return { kind: "rates", startMs: Float64Array.from(startMs), qps: Float64Array.from(qps), endMs };
}

function numbersOf(row: Row, columnCount: number, expected: string, path: string): number[] {
  const numbers = columnsOf(row.text).map((cell) => parseNumber(cell) ?? Number.NaN);
  if (numbers.length !== columnCount || !numbers.every((number) => number >= 0)) {
    throw refusal(`${path}:${row.line}`, expected, show(row.text));
  }
  if ((numbers.at(-1) ?? 0) > MAX_QPS) {
    const orTimes = columnCount === 1 ? `, or ${TIME_HEADER}` : "";
    const most = `at most ${MAX_QPS} queries in a second${orTimes}`;
    throw refusal(`${path}:${row.line}`, most, show(row.text));
  }
  return numbers;
}

function columnsOf(text: string): string[] {
  return text.split(",").flatMap((cell) => cell.trim().split(/\s+/));
}

function parseNumber(cell: string): number | null {
  const value = cell === "" ? Number.NaN : Number(cell);
  return Number.isFinite(value) ? value : null;
}

function tooLong(where: string, found: string): InputError {
  const days = MAX_TRACE_MS / 86_400_000;
  return refusal(where, `a time at most ${days} days after that of the first row`, found);
}

function refusal(where: string, expected: string, found: string): InputError {
  return new InputError("INPUT_SYNTAX", `${where}: expected ${expected}, got ${found}`);
}
