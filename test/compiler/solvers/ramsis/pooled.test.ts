import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { actionValuesOf } from "../../../../compiler/action-values.ts";
import { simulate } from "../../../../compiler/simulate/simulate.ts";
import { pooledProblem } from "../../../../compiler/solvers/ramsis/pooled/pooled-problem.ts";
import {
  simulatePooled,
  UNDECIDED,
} from "../../../../compiler/solvers/ramsis/pooled/pooled-simulation.ts";
import { decide, type PriceRule } from "../../../../compiler/solvers/ramsis/pooled/price-rule.ts";
import { decodeBundle } from "../../../../runtime/bundle/codec.ts";
import { GIVE_UP, NO_ACTION, type RamsisBundle } from "../../../../runtime/bundle/schema.ts";
import { ramsisBundle } from "../../../support/ramsis-bundle.ts";
import { tinyBundle } from "../../../support/tiny-bundle.ts";

const ROWS = 5;
const COLUMNS = 11;

/** A pooled bundle of two variants; cells are taken as actions that fit their row, or as waiting where that is allowed. */
function pooledBundle(workers: number, cells: readonly number[], drop = false): RamsisBundle {
  const bundle = tinyBundle({ workers, maxQueue: ROWS - 1, slackSteps: COLUMNS - 1 });
  const data = Uint16Array.from({ length: ROWS * COLUMNS }, (_, cell) => {
    const queued = 1 + Math.floor(cell / COLUMNS);
    const value = cells[cell % cells.length] ?? 0;
    if (value % 3 === 0 && cell % COLUMNS > 0) return NO_ACTION;
    if (value % 5 === 0) return GIVE_UP;
    return (value % 2) * ROWS + (value % queued);
  });
  const levels = bundle.levels.map((level) => ({
    ...level,
    actionByState: { dtype: "uint16", shape: [ROWS, COLUMNS], data } as const,
  }));
  return { ...bundle, policy: { ...bundle.policy, balancer: "pooled", drop }, levels };
}

function serviceMsOf({ tasks }: RamsisBundle) {
  return (variant: number, batch: number) =>
    tasks[0]?.serviceTimes.decisionMs.data[variant * ROWS + batch - 1] ?? Number.NaN;
}

const cells = fc.array(fc.nat({ max: 1000 }), { minLength: 7, maxLength: ROWS * COLUMNS });
const workers = fc.integer({ min: 1, max: 4 });
const gapsMs = fc.array(fc.double({ min: 0, max: 60, noNaN: true }), {
  minLength: 1,
  maxLength: 80,
});

describe("the solver's simulation", () => {
  test("is the dispatcher's, query for query, whatever the table", () => {
    fc.assert(
      fc.property(workers, cells, gapsMs, fc.boolean(), (workerCount, table, gaps, drop) => {
        const bundle = pooledBundle(workerCount, table, drop);
        let nowMs = 0;
        const arrivalMs = Float64Array.from(gaps, (gap) => {
          nowMs += gap;
          return nowMs;
        });
        const [level] = bundle.levels;
        const own = simulatePooled(
          pooledProblem(bundle, 1000),
          { arrivalMs, nextServiceMs: serviceMsOf(bundle) },
          Uint16Array.from(level?.actionByState.data ?? []),
          () => expect.fail("every cell is decided"),
        );
        const core = simulate(bundle, {
          arrivals: { kind: "trace", trace: { kind: "arrivals", arrivalMs } },
          durationMs: nowMs + 1,
          seed: 1,
          serviceTimes: "p95",
          baseline: null,
        });
        expect(core.queries).toBe(own.queries);
        expect(core.queries - core.satisfied).toBe(own.violations);
        expect((core.accuracyPerQuery ?? 0) * core.queries).toBeCloseTo(own.accuracySum, 9);
      }),
    );
  });

  test("asks for the cells it meets, and only once", () => {
    const bundle = pooledBundle(2, [1]);
    const problem = pooledProblem(bundle, 1000);
    const asked: string[] = [];
    const table = new Uint16Array(ROWS * COLUMNS).fill(UNDECIDED);
    const arrivalMs = Float64Array.from({ length: 50 }, (_, query) => 7 * query);
    const nextServiceMs = serviceMsOf(bundle);
    simulatePooled(problem, { arrivalMs, nextServiceMs }, table, (queued, slackMs) => {
      asked.push(`${queued} ${slackMs}`);
      return 0;
    });
    expect(asked.length).toBeGreaterThan(1);
    expect(new Set(asked).size).toBe(asked.length);
    expect(table.filter((cell) => cell !== UNDECIDED).length).toBe(asked.length);
  });
});

