import { describe, expect, test } from "vitest";
import { simulateThemis } from "../../../../../compiler/methods/themis/simulate/simulate.ts";
import type { ThemisBundle, ThemisOptions } from "../../../../../runtime/bundle/schema.ts";
import { type ThemisBundleSketch, themisBundle } from "../../../../support/themis-bundle.ts";
import { serveAt } from "../../../../support/themis-latencies.ts";

const NEVER = { dropAfterSlos: null, scaling: "themis", stableTicks: 100 } as const;

/** One stage: one instance at up to 2 requests per second, and at up to 10 what is said. */
function oneStage(
  latencyMs: readonly (readonly number[])[],
  stage: readonly [batch: number, cores: number, instances: number],
  transition: readonly [batch: number, cores: number, more: number],
  policy: Partial<ThemisOptions> = {},
  sketch: ThemisBundleSketch = {},
): ThemisBundle {
  return themisBundle({
    tasks: [{ name: "a", latencyMs }],
    levels: [
      { loadQps: 2, steady: [[1, 1, 1]] },
      { loadQps: 10, steady: [stage] },
    ],
    transitions: [
      [[[1, 1, 0]], [transition]],
      [[[stage[0], stage[1], 0]], [[stage[0], stage[1], 0]]],
    ],
    policy: { ...NEVER, ...policy },
    ...sketch,
  });
}

/** Four in the first second, which the second look knows of at 1000. */
const BURST = [0, 200, 400, 600];

describe("cores", () => {
  const TWICE = oneStage([[100], [50]], [1, 2, 1], [1, 2, 0]);
  const start = { startLevel: 0, durationMs: 2000 } as const;

  test("are in force 100 ms after the poll that requests them, for batches that start then", () => {
    const { latencies } = serveAt(TWICE, [...BURST, 1050, 1160], start);
    expect(latencies).toEqual([100, 100, 100, 100, 100, 50]);
    // At 1100 itself they are there before the batch starts.
    expect(serveAt(TWICE, [...BURST, 990, 1100], start).latencies.at(-1)).toBe(50);
    expect(serveAt(TWICE, [...BURST, 990, 1099], start).latencies.at(-1)).toBe(100);
  });

  test("are held from the poll on, and cost their part of the machines", () => {
    const pool = { name: "p", hardware: "cpu", workers: 2, cores: 4, pricePerHour: 8 };
    const cluster = { ...TWICE.cluster, pools: [pool] };
    const result = serveAt({ ...TWICE, cluster }, BURST, { ...start, timeline: true });
    expect(result).toMatchObject({
      cores: { mean: 1.5, max: 2 },
      coreSeconds: 3,
      servers: { mean: 1, max: 1 },
      costPerHour: 3,
      scaling: { up: 0, down: 0, resizes: 1, bursts: 1, settled: 0 },
      planSwitches: 1,
    });
    expect(result.byTask["a"]).toEqual({
      queries: 4,
      batches: 4,
      meanBatch: 1,
      instances: { mean: 1, max: 1 },
      cores: { mean: 1.5, max: 2 },
    });
    expect(serveAt(TWICE, BURST, start)).not.toHaveProperty("costPerHour");
  });

  test("that are asked for again before they are there come later, all at once", () => {
    const bundle = themisBundle({
      tasks: [{ name: "a", latencyMs: [[12], [8], [4]] }],
      levels: [2, 4, 6].map((loadQps, level) => ({ loadQps, steady: [[1, level + 1, 1]] })),
      transitions: [1, 2, 3].map((row) =>
        [1, 2, 3].map((column) => [[1, Math.max(row, column), 0]]),
      ),
      policy: { ...NEVER, resizeMs: 1500 },
    });
    // Looks at 1000 and at 2000 tell of 4 and of 6 requests: 2 cores would be there at 2500, and 3
    // are at 3500.
    const more = [1000, 1150, 1300, 1450, 1600, 1750];
    const times = [...BURST, ...more, 2600, 3480, 3500];
    const { latencies, scaling } = serveAt(bundle, times, { startLevel: 0 });
    expect(latencies).toEqual([...times.slice(1).map(() => 12), 4]);
    expect(scaling).toMatchObject({ bursts: 2, resizes: 1 });
  });
});

