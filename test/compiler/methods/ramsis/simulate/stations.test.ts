/** RAMSIS on the machine that serves: what its stations add is what arithmetic says. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type SimulationOptions,
  type SimulationResult,
  simulate,
} from "../../../../../compiler/methods/ramsis/simulate/simulate.ts";
import type { ArrivalProcess } from "../../../../../compiler/simulate/arrivals.ts";
import type { RamsisBundle, ServingPath } from "../../../../../runtime/bundle/schema.ts";
import { casesOf } from "../../../../support/cases.ts";
import { always, servedOn } from "../../../../support/serving-path.ts";
import { LARGE, type TinyBundleOptions, tinyBundle } from "../../../../support/tiny-bundle.ts";

function recorded(...arrivalMs: number[]): ArrivalProcess {
  return { kind: "trace", trace: { kind: "arrivals", arrivalMs: Float64Array.from(arrivalMs) } };
}

function run(bundle: RamsisBundle, options: Partial<SimulationOptions>): SimulationResult {
  return simulate(bundle, {
    arrivals: recorded(),
    durationMs: 10_000,
    seed: 1,
    serviceTimes: "p95",
    ...options,
  });
}

/** One variant, which takes as long for any batch; batches of one unless said otherwise. */
function steady(ms: number, batch: number, options: TinyBundleOptions): TinyBundleOptions {
  return {
    variants: [{ name: "only", accuracy: 1, latencyMs: () => ms }],
    decide: ({ queued }) => ({ variant: 0, batch: Math.min(queued, batch) }),
    ...options,
  };
}

const ROWS: Partial<ServingPath> = {
  requestMs: always(0.08),
  batchMs: always(0.1),
  answerMs: always(0.05),
  wakeMs: always(0.25),
  wireMs: always(0.4),
};

describe("a query alone", () => {
  test("takes the sum of the rows beside its batch", () => {
    const bundle = servedOn(tinyBundle(), ROWS);
    const { latencyMs } = run(bundle, { arrivals: recorded(0, 500) });
    // Wire there and back, request, batch, answer; server and worker wake up.
    const addedMs = 0.4 + 0.08 + 0.1 + 0.05 + 2 * 0.25;
    expect(latencyMs?.p50).toBeCloseTo(40 + addedMs, 9);
    expect(latencyMs?.max).toBeCloseTo(40 + addedMs, 9);
  });

  test("of a wire that varies is answered later by what it drew, never before it was sent", () => {
    const wireMs = { p50: 1, p95: 3, p99: 5, mean: 1.4 };
    const bundle = servedOn(tinyBundle(), { wireMs });
    const arrivals = recorded(...Array.from({ length: 20_000 }, (_, query) => 100 * query));
    const { latencyMs } = run(bundle, { arrivals, durationMs: 2_000_000 });
    expect(latencyMs?.p50).toBeCloseTo(41, 1);
    expect(latencyMs?.p95).toBeCloseTo(43, 1);
    expect(latencyMs?.p99).toBeCloseTo(45, 0);
  });
});

