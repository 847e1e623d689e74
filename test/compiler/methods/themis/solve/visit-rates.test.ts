import { describe, expect, test } from "vitest";
import { visitPlanOf } from "../../../../../compiler/graph/visit-plan.ts";
import {
  MAX_OUTCOMES,
  outcomeCount,
  visitRates,
} from "../../../../../compiler/methods/themis/solve/visit-rates.ts";
import { tossVisits, tossWays } from "../../../../../compiler/simulate/graph/visits.ts";
import type { Branch } from "../../../../../runtime/bundle/schema.ts";
import { type TaskGraph, taskGraphOf } from "../../../../../runtime/core/graph/task-graph.ts";
import { Rng } from "../../../../../runtime/core/rng.ts";
import { casesOf } from "../../../../support/cases.ts";
import { randomFanoutBundle } from "../../../../support/fanout-random.ts";
import { type EdgeSketch, inferlineBundle } from "../../../../support/inferline-bundle.ts";

/**
 * By task the shares of the edges that lead to it: from a task by its index, from the requests by
 * "in".
 */
type Edges = readonly Readonly<Record<number | "in", number>>[];

function graphOf(
  edges: readonly Partial<Edges[number]>[],
  branches: Readonly<Record<number | "in", Branch>> | Partial<Record<number | "in", Branch>> = {},
): TaskGraph {
  return taskGraphOf({
    entryBranch: branches.in ?? "independent",
    tasks: edges.map((into, at) => ({
      branch: branches[at] ?? "independent",
      edges: Object.entries(into)
        .map(([from, share = 1]) => {
          return { parent: from === "in" ? null : Number(from), share, feed: null };
        })
        .sort((a, b) => (a.parent ?? -1) - (b.parent ?? -1)),
    })),
  });
}

/** Rows made on the way to a task, in place of a share. */
function graphWithRows(from: readonly Readonly<Record<string, number | EdgeSketch>>[]): TaskGraph {
  return taskGraphOf(
    inferlineBundle({
      tasks: from.map((edges, task) => ({ name: `${task}`, from: edges, latencyMs: { 1: 1 } })),
      levels: [],
    }),
  );
}

describe("queries of each task per request where rows multiply", () => {
  test("are as many as fan-outs make, windows of them, and one of all", () => {
    const rates = visitRates(
      graphWithRows([
        { requests: 1 },
        { 0: { fanout: 4.3, share: 0.5 } },
        { 1: 0.7 },
        { 2: { gather: "all" } },
        { 1: { gather: 2 } },
        { 4: { gather: "all" }, 0: 0.2 },
      ]),
    );
    const some = 1 - 0.7 * 0.3 ** 4 - 0.3 * 0.3 ** 5;
    expect(rates[1]).toBeCloseTo(0.5 * 4.3, 12);
    expect(rates[2]).toBeCloseTo(0.5 * 4.3 * 0.7, 12);
    expect(rates[3]).toBeCloseTo(0.5 * some, 12);
    expect(rates[4]).toBeCloseTo(0.5 * 2, 12);
    expect(rates[5]).toBeCloseTo(1 - 0.5 * 0.8, 12);
  });

  test("are those of drawn requests, on any graph", () => {
    const count = 2000;
    for (let seed = 1; seed <= casesOf(400, 8); seed++) {
      const graph = taskGraphOf(randomFanoutBundle(seed));
      if (outcomeCount(graph) > MAX_OUTCOMES) continue;
      const arrivalMs = new Float64Array(count);
      const { stages } = visitPlanOf(graph, { arrivalMs, ...tossWays(graph, count, seed) });
      for (const [task, rate] of visitRates(graph).entries()) {
        const drawn = (stages[task]?.count ?? 0) / count;
        const room = 0.02 + 0.05 * rate + 4 * Math.sqrt(rate / count);
        expect(Math.abs(rate - drawn), `seed ${seed}, task ${task}`).toBeLessThan(room);
      }
    }
  });
});

