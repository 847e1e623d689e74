/**
 * What no schedule does better, if it knows all queries before they come.
 *
 * Queries are work that may be spread over all places at any moment between their arrival and their
 * deadline, and each takes the least time of places with which it can be on time at all. So
 * everything is left out that makes scheduling hard: that a query has few places at a time and the
 * same ones for a while, and that places have to be free at once. What is served of one class while
 * those before it go first is a polymatroid, in which the greedy order is the best: the fractions
 * that are served of all queries are worth the most if the most value for work goes first. Source:
 * Edmonds, Submodular functions, matroids, and certain polyhedra, 1970.
 */
import type { AccordionQueries } from "stratagem/internal/methods/accordion/simulate/queries";
import { PipelineTable } from "stratagem-runtime/internal/methods/accordion/core/pipeline-table";
import { sum } from "../harness/numbers.ts";
import type { DrawnStream } from "./drawn-streams.ts";
import { leastWorkMs } from "./least-work.ts";

/** Queries in the order of their arrivals and of their deadlines alike. */
export interface FluidQueries extends Pick<AccordionQueries, "arrivalMs" | "deadlineMs"> {
  /** Time of all places together; Infinity for a query that nothing has on time. */
  readonly workMs: Float64Array;
  readonly isHigh: Uint8Array;
}

/** Prices of a query of high priority in queries of low priority, of which one gives the bound. */
const PRICES = [1, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 50, 100];

export function fluidQueries({ bundle, queries }: DrawnStream): FluidQueries {
  const table = new PipelineTable(bundle);
  const workMs = Float64Array.from(queries.arrivalMs, (arrivalMs, query) => {
    const budgetMs = (queries.deadlineMs[query] ?? Number.NaN) - arrivalMs + table.toleranceMs;
    const [model = 0, batch = 1] = [queries.model[query], queries.batch[query]];
    return leastWorkMs(table, model, batch, budgetMs) / bundle.policy.executionPlaces;
  });
  return { ...queries, workMs };
}

/** Fewest violations as a share of all, whoever is served. */
export function fewestViolations(queries: FluidQueries): number {
  return shareOf(queries, classesBy(queries, everyone(queries)), count(queries));
}

/** Fewest of low and of high priority together, where those of high priority go first. */
export function fewestBehindHigh(queries: FluidQueries): number {
  const [high, low] = byPriority(queries);
  const classes = [...classesBy(queries, high), ...classesBy(queries, low)];
  return shareOf(queries, classes, count(queries));
}

/** Fewest of those of high priority as a share of these, if there is nobody else. */
export function fewestOfHigh(queries: FluidQueries): number {
  const [high] = byPriority(queries);
  return high.length === 0 ? 0 : shareOf(queries, classesBy(queries, high), high.length);
}

/**
 * Fewest of all, where at most a share of those of high priority violate. For every price p of one
 * of high priority, p H + L is at most what the greedy order is worth, and H at least what is asked
 * for.
 */
export function fewestWithHigh(queries: FluidQueries, mostOfHigh: number): number {
  const high = byPriority(queries)[0].length;
  const bounds = PRICES.map((price) => {
    const worth = (query: number) => (queries.isHigh[query] === 1 ? price : 1);
    const most = mostServed(queries, classesBy(queries, everyone(queries), worth), worth);
    return count(queries) - most + (price - 1) * (1 - mostOfHigh) * high;
  });
  return Math.max(0, ...bounds) / count(queries);
}

/** Of so many queries, those that are not served; sums are rounded. */
function shareOf(
  queries: FluidQueries,
  classes: readonly (readonly number[])[],
  total: number,
): number {
  return Math.max(0, 1 - mostServed(queries, classes) / total);
}

/** What the served shares of all classes are worth, each beside those before it. */
function mostServed(
  queries: FluidQueries,
  classes: readonly (readonly number[])[],
  worth: (query: number) => number = () => 1,
): number {
  const isIn = new Uint8Array(count(queries));
  let beforeMs = 0;
  const values = classes.map((members) => {
    for (const query of members) isIn[query] = 1;
    const servedMs = mostWorkMs(queries, isIn);
    const moreMs = servedMs - beforeMs;
    beforeMs = servedMs;
    const [first = 0] = members;
    return (moreMs * worth(first)) / (queries.workMs[first] ?? Number.NaN);
  });
  return sum(values);
}

/** The most work of some queries that is done in time: that of the earliest deadline goes first. */
function mostWorkMs({ arrivalMs, deadlineMs, workMs }: FluidQueries, isIn: Uint8Array): number {
  let freeMs = Number.NEGATIVE_INFINITY;
  let doneMs = 0;
  for (let query = 0; query < isIn.length; query++) {
    if (isIn[query] === 0) continue;
    const startMs = Math.max(freeMs, arrivalMs[query] ?? Number.NaN);
    const endMs = Math.min(startMs + (workMs[query] ?? 0), deadlineMs[query] ?? Number.NaN);
    if (endMs <= startMs) continue;
    doneMs += endMs - startMs;
    freeMs = endMs;
  }
  return doneMs;
}

/** Queries that can be on time by what they are worth for their work, the most first. */
function classesBy(
  { workMs }: FluidQueries,
  members: readonly number[],
  worth: (query: number) => number = () => 1,
): number[][] {
  const classes = new Map<number, number[]>();
  for (const query of members) {
    const price = (workMs[query] ?? Number.NaN) / worth(query);
    if (!Number.isFinite(price)) continue;
    const alike = classes.get(price);
    if (alike === undefined) classes.set(price, [query]);
    else alike.push(query);
  }
  return [...classes].sort(([one], [other]) => one - other).map(([, queries]) => queries);
}

function everyone(queries: FluidQueries): number[] {
  return Array.from(queries.workMs, (_, query) => query);
}

function byPriority(queries: FluidQueries): [high: number[], low: number[]] {
  const all = everyone(queries);
  return [
    all.filter((query) => queries.isHigh[query] === 1),
    all.filter((query) => queries.isHigh[query] !== 1),
  ];
}

function count({ workMs }: FluidQueries): number {
  return workMs.length;
}