describe("the server", () => {
  test("is a queue of its own, M/D/1 where workers take no time, and answers pass it again", () => {
    const sketch = steady(1e-6, 1, { workers: 20, sloMs: 1000 });
    const bundle = servedOn(tinyBundle(sketch), { requestMs: always(2) });
    const options = { arrivals: { kind: "poisson", qps: 350 }, durationMs: 600_000 } as const;
    const { latencyMs, queries } = run(bundle, options);
    expect(queries).toBeGreaterThan(200_000);
    // Pollaczek and Khinchine, ρ = 0.7. The batch comes back at once, behind the requests that came
    // meanwhile: as many as Little says. 210 000 requests, of which some 10 in a row are alike.
    const waitMs = (0.7 * 2) / (2 * 0.3);
    const behindMs = 2 * 0.35 * (2 + waitMs);
    const expectedMs = 2 + waitMs + behindMs;
    expect(Math.abs((latencyMs?.mean ?? 0) - expectedMs)).toBeLessThan(0.03 * expectedMs);
    const alone = run(bundle, { ...options, stations: { path: false } });
    expect(alone.latencyMs?.max).toBeCloseTo(1e-6, 9);
  });

  test("takes a batch back while its worker runs the next, and answers after that", () => {
    const rows = { requestMs: always(1), batchMs: always(3), answerMs: always(5) };
    const bundle = servedOn(tinyBundle(steady(40, 1, { sloMs: 1000 })), rows);
    const { latencyMs } = run(bundle, { arrivals: recorded(0, 10) });
    // Computed at 41, taken back at 44, answered at 49; the second runs from 41 to 81.
    expect(latencyMs).toMatchObject({ p50: 49, max: 81 + 3 + 5 - 10 });
  });

  test("writes the answers of a batch one after the other, and requests wait for them", () => {
    const rows = { requestMs: always(1), answerMs: always(5) };
    const bundle = servedOn(tinyBundle(steady(40, 4, { sloMs: 1000 })), rows);
    const { latencyMs, byVariant } = run(bundle, { arrivals: recorded(0, 2, 4, 87) });
    // The first alone until 41, answered at 46. Two more until 81, answered at 86 and 91, and the
    // last, which is taken up at 92, is done at 132 and answered at 137.
    expect(byVariant["only"]).toMatchObject({ batches: 3, queries: 4 });
    expect(latencyMs?.mean).toBeCloseTo((46 + (86 - 2) + (91 - 4) + (137 - 87)) / 4, 9);
  });

  test("has an answer to write for every query that is given up", () => {
    const large = tinyBundle({
      variants: [LARGE],
      sloMs: 150,
      decide: ({ queued }) => ({ variant: 0, batch: queued }),
    });
    const bundle = servedOn(large, { answerMs: always(50) });
    // One runs until 40, four wait, and the last is given up at 5, which is written by 55. So the
    // first is taken back then and answered by 105, and the four run from 55 to 155.
    const result = run(bundle, { arrivals: recorded(0, 1, 2, 3, 4, 5) });
    expect(result).toMatchObject({ queries: 6, dropped: 1, satisfied: 1, late: 4 });
    const latencyMs = [105, 205 - 1, 255 - 2, 305 - 3, 355 - 4];
    expect(result.latencyMs).toMatchObject({ p50: latencyMs[2], max: latencyMs[4] });
    expect(result.latencyMs?.mean).toBeCloseTo((105 + 204 + 253 + 302 + 351) / 5, 9);
  });
});

describe("workers", () => {
  const pair = (rows: Partial<ServingPath>) =>
    servedOn(tinyBundle(steady(40, 1, { workers: 2, sloMs: 1000 })), rows);

  test("two on one processor take turns of 4 ms, and one of them alone does not", () => {
    const bundle = pair({ processors: 1 });
    expect(run(bundle, { arrivals: recorded(0, 0) }).latencyMs?.mean).toBe((76 + 80) / 2);
    expect(run(bundle, { arrivals: recorded(0, 100) }).latencyMs?.mean).toBe(40);
    // Alone until 10; then the other, until it has had more than the first, which had 10 ms.
    const apart = run(bundle, { arrivals: recorded(0, 10) }).latencyMs;
    expect(apart).toMatchObject({ p50: 68, max: 80 });
    const without = { arrivals: recorded(0, 0), stations: { contention: false } };
    expect(run(bundle, without).latencyMs?.mean).toBe(40);
  });

  test("take what was measured, on processors of their own", () => {
    const bundle = pair({ processors: 2, contention: [1, 1.25] });
    expect(run(bundle, { arrivals: recorded(0, 0) }).latencyMs?.mean).toBe(50);
  });

  test("wait for the bursts of neighbours", () => {
    const meanMs = (neighbours: number) => {
      let sumMs = 0;
      for (let draw = 1; draw <= 200; draw++) {
        const stations = { neighbours, draw };
        const bundle = pair({ processors: 1 });
        sumMs += run(bundle, { arrivals: recorded(0), stations }).latencyMs?.mean ?? Number.NaN;
      }
      return sumMs / 200;
    };
    // 40 ms of work. A burst of 2 ms waits for a slice of 4 ms to end, and takes at most a third.
    expect(meanMs(0)).toBe(40);
    expect(meanMs(0.2)).toBeGreaterThan(46);
    expect(meanMs(0.2)).toBeLessThan(40 / 0.8);
    expect(meanMs(0.5)).toBeGreaterThan(54);
    expect(meanMs(0.5)).toBeLessThan((3 / 2) * 40);
  });

  test("stand back behind the server while it works, its answers included", () => {
    const rows = { processors: 1, requestMs: always(4), answerMs: always(6) };
    const { latencyMs } = run(pair(rows), { arrivals: recorded(0, 4) });
    // Both wait for the server, until 8; then they take turns of 4 ms. The first is done at 80, and
    // the server, which comes first, writes its answer for 6 ms.
    expect(latencyMs?.p50).toBe(86);
  });
});

