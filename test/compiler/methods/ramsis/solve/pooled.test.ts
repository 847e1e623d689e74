/**
 * Pooled policies: the simulation that judges them is the dispatcher, and what is found holds up
 * against oracles.
 */
import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ramsisMethod } from "../../../../../compiler/methods/ramsis/ramsis.ts";
import { simulate } from "../../../../../compiler/methods/ramsis/simulate/simulate.ts";
import { pooledProblem } from "../../../../../compiler/methods/ramsis/solve/pooled/pooled-problem.ts";
import {
  type DecisionTable,
  meanLatencyMs,
  servedSummary,
  simulatePooled,
  UNDECIDED,
} from "../../../../../compiler/methods/ramsis/solve/pooled/pooled-simulation.ts";
import { queueRows } from "../../../../../compiler/methods/ramsis/solve/pooled/queue-rows.ts";
import { GIVE_UP, NO_ACTION, type RamsisBundle } from "../../../../../runtime/bundle/schema.ts";
import { decodeBundle } from "../../../../../runtime/bundles/checked-bundle.ts";
import { ramsisBundle } from "../../../../support/ramsis-bundle.ts";
import { tinyBundle } from "../../../../support/tiny-bundle.ts";

const LENGTHS = [1, 2, 4, 5];
const CAPACITY = 5;
const COLUMNS = 11;

/**
 * A pooled bundle of two variants; cells are taken as actions that fit their row, or as waiting
 * where that is allowed.
 */
function pooledBundle(
  workers: number,
  cells: readonly number[],
  { drop = false, share = 0 } = {},
): RamsisBundle {
  const bundle = tinyBundle({ workers, maxQueue: CAPACITY - 1, slackSteps: COLUMNS - 1 });
  const tableOf = (shift: number) => {
    const data = Uint16Array.from({ length: LENGTHS.length * COLUMNS }, (_, cell) => {
      const queued = LENGTHS[Math.floor(cell / COLUMNS)] ?? 1;
      const value = cells[(cell + shift) % cells.length] ?? 0;
      if (value % 3 === 0 && cell % COLUMNS > 0) return NO_ACTION;
      if (value % 5 === 0) return GIVE_UP;
      return (value % 2) * CAPACITY + (value % queued);
    });
    return { dtype: "uint16", shape: [LENGTHS.length, COLUMNS], data } as const;
  };
  const levels = bundle.levels.map((level) => ({
    ...level,
    actionByState: tableOf(0),
    mixture: share > 0 ? { share, actionByState: tableOf(3) } : null,
  }));
  const queued = {
    dtype: "float64",
    shape: [LENGTHS.length],
    data: Float64Array.from(LENGTHS),
  } as const;
  return {
    ...bundle,
    policy: { ...bundle.policy, balancer: "pooled", drop },
    decisionSpace: { ...bundle.decisionSpace, queued },
    levels,
  };
}

function serviceMsOf({ tasks }: RamsisBundle) {
  return (variant: number, batch: number) =>
    tasks[0]?.serviceTimes.decisionMs.data[variant * CAPACITY + batch - 1] ?? Number.NaN;
}

function decided(data: ArrayLike<number>): DecisionTable {
  const decideCell = () => expect.fail("every cell is decided");
  return { cells: Uint16Array.from(data), decideCell };
}

const cells = fc.array(fc.nat({ max: 1000 }), { minLength: 7, maxLength: 4 * COLUMNS });
const workers = fc.integer({ min: 1, max: 4 });
const gapsMs = fc.array(fc.double({ min: 0, max: 60, noNaN: true }), {
  minLength: 1,
  maxLength: 80,
});
const options = fc.record({ drop: fc.boolean(), share: fc.constantFrom(0, 0.3) });

