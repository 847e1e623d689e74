/** Loki on the machine that serves: what its stations add is what arithmetic says. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type LokiSimulationOptions,
  type LokiSimulationResult,
  simulateLoki,
} from "../../../../../compiler/methods/loki/simulate/simulate.ts";
import type { ArrivalProcess } from "../../../../../compiler/simulate/arrivals.ts";
import type { LokiBundle, ServingPath } from "../../../../../runtime/bundle/schema.ts";
import { casesOf } from "../../../../support/cases.ts";
import { lokiBundle } from "../../../../support/loki-bundle.ts";
import { chainBundle, treeBundle } from "../../../../support/loki-samples.ts";
import { always, servedOn } from "../../../../support/serving-path.ts";

function run(bundle: LokiBundle, options: Partial<LokiSimulationOptions>): LokiSimulationResult {
  return simulateLoki(bundle, {
    arrivals: at(),
    durationMs: 20_000,
    seed: 1,
    serviceTimes: "p95",
    fanout: "rounded",
    ...options,
  });
}

function at(...arrivalMs: number[]): ArrivalProcess {
  return { kind: "trace", trace: { kind: "arrivals", arrivalMs: Float64Array.from(arrivalMs) } };
}

/** Two tasks in a row on as many servers each, in batches of one. */
function pair(serviceMs: number, loadQps: number, replicas = 1): LokiBundle {
  const variants = [{ name: "v", accuracy: 1, latencyMs: { 1: serviceMs } }];
  return lokiBundle({
    sloMs: 10_000,
    tasks: [
      { name: "first", variants },
      { name: "second", parent: "first", variants },
    ],
    workers: [2 * replicas],
    levels: [
      {
        loadQps,
        instances: [
          { of: "first/v", batch: 1, replicas },
          { of: "second/v", batch: 1, replicas },
        ],
        paths: [{ along: ["first/v", "second/v"], ratio: 1 }],
      },
    ],
  });
}

test("a request alone takes the sum of the rows: the last batch, and one answer", () => {
  const bundle = servedOn(pair(10, 50), {
    requestMs: always(0.08),
    batchMs: always(0.1),
    answerMs: always(0.05),
    wakeMs: always(0.25),
    wireMs: always(0.4),
  });
  // The server sleeps before the request, each worker before its batch; the first batch is taken
  // back while the second runs.
  const addedMs = 0.4 + 0.08 + 0.1 + 0.05 + 3 * 0.25;
  expect(run(bundle, { arrivals: at(0) }).latencyMs?.max).toBeCloseTo(20 + addedMs, 9);
  const without = { arrivals: at(0), stations: { path: false } };
  expect(run(bundle, without).latencyMs?.max).toBe(20);
});

test("requests wait for the server as M/D/1 does, and batches behind them", () => {
  const bundle = servedOn(pair(1e-6, 400, 20), { requestMs: always(2) });
  const { latencyMs, violationRate } = run(bundle, {
    arrivals: { kind: "poisson", qps: 350 },
    durationMs: 300_000,
  });
  expect(violationRate).toBe(0);
  // Pollaczek and Khinchine, ρ = 0.7; then both batches come back behind what came meanwhile, which
  // is the same requests: the second finds those alone that came in the time of the first. 105 000
  // requests, of which some 10 in a row are alike.
  const waitMs = (0.7 * 2) / (2 * 0.3);
  const behindMs = 2 * 0.35 * (2 + waitMs);
  const againMs = 2 * 0.35 * behindMs;
  const expectedMs = 2 + waitMs + behindMs + againMs;
  expect(Math.abs((latencyMs?.mean ?? 0) - expectedMs)).toBeLessThan(0.04 * expectedMs);
});

test("servers on one processor share it", () => {
  const bundle = servedOn(pair(10, 50), { processors: 1 });
  // The second request is detected beside the second task of the first.
  const { latencyMs } = run(bundle, { arrivals: at(0, 10) });
  expect(latencyMs).toMatchObject({ max: 30, p50: 30 });
  const alone = { arrivals: at(0, 10), stations: { contention: false } };
  expect(run(bundle, alone).latencyMs?.max).toBe(20);
});

describe("deadlines", () => {
  test("leave the margin to the path, and clients judge by the whole SLO", () => {
    const sketch = { sloMs: 60, policy: { drop: "last-task" } } as const;
    const level = {
      loadQps: 75,
      instances: [
        { of: "detect/large", batch: 2, replicas: 2 },
        { of: "classify/large", batch: 4, replicas: 2 },
      ],
      paths: [{ along: ["detect/large", "classify/large"], ratio: 1 }],
    } as const;
    const chain = chainBundle({ ...sketch, levels: [level], workers: [4] });
    // Detected at 30, classified by 50.
    const arrivals = at(0);
    expect(run(chain, { arrivals })).toMatchObject({ satisfied: 1 });
    expect(run(servedOn(chain, { wireMs: always(11) }), { arrivals })).toMatchObject({ late: 1 });
    expect(run(servedOn(chain, { marginMs: 20 }), { arrivals })).toMatchObject({ dropped: 1 });
  });
});

const spread = fc
  .tuple(fc.double({ min: 0, max: 2, noNaN: true }), fc.double({ min: 1, max: 4, noNaN: true }))
  .map(([p50, tail]) => ({ p50, p95: p50 * tail, p99: p50 * tail * tail, mean: p50 * 1.1 }));
const path: fc.Arbitrary<Partial<ServingPath>> = fc.record({
  processors: fc.integer({ min: 1, max: 8 }),
  requestMs: spread,
  batchMs: spread,
  answerMs: spread,
  wakeMs: spread,
  wireMs: spread,
  contention: fc.constantFrom([1], [1, 1.05, 1.6]),
  marginMs: fc.constantFrom(0, 20),
});

describe("whatever was measured", () => {
  const bundles = [chainBundle(), treeBundle()];

  test("every request is counted once, and the same again", () => {
    fc.assert(
      fc.property(path, fc.constantFrom(...bundles), (rows, bare) => {
        const bundle = servedOn(bare, rows);
        const options = { arrivals: { kind: "poisson", qps: 60 }, durationMs: 2000 } as const;
        const result = run(bundle, options);
        const { queries, satisfied, late, dropped } = result;
        expect(queries).toBe(run(bare, options).queries);
        expect(satisfied + late + dropped).toBe(queries);
        expect(run(bundle, options)).toEqual(result);
      }),
      { numRuns: casesOf(20, 200) },
    );
  });

  test("without both stations nothing but the margin is left of it, bit for bit", () => {
    fc.assert(
      fc.property(path, fc.constantFrom(...bundles), (rows, bare) => {
        const options = { arrivals: { kind: "poisson", qps: 60 }, durationMs: 2000 } as const;
        const stations = { path: false, contention: false };
        const left = run(servedOn(bare, { ...rows, marginMs: 0 }), { ...options, stations });
        expect(left).toEqual(run(bare, options));
      }),
      { numRuns: casesOf(10, 100) },
    );
  });
});