describe("deadlines", () => {
  test("leave the margin to the path, and clients judge by the whole SLO", () => {
    const arrivals = recorded(0);
    const tight = servedOn(tinyBundle(), { marginMs: 70 });
    // 30 ms are left, in which the small variant runs; alone it had been the large one.
    expect(run(tight, { arrivals }).byVariant["small"]).toMatchObject({ queries: 1, satisfied: 1 });
    expect(run(tinyBundle(), { arrivals }).byVariant["large"]).toMatchObject({ queries: 1 });
    const late = servedOn(tinyBundle(), { wireMs: always(70) });
    expect(run(late, { arrivals })).toMatchObject({ late: 1, satisfied: 0 });
    expect(run(late, { arrivals, stations: { path: false } })).toMatchObject({ satisfied: 1 });
  });
});

const spread = fc
  .tuple(fc.double({ min: 0, max: 3, noNaN: true }), fc.double({ min: 1, max: 4, noNaN: true }))
  .map(([p50, tail]) => ({ p50, p95: p50 * tail, p99: p50 * tail * tail, mean: p50 * 1.1 }));
const path: fc.Arbitrary<Partial<ServingPath>> = fc.record({
  processors: fc.integer({ min: 1, max: 4 }),
  requestMs: spread,
  batchMs: spread,
  answerMs: spread,
  wakeMs: spread,
  wireMs: spread,
  contention: fc.constantFrom([1], [1, 1.1], [1, 1.05, 1.6]),
  marginMs: fc.constantFrom(0, 20),
});

describe("whatever was measured", () => {
  test("every query is counted once, no earlier than it can be, and again the same", () => {
    fc.assert(
      fc.property(
        path,
        fc.integer({ min: 1, max: 4 }),
        fc.constantFrom("greedy", "clockwork", null),
        fc.double({ min: 0, max: 2, noNaN: true }),
        (rows, workers, name, neighbours) => {
          const bare = tinyBundle({ workers, variants: [LARGE] });
          const bundle = servedOn(bare, rows);
          const baseline =
            name === null || name === "greedy"
              ? name && ({ kind: name } as const)
              : ({ kind: name, tuned: false } as const);
          const options = {
            arrivals: { kind: "poisson", qps: 30 * workers },
            durationMs: 3000,
            baseline,
            stations: { neighbours },
          } as const;
          const result = run(bundle, options);
          const { queries, satisfied, late, dropped, latencyMs } = result;
          expect(queries).toBe(run(bare, options).queries);
          expect(satisfied + late + dropped).toBe(queries);
          expect(latencyMs === null || latencyMs.p50 >= 40).toBe(true);
          expect(run(bundle, options)).toEqual(result);
        },
      ),
      { numRuns: casesOf(15, 300) },
    );
  });

  test("without both stations nothing but the margin is left of it, bit for bit", () => {
    fc.assert(
      fc.property(path, fc.integer({ min: 1, max: 4 }), (rows, workers) => {
        const bare = tinyBundle({ workers });
        const options = { arrivals: { kind: "poisson", qps: 60 }, durationMs: 5000 } as const;
        const stations = { path: false, contention: false };
        const left = run(servedOn(bare, { ...rows, marginMs: 0 }), { ...options, stations });
        expect(left).toEqual(run(bare, options));
      }),
      { numRuns: casesOf(10, 100) },
    );
  });
});