describe("the solver's simulation", () => {
  test("is the dispatcher's, query for query, whatever the table or the mixture of two", () => {
    fc.assert(
      fc.property(workers, cells, gapsMs, options, (workerCount, table, gaps, chosen) => {
        const bundle = pooledBundle(workerCount, table, chosen);
        let nowMs = 0;
        const arrivalMs = Float64Array.from(gaps, (gap) => {
          nowMs += gap;
          return nowMs;
        });
        const [level] = bundle.levels;
        if (level === undefined) return;
        const own = simulatePooled(
          pooledProblem(bundle, 1000),
          {
            arrivalMs,
            counted: [0, arrivalMs.length],
            classByQuery: null,
            openServiceTimes: () => serviceMsOf(bundle),
          },
          {
            table: decided(level.actionByState.data),
            mixture: level.mixture && {
              table: decided(level.mixture.actionByState.data),
              share: level.mixture.share,
            },
          },
        );
        const core = simulate(bundle, {
          arrivals: { kind: "trace", trace: { kind: "arrivals", arrivalMs } },
          durationMs: nowMs + 1,
          seed: 1,
          serviceTimes: "p95",
        });
        expect(core.queries).toBe(own.queries);
        expect(core.queries - core.satisfied).toBe(own.violations);
        expect((core.accuracyPerQuery ?? 0) * core.queries).toBeCloseTo(own.accuracySum, 9);
        for (const figure of ["latencyMs", "queueMs"] as const) {
          const times = servedSummary(own[figure]);
          expect(core[figure] === null).toBe(times === null);
          for (const name of ["mean", "p50", "p95", "p99", "max"] as const) {
            expect(core[figure]?.[name] ?? 0).toBeCloseTo(times?.[name] ?? 0, 6);
          }
        }
        expect(meanLatencyMs(own)).toBeCloseTo(core.latencyMs?.mean ?? 0, 6);
      }),
    );
  });

  test("asks for the cells it meets, and only once; counts no query of the edges", () => {
    const bundle = pooledBundle(2, [1]);
    const problem = pooledProblem(bundle, 1000);
    const asked: string[] = [];
    const table = new Uint16Array(LENGTHS.length * COLUMNS).fill(UNDECIDED);
    const arrivalMs = Float64Array.from({ length: 50 }, (_, query) => 7 * query);
    const decideCell = (queued: number, slackMs: number): number => {
      asked.push(`${queued} ${slackMs}`);
      return 0;
    };
    const outcome = simulatePooled(
      problem,
      {
        arrivalMs,
        counted: [10, 40],
        classByQuery: null,
        openServiceTimes: () => serviceMsOf(bundle),
      },
      { table: { cells: table, decideCell }, mixture: null },
    );
    expect(asked.length).toBeGreaterThan(1);
    expect(new Set(asked).size).toBe(asked.length);
    expect(table.filter((cell) => cell !== UNDECIDED).length).toBe(asked.length);
    expect(outcome.queries).toBe(30);
  });
});

describe("rows of queue lengths", () => {
  test("has every length up to the largest batch, then some further apart", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 2 ** 20 }), fc.integer({ min: 1, max: 64 }), (n, b) => {
        const rows = queueRows(n, b);
        expect(rows[0]).toBe(1);
        expect(rows.at(-1)).toBe(n);
        expect(rows.every((row, index) => index === 0 || row > (rows[index - 1] ?? 0))).toBe(true);
        for (let length = 1; length <= Math.min(n, b); length++) expect(rows).toContain(length);
        expect(rows.length).toBeLessThan(650);
      }),
    );
  });
});

test("values decisions with the policy that made the table", () => {
  const bundle = ramsisBundle(decodeBundle(readFileSync("policies/letters/bundle.msgpack")));
  const level = bundle.levels.findIndex(({ solve }) => solve.method === "fast-server");
  const { decisionSpace, levels } = bundle;
  const { data: rows } = decisionSpace.queued ?? expect.fail("a pooled bundle has rows");
  const row = rows.indexOf(5);
  const slackCount = decisionSpace.slackMs.data.length;
  const cells = levels[level]?.actionByState.data ?? expect.fail("some level is solved so");
  const own = cells.subarray(row * slackCount, (row + 1) * slackCount);
  const column = own.findLastIndex((cell) => cell !== NO_ACTION && cell !== GIVE_UP);
  const cell = own[column] ?? expect.fail("some batch is started");
  const [variant, batch] = decisionSpace.actions.data.slice(2 * cell, 2 * cell + 2);
  const slackMs = decisionSpace.slackMs.data[column] ?? 0;
  const values = ramsisMethod.actionValues?.(bundle, level, 5, slackMs);
  if (values === undefined) expect.fail("the method knows what actions are worth");
  if ("reason" in values) expect.fail(values.reason);
  const chosen = values.actions.find((one) => one.variant === variant && one.batch === batch);
  // Of what is as good, the larger batch is taken.
  expect(chosen?.advantage).toBeGreaterThan(-2e-3);
  expect(values.actions[0]?.advantage).toBe(0);
  expect(values.actions.at(-1)?.advantage).toBeLessThan(0);
});