describe("instances", () => {
  const PAIR = oneStage([[100]], [1, 1, 2], [1, 1, 1]);

  test("serve 5 s after the poll that requests them, and hold cores from the poll on", () => {
    const arrivals = [...BURST, 5900, 5900, 6000, 6000];
    const result = serveAt(PAIR, arrivals, { startLevel: 0 });
    // Of the last four the one that came with the second at 5900 waits until 6000, when there are
    // two instances for three.
    expect(result.latencies).toEqual([100, 100, 100, 100, 100, 200, 100, 200]);
    expect(result).toMatchObject({
      servers: { mean: 1.9, max: 2 },
      cores: { mean: 1.9, max: 2 },
      scaling: { up: 1, down: 0, resizes: 0, bursts: 1 },
    });
  });

  test("that are resized while they come up are up with the cores that were said last", () => {
    const bundle = themisBundle({
      tasks: [{ name: "a", latencyMs: [[100], [60]] }],
      levels: [
        { loadQps: 2, steady: [[1, 1, 1]] },
        { loadQps: 4, steady: [[1, 1, 2]] },
        { loadQps: 10, steady: [[1, 2, 2]] },
      ],
      transitions: [
        [[[1, 1, 0]], [[1, 1, 1]], [[1, 2, 1]]],
        [[[1, 1, 0]], [[1, 1, 0]], [[1, 2, 0]]],
        [[[1, 2, 0]], [[1, 2, 0]], [[1, 2, 0]]],
      ],
      policy: NEVER,
    });
    const second = [1000, 1150, 1300, 1450, 1600, 1750];
    const { latencies, scaling } = serveAt(bundle, [...BURST, ...second, 6000, 6000], {
      startLevel: 0,
    });
    expect(latencies.slice(-2)).toEqual([60, 60]);
    // That which came up with its two cores was not resized.
    expect(scaling).toMatchObject({ up: 1, resizes: 1, bursts: 2 });
  });

  test("of the level that is started with are up at time 0", () => {
    const { latencies, servers } = serveAt(PAIR, [0, 0], { startLevel: 1 });
    expect(latencies).toEqual([100, 100]);
    expect(servers).toEqual({ mean: 2, max: 2 });
    expect(serveAt(PAIR, [0, 0], { startLevel: 0 }).latencies).toEqual([100, 200]);
    expect(serveAt(PAIR, [0, 0]).latencies).toEqual([100, 100]);
  });

  test("and the batches of a level that is fixed stay whatever comes", () => {
    const bundle = oneStage([[100, 140]], [2, 1, 1], [2, 1, 0]);
    const times = Array.from({ length: 40 }, (_, n) => 50 * n);
    const fixed = serveAt(bundle, times, { level: 0, timeline: true });
    expect(fixed.latencies.at(-1)).toBe(100 * 40 - 50 * 39);
    expect(fixed).toMatchObject({ planSwitches: 0, scaling: { bursts: 0, settled: 0 } });
    // Two at a time from the look at 1000 on.
    expect(serveAt(bundle, times, { startLevel: 0 }).byTask["a"]?.batches).toBeLessThan(30);
  });
});

