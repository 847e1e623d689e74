import { describe, expect, test } from "vitest";
import type { Branch } from "../../../../../runtime/bundle/schema.ts";
import { taskGraphOf } from "../../../../../runtime/core/graph/task-graph.ts";
import { EdgeCoins } from "../../../../../runtime/server/graph/requests/edge-coins.ts";
import { inferlineBundle } from "../../../../support/inferline-bundle.ts";

const ROWS = 4000;
/** Edges of the tasks below from the first one; edge 0 is the entry. */
const AWAY = [1, 2, 3];

/** Coins of a task with an edge for each share. */
function coinsOf(shares: readonly number[], branch: Branch = "independent"): EdgeCoins {
  const children = shares.map((share, index) => ({
    name: `child${index}`,
    from: { first: share },
    latencyMs: { 1: 1 },
  }));
  const first = { name: "first", latencyMs: { 1: 1 }, branch };
  return new EdgeCoins(taskGraphOf(inferlineBundle({ tasks: [first, ...children], levels: [] })));
}

function tossed(coins: EdgeCoins, isExclusive: boolean, counted: readonly (number | null)[]) {
  const edges = AWAY.slice(0, counted.length);
  return Array.from({ length: ROWS }, () => coins.toss(edges, isExclusive, counted));
}

/** Rows that took each edge, of all rows. */
function sharesOf(sent: readonly (readonly number[])[]): number[] {
  return (sent[0] ?? []).map((_, edge) => sent.filter((row) => row[edge] === 1).length / ROWS);
}

/** Whether each share is the expected one to four standard deviations. */
function expectShares(found: readonly number[], expected: readonly number[]): void {
  expect(found).toHaveLength(expected.length);
  for (const [edge, share] of expected.entries()) {
    const deviation = Math.sqrt((share * (1 - share)) / ROWS);
    expect(Math.abs((found[edge] ?? Number.NaN) - share)).toBeLessThanOrEqual(4 * deviation);
  }
}

describe("independent edges", () => {
  const nothing = [null, null, null];

  test("are taken in their shares, each by a coin of its own", () => {
    const sent = tossed(coinsOf([0.3, 0.6, 1]), false, nothing);
    expectShares(sharesOf(sent), [0.3, 0.6, 1]);
    const both = sent.filter(([a, b]) => a === 1 && b === 1).length / ROWS;
    expectShares([both], [0.18]);
  });

  test("go the same way every time, whatever other edges there are", () => {
    const alone = tossed(coinsOf([0.3, 0.6, 0.5]), false, nothing);
    expect(tossed(coinsOf([0.3, 0.6, 0.5]), false, nothing)).toEqual(alone);
    const others = tossed(coinsOf([0.3, 0.1, 1]), false, nothing);
    expect(others.map(([first]) => first)).toEqual(alone.map(([first]) => first));
  });

  test("are as a model says where it says something", () => {
    const sent = tossed(coinsOf([0.3, 0.6, 0.5]), false, [1, null, 0]);
    expectShares(sharesOf(sent), [1, 0.6, 0]);
  });
});

describe("exclusive edges", () => {
  test("share one coin", () => {
    const sent = tossed(coinsOf([0.2, 0.3, 0.1], "exclusive"), true, [null, null, null]);
    expectShares(sharesOf(sent), [0.2, 0.3, 0.1]);
    expect(sent.every((row) => row.filter((count) => count === 1).length <= 1)).toBe(true);
  });

  test("whose shares are thirds leave no row behind", () => {
    const sent = tossed(coinsOf([1 / 3, 1 / 3, 1 / 3], "exclusive"), true, [null, null, null]);
    expect(sent.every((row) => row.filter((count) => count === 1).length === 1)).toBe(true);
  });

  test("are not taken beside one that a model takes", () => {
    const sent = tossed(coinsOf([0.2, 0.3, 0.5], "exclusive"), true, [1, null, null]);
    expectShares(sharesOf(sent), [1, 0, 0]);
  });

  test("divide among them what no model takes", () => {
    const sent = tossed(coinsOf([0.5, 0.3, 0.1], "exclusive"), true, [0, null, null]);
    expectShares(sharesOf(sent), [0, 0.6, 0.2]);
  });

  test("are none if models say so and nothing else is left", () => {
    const sent = tossed(coinsOf([1, 0], "exclusive"), true, [0, null]);
    expectShares(sharesOf(sent), [0, 0]);
  });
});
