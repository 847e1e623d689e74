/** The fewest violations that any schedule of places has, against all choices of a small one. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { drawnStream } from "../../../lab/experiments/accordion/drawn-streams.ts";
import {
  type FluidQueries,
  fewestBehindHigh,
  fewestOfHigh,
  fewestViolations,
  fewestWithHigh,
  fluidQueries,
} from "../../../lab/experiments/accordion/fluid-bound.ts";
import { leastWorkMs } from "../../../lab/experiments/accordion/least-work.ts";
import { ACCORDIONS, simulated } from "../../../lab/experiments/accordion/place-methods.ts";
import { PipelineTable } from "../../../runtime/methods/accordion/core/pipeline-table.ts";
import { table1Bundle } from "../../support/accordion-bundle.ts";

type Asked = readonly [arrivalMs: number, workMs: number, priority?: "low"];

/** Due 100 ms after they come. */
function asked(queries: readonly Asked[]): FluidQueries {
  return {
    arrivalMs: Float64Array.from(queries, ([arrivalMs]) => arrivalMs),
    deadlineMs: Float64Array.from(queries, ([arrivalMs]) => arrivalMs + 100),
    workMs: Float64Array.from(queries, ([, workMs]) => workMs),
    isHigh: Uint8Array.from(queries, ([, , priority]) => (priority === "low" ? 0 : 1)),
  };
}

/** Whether all of some are on time one after the other, which is all that matters here. */
function areOnTime(queries: FluidQueries, chosen: readonly number[]): boolean {
  let freeMs = 0;
  return chosen.every((query) => {
    freeMs = Math.max(freeMs, queries.arrivalMs[query] ?? 0) + (queries.workMs[query] ?? 0);
    return freeMs <= (queries.deadlineMs[query] ?? 0) + 1e-9;
  });
}

/** Counts of violations, of all and of high priority, of every choice that is on time. */
function everyChoice(queries: FluidQueries): { readonly all: number; readonly high: number }[] {
  const count = queries.workMs.length;
  const names = Array.from({ length: count }, (_, query) => query);
  const high = names.filter((query) => queries.isHigh[query] === 1).length;
  return Array.from({ length: 2 ** count }, (_, choice) =>
    names.filter((query) => (choice >> query) % 2 === 1),
  )
    .filter((chosen) => areOnTime(queries, chosen))
    .map((chosen) => ({
      all: (count - chosen.length) / count,
      high: high - chosen.filter((query) => queries.isHigh[query] === 1).length,
    }));
}

const some = fc
  .array(fc.tuple(fc.integer({ min: 0, max: 200 }), fc.integer({ min: 1, max: 120 }), fc.boolean()))
  .filter((queries) => queries.length > 0 && queries.length <= 8)
  .map((queries) =>
    asked(
      queries
        .toSorted(([one], [other]) => one - other)
        .map(([atMs, workMs, isHigh]) => (isHigh ? [atMs, workMs] : [atMs, workMs, "low"])),
    ),
  );

describe("the least work of a query that is on time", () => {
  const RESNET152 = 2;
  const paper = new PipelineTable(table1Bundle({ timing: "paper" }));
  const pipelined = new PipelineTable(table1Bundle({ timing: "pipelined" }));

  test("is that of the cheapest shape, where there is no time for two runs", () => {
    expect(leastWorkMs(paper, RESNET152, 1, 4820)).toBeCloseTo(4820, 6);
    expect(leastWorkMs(paper, RESNET152, 1, 4000)).toBeCloseTo((2 * 4820) / 1.94, 6);
    expect(leastWorkMs(pipelined, RESNET152, 2, 6025)).toBeCloseTo(7 * (4820 + 4820 / 4.76), 6);
    expect(leastWorkMs(pipelined, RESNET152, 1, 4000)).toBe(Number.POSITIVE_INFINITY);
  });

  test("is a mixture where instances may be of two shapes", () => {
    // At a speed of 2.2 in the mean: some instances on eight places, the others on two.
    const share = (1 / 1.94 - 1 / 2.2) / (1 / 1.94 - 1 / 5.66);
    const mixedMs = 100 * 4820 * (share * (8 / 5.66) + (1 - share) * (2 / 1.94));
    expect(leastWorkMs(paper, RESNET152, 100, (100 * 4820) / 2.2)).toBeCloseTo(mixedMs, 5);
  });
});

describe("the bound on violations", () => {
  test("is what can be worked out by hand", () => {
    // Sixty and fifty do not fit into 100 ms: four fifths of the larger one are left out of three.
    const queries = asked([
      [0, 60, "low"],
      [0, 50],
      [300, 200],
    ]);
    queries.workMs[2] = Number.POSITIVE_INFINITY;
    expect(fewestViolations(queries)).toBeCloseTo((1 / 6 + 1) / 3, 12);
    expect(fewestBehindHigh(queries)).toBeCloseTo((1 / 6 + 1) / 3, 12);
    expect(fewestOfHigh(queries)).toBeCloseTo(1 / 2, 12);
  });

  test("has large queries of high priority cost more of low priority", () => {
    const queries = asked([[0, 100], ...Array.from({ length: 10 }, () => [0, 10, "low"] as const)]);
    expect(fewestViolations(queries)).toBeCloseTo(1 / 11, 12);
    expect(fewestBehindHigh(queries)).toBeCloseTo(10 / 11, 12);
    expect(fewestWithHigh(queries, 1)).toBeCloseTo(1 / 11, 12);
    expect(fewestWithHigh(queries, 0)).toBeCloseTo(10 / 11, 12);
    expect(fewestWithHigh(queries, 0.5)).toBeCloseTo(5.5 / 11, 12);
  });

  test("is never above the best of all choices", () => {
    fc.assert(
      fc.property(some, (queries) => {
        const choices = everyChoice(queries);
        const fewest = (from: typeof choices) => Math.min(...from.map(({ all }) => all)) + 1e-9;
        const fewestHigh = Math.min(...choices.map(({ high }) => high));
        const high = queries.isHigh.reduce((sum, one) => sum + one, 0);
        const savingHigh = choices.filter((one) => one.high === fewestHigh);
        expect(fewestViolations(queries)).toBeLessThanOrEqual(fewest(choices));
        expect(fewestOfHigh(queries)).toBeLessThanOrEqual(fewestHigh / Math.max(1, high) + 1e-9);
        const share = fewestHigh / Math.max(1, high);
        expect(fewestWithHigh(queries, share)).toBeLessThanOrEqual(fewest(savingHigh));
      }),
      { numRuns: 300 },
    );
  });

  test.each(["paper", "pipelined"] as const)("is below what a stream has, %s timing", (timing) => {
    const bundle = table1Bundle({ timing, maxBatch: 740 });
    for (const stream of [1, 5]) {
      const options = { stream, slo: "moderate", load: 1, seed: 1, low: 0.2 } as const;
      const drawn = drawnStream(bundle, options);
      const own = simulated(drawn, ACCORDIONS["accordion"] ?? {});
      const queries = fluidQueries(drawn);
      const { high } = own.byPriority;
      expect(fewestViolations(queries)).toBeLessThanOrEqual(own.violationRate);
      expect(fewestOfHigh(queries)).toBeLessThanOrEqual(high.violationRate + 1e-9);
      const beside = fewestWithHigh(queries, high.violationRate);
      expect(beside).toBeLessThanOrEqual(own.violationRate + 1e-9);
    }
  });
});