describe("when the load falls", () => {
  /**
   * Settled on with the second look that agrees with what is foretold, which is always the load of
   * the last second.
   */
  const fall = (
    latencyMs: readonly (readonly number[])[],
    high: readonly [number, number, number],
  ) => oneStage(latencyMs, high, [1, 2, 1], { stableTicks: 2 });
  const forecastByPoll = new Float64Array(10);

  test("cores are held until they are gone, and instances until their batch is done", () => {
    const cores = fall([[100], [50]], [1, 2, 1]);
    const options = { startLevel: 1, durationMs: 3000, forecastByPoll };
    // The second look is at 2000, and cores go at 2100.
    expect(serveAt(cores, [0, 2000, 2090, 2100], options)).toMatchObject({
      latencies: [50, 50, 50, 140],
      cores: { mean: (2100 * 2 + 900) / 3000, max: 2 },
      scaling: { up: 0, down: 0, resizes: 1, bursts: 0, settled: 1 },
    });
    const instances = fall([[1000]], [1, 1, 2]);
    expect(serveAt(instances, [0, 1500, 1600], options)).toMatchObject({
      latencies: [1000, 1000, 1000],
      cores: { mean: (2600 * 2 + 400) / 3000, max: 2 },
      scaling: { up: 0, down: 1, resizes: 0, settled: 1 },
    });
  });

  test("and rises at once, an instance that is still there keeps the others' cores", () => {
    const bundle = themisBundle({
      sloMs: 100,
      tasks: [{ name: "a", latencyMs: [[3000], [1500]] }],
      levels: [
        { loadQps: 2, steady: [[1, 1, 1]] },
        { loadQps: 4, steady: [[1, 1, 2]] },
        { loadQps: 10, steady: [[1, 2, 2]] },
      ],
      transitions: [
        [[[1, 1, 0]], [[1, 1, 1]], [[1, 2, 1]]],
        [[[1, 1, 0]], [[1, 1, 0]], [[1, 2, 0]]],
        [[[1, 2, 0]], [[1, 2, 0]], [[1, 2, 0]]],
      ],
      policy: { ...NEVER, stableTicks: 1 },
    });
    // At 1000 one of two busy instances is to go, and at 2000 there are to be two of two cores.
    const more = [1100, 1200, 1300, 1400, 1500, 1600];
    const { latencies, scaling } = serveAt(bundle, [0, 0, ...more], { startLevel: 1 });
    const doneMs = [3000, 3000, 4500, 4500, 6000, 6000, 7500, 7500];
    expect(latencies).toEqual(doneMs.map((ms, n) => ms - ([0, 0, ...more][n] ?? 0)));
    expect(scaling).toMatchObject({ up: 0, down: 0, resizes: 2 });
  });
});

describe("a query", () => {
  const stage = (dropAfterSlos: number | null, sloMs: number) =>
    oneStage([[100]], [1, 1, 1], [1, 1, 0], { dropAfterSlos }, { sloMs });

  test("is given up once its request is as old as the SLO when its turn comes, not before", () => {
    const result = serveAt(stage(1, 100), [0, 0, 1]);
    expect(result.latencies).toEqual([100, Number.NaN, 199]);
    expect(result).toMatchObject({ queries: 3, satisfied: 1, late: 1, dropped: 1 });
    expect(result.violationRate).toBe(2 / 3);
    expect(result.latencyMs?.max).toBe(199);
  });

  test("may be three times as old, or of any age, as the policy says", () => {
    const times = [0, 0, 0, 0, 1];
    const thrice = serveAt(stage(3, 100), times);
    expect(thrice.latencies).toEqual([100, 200, 300, Number.NaN, 399]);
    const never = serveAt(stage(null, 100), times);
    expect(never.latencies).toEqual([100, 200, 300, 400, 499]);
    expect(never).toMatchObject({ satisfied: 1, late: 4, dropped: 0 });
  });

  test("that is given up leaves its batch to those behind it", () => {
    const bundle = themisBundle({
      tasks: [
        { name: "slow", from: { requests: 0.5 }, latencyMs: [[90]] },
        { name: "fast", from: { requests: 0.5, slow: 1 }, latencyMs: [[100, 100]] },
      ],
      levels: [
        {
          loadQps: 1,
          steady: [
            [1, 1, 1],
            [2, 1, 1],
          ],
        },
      ],
      sloMs: 150,
      policy: NEVER,
    });
    const dropping = { ...bundle, policy: { ...bundle.policy, dropAfterSlos: 1 } };
    // At 160, between two younger ones, waits the first, which has come by the slow way.
    const taken = { 0: [1, 0, 0, 0], 1: [0, 1, 1, 1] };
    const { latencies, byTask } = serveAt(dropping, [0, 60, 80, 95], { taken });
    expect(latencies).toEqual([Number.NaN, 100, 180, 165]);
    expect(byTask["fast"]).toMatchObject({ queries: 3, batches: 2 });
  });
});