describe("queries of each task per request", () => {
  test("multiply along a chain", () => {
    const rates = visitRates(graphOf([{ in: 1 }, { 0: 0.481 }, { 1: 0.5 }]));
    expect(rates[0]).toBe(1);
    expect(rates[1]).toBeCloseTo(0.481, 12);
    expect(rates[2]).toBeCloseTo(0.2405, 12);
  });

  test("are of requests that come by one way or the other where paths join, once each", () => {
    const rates = visitRates(graphOf([{ in: 1 }, { 0: 0.5 }, { 0: 0.6 }, { 1: 1, 2: 1 }]));
    expect(rates[3]).toBeCloseTo(1 - 0.5 * 0.4, 12);
  });

  test("are no more behind two paths from a task that only some requests come to", () => {
    const edges = [{ in: 1 }, { 0: 0.3 }, { 1: 1 }, { 1: 1 }, { 2: 1, 3: 1 }];
    expect(visitRates(graphOf(edges))[4]).toBeCloseTo(0.3, 12);
  });

  test("add up where a request takes one of several ways, and some take none", () => {
    const edges = [{ in: 1 }, { 0: 0.5 }, { 0: 0.3 }, { 1: 1, 2: 1 }];
    const rates = visitRates(graphOf(edges, { 0: "exclusive" }));
    expect(rates[3]).toBeCloseTo(0.8, 12);
    const all = visitRates(
      graphOf([{ in: 0.25 }, { in: 0.75 }, { 0: 1, 1: 1 }], { in: "exclusive" }),
    );
    expect(all[0]).toBeCloseTo(0.25, 12);
    expect(all[2]).toBeCloseTo(1, 12);
  });

  test("are exactly 1 where nothing is left to chance", () => {
    expect(visitRates(graphOf([{ in: 1 }, { 0: 1 }, { 0: 1, 1: 1 }]))).toEqual([1, 1, 1]);
  });
});

test("agree with requests that toss their coins", () => {
  const requests = 40_000;
  let compared = 0;
  for (let seed = 1; seed <= 40; seed++) {
    const graph = randomGraph(seed);
    const takenByEdge = tossVisits(graph, requests, seed);
    const trace = { arrivalMs: new Float64Array(requests), takenByEdge };
    const { stages } = visitPlanOf(graph, trace);
    for (const [task, rate] of visitRates(graph).entries()) {
      const found = (stages[task]?.count ?? 0) / requests;
      const deviation = Math.sqrt((rate * (1 - rate)) / requests);
      // Five standard deviations of some 200 figures.
      expect(Math.abs(found - rate), `seed ${seed}, task ${task}`).toBeLessThanOrEqual(
        5 * deviation,
      );
      if (rate < 1) compared++;
    }
  }
  expect(compared).toBeGreaterThan(100);
});

test("refuses more outcomes than it goes through, which it counts without the sure edges", () => {
  const fan = (count: number) =>
    graphOf([{ in: 1 }, ...Array.from({ length: count }, () => ({ 0: 0.5 }))]);
  expect(outcomeCount(fan(14))).toBe(MAX_OUTCOMES);
  expect(visitRates(fan(14))).toHaveLength(15);
  expect(outcomeCount(fan(15))).toBe(2 * MAX_OUTCOMES);
  expect(() => visitRates(fan(15))).toThrow(RangeError);
  expect(outcomeCount(graphOf([{ in: 1 }, { 0: 1 }, { 0: 0.5, 1: 1 }]))).toBe(2);
});

/** Six tasks with edges by chance, of which some are sure and some exclude each other. */
function randomGraph(seed: number): TaskGraph {
  const rng = new Rng(seed, 3);
  const shareOf = () => (rng.nextFloat() < 0.3 ? 1 : 0.1 + 0.8 * rng.nextFloat());
  const tasks = Array.from({ length: 6 }, (_, at) => {
    const from = Array.from({ length: at }, (__, parent) => parent).filter(
      () => rng.nextFloat() < 0.4,
    );
    const shares: [number | "in", number][] = from.map((parent) => [parent, shareOf()]);
    if (from.length === 0) shares.push(["in", shareOf()]);
    return Object.fromEntries(shares);
  });
  const exclusive = [0, 1].filter(() => rng.nextFloat() < 0.5);
  for (const source of exclusive) share(tasks, source);
  return graphOf(tasks, Object.fromEntries(exclusive.map((source) => [source, "exclusive"])));
}

/** Makes the shares of what leads away from a task add up to no more than 1. */
function share(tasks: Record<string, number>[], source: number): void {
  const away = tasks.filter((into) => into[source] !== undefined);
  for (const into of away) into[source] = (into[source] ?? 0) / Math.max(1, away.length);
}
