/** Tables for terminals with a line below that says what columns mean. */
import { alignColumns, wrapped } from "./text.ts";

const LOST = "late or dropped";
const PENALISED = "lost ones count 0";
const PLANNED_CORES = "cores of that plan";

/**
 * Meanings of headings, of columns and of rows, that are not plain English with a unit. Headings
 * with the same meaning are listed together.
 */
const MEANINGS: Readonly<Record<string, string>> = {
  "accuracy/satisfied": "of answers in time",
  "expected accuracy/satisfied": "of answers in time",
  "accuracy/query": PENALISED,
  accuracyPerQuery: PENALISED,
  "accuracy by labels": "share that labels confirm",
  "by labels": "share that labels confirm",
  "upper bound": "of any policy",
  "all served": "same, none lost",
  violations: LOST,
  "violations ≤": LOST,
  "expected violations ≤": LOST,
  "late or lost": "share of requests answered after the deadline, refused or dropped",
  pace: "times of batches over the profile's",
  headroom: "tolerated slowdown",
  dominated: "another variant is at least as accurate and as fast",
  "fan-out": "queries sent on for each",
  "qps of one": "most queries/s of a replica",
  "plan step": "fewest servers, or most accurate",
  "loads up": "models loaded, from below",
  "loads down": "from above",
  proof: "or the gap left",
  greedy: "cost/h before the search",
  margin: "SLO kept free",
  "held-out met": "traces in time",
  horizontal: PLANNED_CORES,
  vertical: PLANNED_CORES,
  joint: PLANNED_CORES,
  followed: PLANNED_CORES,
  held: "mean, with changes",
  quantile: "of waiting, planned for",
  utilisation: "load over throughput",
  error: "fitted against measured",
  "places busy": "mean share",
  "active queries": "at a time",
  "reshapes per query": "changes of its places",
  "capacity qps": "bound of any schedule",
  "step ms": "time between two answers",
  "speed-up": "over one place",
  "answers now": "right ones in this batch beyond those of the chosen one",
  later: "in later batches",
  "CPU p50 ms": "processor time of all threads",
  "p50 ms/query": "p50 over the batch",
  verdict: "! marks broken or worse figures, + better ones",
};

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
  const table = alignColumns(rows);
  return meanings.length === 0 ? table : `${table}\n${wrapped(meanings.join("; "))}`;
}
