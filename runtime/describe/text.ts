/** Plain text for terminals: aligned columns and numbers of bounded length. */

import type { ExpectedLatency } from "../bundle/schema.ts";
import { MEANINGS } from "./columns.ts";

/** A unit may follow the first digit, but no list or sentence. */
const NUMBER = /^[-+]?\d[^:;,]*$|^-$/;

/**
 * Aligns rows under a heading row, columns two spaces apart. A column with a heading is aligned
 * right if all its cells are numbers.
 */
export function alignColumns(rows: readonly (readonly string[])[]): string {
  const columnCount = rows.reduce((count, row) => Math.max(count, row.length), 0);
  const columns = Array.from({ length: columnCount }, (_, column) => {
    const cells = rows.map((row) => row[column] ?? "");
    const body = cells.slice(1).filter((cell) => cell !== "");
    const isNumeric = cells[0] !== "" && body.length > 0 && body.every((cell) => NUMBER.test(cell));
    return { isNumeric, width: cells.reduce((width, cell) => Math.max(width, cell.length), 0) };
  });
  const lines = rows.map((row) =>
    columns
      .map(({ isNumeric, width }, column) => {
        const cell = row[column] ?? "";
        return isNumeric ? cell.padStart(width) : cell.padEnd(width);
      })
      .join("  ")
      .trimEnd(),
  );
  return lines.join("\n");
}

/** Explains `31.2 (24..55)`. */
export const INTERVAL_NOTE =
  "(a..b): 99 % interval of a percentile from fewer than 1,000 batches; open without a bound";

/**
 * Aligns rows under a heading row as `alignColumns`, and explains the headings below. Rows have
 * headings where the first column has none.
 */
export function explainedTable(rows: readonly (readonly string[])[]): string {
  const [heads = [], ...body] = rows;
  const labels = heads[0] === "" ? body.map(([label = ""]) => label) : [];
  const headingsByMeaning = new Map<string, string[]>();
  for (const heading of new Set([...heads, ...labels])) {
    const meaning = MEANINGS[heading];
    if (meaning === undefined) continue;
    const known = headingsByMeaning.get(meaning);
    if (known === undefined) headingsByMeaning.set(meaning, [heading]);
    else known.push(heading);
  }
  const meanings = [...headingsByMeaning].map(([meaning, own]) => `${own.join(", ")}: ${meaning}`);
  const hasInterval = (cell: string) => cell.includes(" (") && cell.includes("..");
  if (body.some((row) => row.some(hasInterval))) meanings.push(INTERVAL_NOTE);
  const table = alignColumns(rows);
  return meanings.length === 0 ? table : `${table}\n${wrapped(meanings.join("; "))}`;
}

/** Formats a ratio as a percentage, a dash for null; tiny ones keep two digits. */
export function percent(ratio: number | null): string {
  if (ratio === null) return "-";
  const value = 100 * ratio;
  return `${value !== 0 && Math.abs(value) < 0.001 ? value.toExponential(1) : value.toFixed(3)}%`;
}

/**
 * Formats the violations that a level promises: for a sample, an upper confidence bound and the
 * observed count.
 */
export function promisedViolations({
  violationRate,
  sample,
}: {
  readonly violationRate: number;
  readonly sample?: { readonly queries: number; readonly violations: number };
}): string {
  if (sample === undefined) return percent(violationRate);
  const seen = sample.violations === 0 ? "none" : sample.violations.toLocaleString("en-US");
  return `≤ ${twoDigits(violationRate)} (${seen} of ${sample.queries.toLocaleString("en-US")})`;
}

/** Formats counted violations; without violations, the upper bound by the rule of three. */
export function countedViolations(violations: number, queries: number): string {
  if (queries === 0) return "-";
  if (violations > 0) return percent(violations / queries);
  return promisedViolations({
    violationRate: Math.min(1, 3 / queries),
    sample: { queries, violations },
  });
}

function twoDigits(ratio: number): string {
  const value = 100 * ratio;
  return value < 0.1 ? `${Number(value.toPrecision(2))}%` : percent(ratio);
}

/** Formats the latencies that a level promises; the maximum is missing in older bundles. */
export function latenciesText({
  latencyMsP50,
  latencyMsP99,
  latencyMs,
}: {
  readonly latencyMsP50: number;
  readonly latencyMsP99: number;
  readonly latencyMs?: ExpectedLatency;
}): string {
  const most = latencyMs === undefined ? "" : `, at most ${short(latencyMs.max)} ms`;
  return `p50 ${short(latencyMsP50)} ms, p99 ${short(latencyMsP99)} ms${most}`;
}

/** Formats at most six significant digits. */
export function short(value: number): string {
  return String(Number(value.toPrecision(6)));
}

/** Formats at most four significant digits, for figures that are compared and not copied. */
export function rounded(value: number): string {
  return String(Number(value.toPrecision(4)));
}

/** Returns `1 query`, `2 queries`. @param nouns plural, if it is not formed with an s. */
export function counted(count: number, noun: string, nouns = `${noun}s`): string {
  return `${count} ${count === 1 ? noun : nouns}`;
}

/** Wraps a paragraph to lines that fit a terminal. */
export function wrapped(paragraph: string, width = 100): string {
  const lines: string[] = [];
  let line = "";
  for (const word of paragraph.split(" ")) {
    if (line !== "" && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line === "" ? word : `${line} ${word}`;
  }
  return [...lines, line].join("\n");
}

/** Identifies a level by its load, and by the pace that it was solved for. */
export function levelText({ loadQps, pace }: { loadQps: number; pace: number }): string {
  return `${short(loadQps)} qps${pace === 1 ? "" : ` at pace ${short(pace)}`}`;
}