describe("the price rule", () => {
  const problem = pooledProblem(pooledBundle(3, [1]), 200);
  const rule: PriceRule = { level: 0, growth: 0, pivot: 0, waitMargin: 0, reserveMs: 0 };

  test("takes the batch worth most at the price, of those that can be formed now and end in time; gives up what is worth nothing", () => {
    const state = fc.record({
      queued: fc.integer({ min: 1, max: ROWS }),
      slackMs: fc.double({ min: 0, max: 100, noNaN: true }),
      price: fc.double({ min: 1e-5, max: 0.1, noNaN: true }),
    });
    fc.assert(
      fc.property(state, ({ queued, slackMs, price }) => {
        const chosen = decide(problem, { ...rule, waitMargin: 10 }, price, queued, slackMs);
        const gainOf = (index: number): number => {
          const { accuracy, serviceMs, batch } = problem.actions[index] ?? expect.fail("no action");
          return accuracy - (price * serviceMs) / batch;
        };
        const formed = problem.actions.filter(
          ({ batch, serviceMs }) => batch <= queued && serviceMs <= slackMs,
        );
        if (chosen !== GIVE_UP) {
          expect(formed.map(({ index }) => index)).toContain(chosen);
          expect(gainOf(chosen)).toBe(Math.max(...formed.map(({ index }) => gainOf(index))));
        } else if (formed.length > 0) {
          const capped = Math.min(price, problem.bestUsePerMs);
          const worth = formed.map(
            ({ accuracy, serviceMs, batch }) => accuracy - (capped * serviceMs) / batch,
          );
          expect(Math.min(...worth)).toBeLessThan(0);
        }
      }),
    );
  });

  test("waits for a better batch only as long as that batch can still end in time", () => {
    // SMALL takes 10 + 5 b ms: two together are cheaper per query than one alone, and the second is 5 ms away.
    const price = 0.02;
    expect(decide(problem, rule, price, 1, 100)).toBe(NO_ACTION);
    expect(decide(problem, rule, price, 1, 24)).not.toBe(NO_ACTION);
    expect(decide(problem, { ...rule, waitMargin: 1 }, price, 1, 100)).not.toBe(NO_ACTION);
  });
});

test("what a decision is worth is told by the rule that made the table", () => {
  const bundle = ramsisBundle(decodeBundle(readFileSync("policies/letters/bundle.msgpack")));
  const level = bundle.levels.length - 1;
  const { decisionSpace, levels } = bundle;
  const slackCount = decisionSpace.slackMs.data.length;
  const [queued, column] = [5, 90];
  const cell = levels[level]?.actionByState.data[(queued - 1) * slackCount + column] ?? 0;
  const [variant, batch] = decisionSpace.actions.data.slice(2 * cell, 2 * cell + 2);
  const slackMs = decisionSpace.slackMs.data[column] ?? 0;
  const values = actionValuesOf(bundle, level, queued, slackMs);
  if ("reason" in values) expect.fail(values.reason);
  expect(values.unit).toBe("accuracy less price");
  const [best, runnerUp] = values.actions;
  expect(best).toEqual({ variant, batch, advantage: 0 });
  expect(runnerUp?.advantage).toBeLessThan(0);
});

test("near capacity, when time is dear, a batch of less than the best rate is not started; far from it, it is", () => {
  // SMALL and a batch of four: 30 ms, 0.133 queries per ms and worker. One query alone takes 15 ms, half of that rate.
  const bundle = pooledBundle(3, [1]);
  const rule: PriceRule = { level: 9, growth: 0, pivot: 0, waitMargin: 0, reserveMs: 0 };
  const capacityQps = 1000 * 3 * pooledProblem(bundle, 1).bestRatePerMs;
  const decideAt = (loadQps: number, slackMs: number): number =>
    decide(pooledProblem(bundle, loadQps), rule, 1e-3, ROWS, slackMs);
  const [dear, cheap] = [0.98 * capacityQps, 0.5 * capacityQps];
  expect(decideAt(dear, 100)).not.toBe(GIVE_UP);
  expect(decideAt(dear, 33)).toBe(GIVE_UP);
  const { actions } = pooledProblem(bundle, 1);
  expect(actions[decideAt(cheap, 33)]?.batch).toBe(4);
});