test("a dropped request takes its other queries along, even those being served", () => {
  const from = { requests: 0.5 };
  const one = [1, 1, 1] as const;
  const bundle = themisBundle({
    tasks: [
      { name: "a", from, latencyMs: [[100]] },
      { name: "b", from, latencyMs: [[150]] },
      { name: "c", from, latencyMs: [[10]] },
      { name: "d", from: { a: 0.5, b: 0.5, c: 0.5 }, latencyMs: [[1]] },
    ],
    levels: [{ loadQps: 1, steady: [one, one, one, one] }],
    sloMs: 100,
  });
  // The second finds a busy until 100, when it is too old; by then c has served it, and b does
  // until 150.
  const taken = {
    0: [1, 1, 0, 0],
    1: [0, 1, 1, 0],
    2: [0, 1, 0, 1],
    3: [0, 1, 1, 1],
    4: [0, 1, 0, 1],
    5: [0, 1, 1, 1],
  };
  const { latencies, byTask, satisfied, late, dropped } = serveAt(bundle, [0, 0, 120, 500], {
    taken,
  });
  expect(latencies).toEqual([100, Number.NaN, 180, 11]);
  expect([satisfied, late, dropped]).toEqual([2, 1, 1]);
  const served = Object.values(byTask).map(({ queries }) => queries);
  expect(served).toEqual([1, 2, 2, 1]);
});

describe("a timeline", () => {
  test("reports arrivals and outcomes by second, and the cluster at its end", () => {
    const bundle = oneStage([[100], [50]], [1, 2, 1], [1, 2, 0], {}, { sloMs: 100 });
    const { timeline } = serveAt(bundle, [...BURST, 650, 1200], {
      startLevel: 0,
      durationMs: 3000,
      timeline: true,
    });
    expect(timeline).toEqual([
      { requests: 5, violations: 1, latencyMsP99: 150, cores: 1, servers: 1, level: 0 },
      { requests: 1, violations: 0, latencyMsP99: 50, cores: 2, servers: 1, level: 1 },
      { requests: 0, violations: 0, latencyMsP99: null, cores: 2, servers: 1, level: 1 },
    ]);
  });

  test("is left out unless it is asked for, as are the latencies", () => {
    const arrivals = { kind: "poisson", qps: 5 } as const;
    const result = simulateThemis(themisBundle(), { arrivals, durationMs: 5000, seed: 1 });
    expect(result).toMatchObject({ timeline: null, latencyMsByRequest: null });
    expect(result.satisfied).toBe(result.queries);
  });
});

test("gamma arrivals and recorded ones are served as Poisson ones are", () => {
  const bundle = themisBundle();
  const arrivalMs = Float64Array.from({ length: 50 }, (_, n) => 40 * n);
  const processes = [
    { kind: "gamma", qps: 25, cv2: 4 },
    { kind: "trace", trace: { kind: "arrivals", arrivalMs } },
  ] as const;
  for (const arrivals of processes) {
    const { queries, satisfied, late, dropped } = simulateThemis(bundle, {
      arrivals,
      durationMs: 2000,
      seed: 1,
    });
    expect(queries).toBeGreaterThan(10);
    expect(satisfied + late + dropped).toBe(queries);
  }
});
