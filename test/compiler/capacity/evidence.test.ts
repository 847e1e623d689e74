import { expect, test } from "vitest";
import { designEffect, fewestQueries, verdictOf } from "../../../compiler/capacity/evidence.ts";
import { binomialAtMost } from "../../../compiler/numeric/binomial.ts";
import type { Window } from "../../../compiler/processes/level-request.ts";

/** One window: no clusters are seen, so requests count as independent. */
function counted(queries: number, late: number, serverLate = late): Window[] {
  return [{ queries, late, serverLate, slow: late }];
}

/** Fewest requests with which a load holds, with some of them late. */
function fewestFor(late: number, limit: number, risk: number): number {
  let queries = late + 1;
  while (verdictOf(counted(queries, late), limit, risk) !== "holds") queries++;
  return queries;
}

test("asks for as many requests as MLPerf's early stopping", () => {
  // loadgen/early_stopping.cc and the MLPerf inference rules: 459 without a late one, 662 and 64
  // with one, at the 99th and the 90th percentile and 99 % confidence.
  expect(fewestFor(0, 0.01, 0.01)).toBe(459);
  expect(fewestQueries(0.01, 0.01)).toBe(459);
  expect(fewestFor(1, 0.01, 0.01)).toBe(662);
  expect(fewestFor(1, 0.1, 0.01)).toBe(64);
});

test("a load fails with as many late ones as a rate at the limit hardly gives", () => {
  const fails = (late: number) => verdictOf(counted(100, late), 0.01, 0.01) === "fails";
  const surprise = (late: number) => 1 - binomialAtMost(late - 1, 100, 0.01);
  for (let late = 0; late <= 10; late++) {
    expect(fails(late), `${late} late`).toBe(late > 0 && surprise(late) <= 0.01);
  }
  expect(verdictOf(counted(100, 2), 0.01, 0.01)).toBeNull();
});

test("delays of the load generator neither hold nor fail", () => {
  expect(verdictOf(counted(1000, 50, 50), 0.01, 0.01)).toBe("fails");
  expect(verdictOf(counted(1000, 50, 0), 0.01, 0.01)).toBeNull();
});

/** Late requests of each of 40 windows of 100. */
function windows(lateOf: (window: number) => number): Window[] {
  return Array.from({ length: 40 }, (_, window) => {
    const late = lateOf(window);
    return { queries: 100, late, serverLate: late, slow: late };
  });
}

test("late requests that come together count as fewer", () => {
  const clustered = windows((window) => (window === 7 ? 20 : 0));
  const spread = windows((window) => (window % 2 === 0 ? 1 : 0));
  expect(designEffect(spread, "late")).toBe(1);
  expect(designEffect(clustered, "late")).toBeGreaterThan(15);
  expect(verdictOf(spread, 0.01, 0.01)).toBe("holds");
  expect(verdictOf(clustered, 0.01, 0.01)).toBeNull();
});
