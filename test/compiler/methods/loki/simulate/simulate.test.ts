import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type LokiSimulationOptions,
  simulateLoki,
} from "../../../../../compiler/methods/loki/simulate/simulate.ts";
import type { ArrivalProcess } from "../../../../../compiler/simulate/arrivals.ts";
import type { LokiBundle } from "../../../../../runtime/bundle/schema.ts";
import { casesOf } from "../../../../support/cases.ts";
import { type LevelSketch, lokiBundle } from "../../../../support/loki-bundle.ts";
import { chainBundle, treeBundle } from "../../../../support/loki-samples.ts";

const OPTIONS = {
  durationMs: 20_000,
  seed: 1,
  serviceTimes: "p95",
  fanout: "rounded",
} as const;

function at(...arrivalMs: number[]): ArrivalProcess {
  return { kind: "trace", trace: { kind: "arrivals", arrivalMs: Float64Array.from(arrivalMs) } };
}

function poisson(bundle: LokiBundle, qps: number, options: Partial<LokiSimulationOptions> = {}) {
  return simulateLoki(bundle, { ...OPTIONS, arrivals: { kind: "poisson", qps }, ...options });
}

const LARGE: LevelSketch = {
  loadQps: 75,
  instances: [
    { of: "detect/large", batch: 2, replicas: 2 },
    { of: "classify/large", batch: 4, replicas: 2 },
  ],
  paths: [{ along: ["detect/large", "classify/large"], ratio: 1 }],
};

describe("a request", () => {
  test("is done when the last of its leaf queries is", () => {
    const result = simulateLoki(chainBundle({ levels: [LARGE], workers: [4] }), {
      ...OPTIONS,
      arrivals: at(0),
    });
    // Detected at 30. The four classifications begin at once, as one batch that takes 20.
    expect(result.latencyMs?.max).toBe(50);
    expect(result).toMatchObject({ queries: 1, satisfied: 1, accuracyPerSatisfied: 1 });
    expect(result.byTask["classify"]).toEqual({
      queries: 4,
      served: 4,
      dropped: 0,
      batches: 1,
      meanBatch: 4,
    });
    expect(result.byVariant["detect/large"]?.queries).toBe(1);
  });

  test("takes the communication latency to every server", () => {
    const bundle = chainBundle({ levels: [LARGE], workers: [4], communicationLatencyMs: 3 });
    const result = simulateLoki(bundle, { ...OPTIONS, arrivals: at(0) });
    expect(result.latencyMs?.max).toBe(56);
  });

  test("that cannot be on time is late, or dropped with its other queries", () => {
    const sketch = { levels: [LARGE], workers: [4], sloMs: 49 };
    const late = simulateLoki(chainBundle(sketch), { ...OPTIONS, arrivals: at(0) });
    expect(late).toMatchObject({ satisfied: 0, late: 1, dropped: 0, violationRate: 1 });
    expect(late.accuracyPerQuery).toBe(0);
    const bundle = chainBundle({ ...sketch, sloMs: 41, policy: { drop: "last-task" } });
    const dropped = simulateLoki(bundle, { ...OPTIONS, arrivals: at(0) });
    expect(dropped).toMatchObject({ satisfied: 0, late: 0, dropped: 1 });
    expect(dropped.byTask["classify"]).toMatchObject({ queries: 1, served: 0, dropped: 1 });
  });

  test("has the accuracy of the paths it took, over the leaves it reached", () => {
    const chain = poisson(
      chainBundle({ levels: chainBundle().levels.map(sketchOf).slice(1, 2) }),
      100,
    );
    // 0.6 of large and small, 0.1 of large and large, 0.3 of small and large.
    expect(chain.accuracyPerSatisfied).toBeCloseTo(0.6 * 0.8 + 0.1 + 0.3 * 0.6, 2);
    const tree = poisson(treeBundle(), 50);
    // The faces weigh half, where there are any.
    expect(tree.accuracyPerSatisfied).toBeCloseTo(0.5 * (1 + 0.9) * 0.5 + 0.5 * 1, 2);
  });
});

/** A level of the default chain as it was sketched. */
function sketchOf(level: LokiBundle["levels"][number]): LevelSketch {
  const names = ["small", "large"];
  const of = (i: number) => {
    const instance = level.plan.instances[i];
    return `${["detect", "classify"][instance?.task ?? 0]}/${names[instance?.variant ?? 0]}`;
  };
  return {
    loadQps: level.loadQps,
    instances: level.plan.instances.map(({ batch, replicas }, i) => ({
      of: of(i),
      batch,
      replicas,
    })),
    paths: level.plan.nodes.flatMap(({ parent, instance, ratio }) =>
      parent === null
        ? []
        : [{ along: [of(level.plan.nodes[parent]?.instance ?? 0), of(instance)], ratio }],
    ),
  };
}

test("a task of one server waits like an M/D/1 queue, and the next not at all", () => {
  const variants = [{ name: "v", accuracy: 1, latencyMs: { 1: 10 } }];
  const bundle = lokiBundle({
    sloMs: 10_000,
    tasks: [
      { name: "first", variants },
      { name: "second", parent: "first", variants },
    ],
    workers: [2],
    levels: [
      {
        loadQps: 100,
        instances: [
          { of: "first/v", batch: 1, replicas: 1 },
          { of: "second/v", batch: 1, replicas: 1 },
        ],
        paths: [{ along: ["first/v", "second/v"], ratio: 1 }],
      },
    ],
  });
  const result = poisson(bundle, 70, { durationMs: 3_000_000 });
  expect(result.violationRate).toBe(0);
  // Pollaczek and Khinchine: ρ·s / (2·(1 − ρ)) of waiting. 210 000 requests, of which about 10 in a
  // row are alike: 1 %.
  const waitMs = (0.7 * 10) / (2 * 0.3);
  expect(Math.abs((result.latencyMs?.mean ?? 0) - 20 - waitMs)).toBeLessThan(0.03 * waitMs);
});

describe("fan-out", () => {
  test.each(["rounded", "poisson"] as const)("%s has the mean that the bundle says", (fanout) => {
    const result = poisson(treeBundle(), 40, { fanout, durationMs: 400_000 });
    const detected = result.byTask["detect"]?.served ?? 0;
    const cars = result.byTask["cars"]?.queries ?? 0;
    const faces = result.byTask["faces"]?.queries ?? 0;
    // Four standard deviations of 16 000 Poisson counts.
    expect(Math.abs(cars / detected - 4)).toBeLessThan(4 * Math.sqrt(4 / detected));
    expect(Math.abs(faces / detected - 0.5)).toBeLessThan(4 * Math.sqrt(0.5 / detected));
  });
});

describe("plans", () => {
  const rates = (...qps: number[]): ArrivalProcess => ({
    kind: "trace",
    trace: {
      kind: "rates",
      startMs: Float64Array.from(qps, (_, second) => second * 10_000),
      qps: Float64Array.from(qps),
      endMs: qps.length * 10_000,
    },
  });

  test("follow the demand up at once and down after a while", () => {
    const result = simulateLoki(chainBundle({ policy: { drop: "deadline", modelLoadMs: 100 } }), {
      ...OPTIONS,
      arrivals: rates(40, 40, 400, 400, 400, 40, 40, 40, 40, 40),
      durationMs: 100_000,
      timeline: true,
    });
    const levels = result.timeline?.map(({ level }) => level) ?? [];
    expect(levels[19]).toBe(0);
    expect(levels[23]).toBe(2);
    expect(levels[48]).toBe(2);
    expect(levels[99]).toBe(0);
    expect(result.planSwitches).toBeLessThanOrEqual(4);
    expect(result.modelLoads).toBeGreaterThan(0);
    expect(result.servers.max).toBe(6);
    expect(result.servers.mean).toBeLessThan(6);
    // All of it in the seconds around the rise.
    expect(result.violationRate).toBeLessThan(0.05);
    const total = result.timeline?.reduce((sum, { requests }) => sum + requests, 0);
    expect(total).toBe(result.queries);
    const violations = result.timeline?.reduce((sum, second) => sum + second.violations, 0);
    expect(violations).toBe(result.late + result.dropped);
  });

  test("beyond the highest level the excess is shed, and the rest is in time", () => {
    const result = poisson(chainBundle({ policy: { drop: "deadline" } }), 800, {
      durationMs: 60_000,
    });
    // Four detectors carry 533, two classifiers 727 requests. What comes last is detected until 250
    // ms after the minute, less 5 to classify two crops.
    const carried = result.satisfied / 60;
    expect(carried).toBeGreaterThan(0.95 * 533);
    expect(carried).toBeLessThanOrEqual((4 * 2 * Math.floor((60_000 + 250 - 5) / 15)) / 60);
  });
});

describe("whatever the options", () => {
  const anyOptions = fc.record({
    isTree: fc.boolean(),
    drop: fc.constantFrom("none", "last-task", "per-task", "reroute", "deadline"),
    routing: fc.constantFrom("auto", "plan", "most-accurate-first"),
    modelLoadMs: fc.constantFrom(0, 50, 700),
    communicationLatencyMs: fc.constantFrom(0, 2),
    fanout: fc.constantFrom("rounded", "poisson"),
    qps: fc.integer({ min: 5, max: 700 }),
    seed: fc.nat(1000),
  });

  test("every request is settled, and the same seed gives the same bytes", () => {
    fc.assert(
      fc.property(
        anyOptions,
        ({ isTree, qps, seed, fanout, communicationLatencyMs, ...policy }) => {
          const sketch = { policy, communicationLatencyMs };
          const bundle = isTree ? treeBundle(sketch) : chainBundle(sketch);
          const run = () =>
            simulateLoki(bundle, {
              ...OPTIONS,
              arrivals: {
                kind: "trace",
                trace: {
                  kind: "rates",
                  startMs: Float64Array.of(0, 3000, 6000),
                  qps: Float64Array.of(qps, qps / 4, qps),
                  endMs: 12_000,
                },
              },
              durationMs: 12_000,
              seed,
              fanout,
              timeline: true,
            });
          const result = run();
          expect(result.satisfied + result.late + result.dropped).toBe(result.queries);
          for (const { queries, served, dropped } of Object.values(result.byTask)) {
            expect(served + dropped).toBe(queries);
            expect(dropped).toBeGreaterThanOrEqual(0);
          }
          expect(JSON.stringify(run())).toBe(JSON.stringify(result));
        },
      ),
      { numRuns: casesOf(60, 4) },
    );
  });
});

test("an entry task gets its share of the requests", () => {
  const variants = [{ name: "v", accuracy: 0.5, latencyMs: { 1: 1 } }];
  const bundle = lokiBundle({
    tasks: [
      { name: "all", variants },
      { name: "some", entryShare: 0.25, variants },
    ],
    workers: [2],
    levels: [
      {
        loadQps: 500,
        instances: [
          { of: "all/v", batch: 1, replicas: 1 },
          { of: "some/v", batch: 1, replicas: 1 },
        ],
        paths: [
          { along: ["all/v"], ratio: 1 },
          { along: ["some/v"], ratio: 1 },
        ],
      },
    ],
  });
  const result = poisson(bundle, 400);
  const share = (result.byTask["some"]?.queries ?? 0) / result.queries;
  expect(Math.abs(share - 0.25)).toBeLessThan(4 * Math.sqrt(0.1875 / result.queries));
  expect(result.byTask["all"]?.queries).toBe(result.queries);
  expect(result.accuracyPerSatisfied).toBeCloseTo(0.5, 12);
});

test("sampled service times need quantiles", () => {
  expect(() => poisson(chainBundle(), 50, { serviceTimes: "sampled" })).toThrow(/detect\/small/);
});

test("a task's table waits for more queries as it says, and mixes its variants", () => {
  // A query alone waits until 40 of its 100 ms are left and then takes the large variant; two at a
  // time take the small one.
  const WAIT = 0xffff;
  const slackMs = { dtype: "float64", shape: [3], data: Float64Array.of(0, 40, 40.001) } as const;
  const actions = { dtype: "uint16", shape: [2, 2], data: Uint16Array.of(1, 1, 0, 2) } as const;
  const decisionMs = {
    dtype: "float64",
    shape: [2, 2],
    data: Float64Array.of(10, 15, 30, 50),
  } as const;
  const data = Uint16Array.of(0, 0, WAIT, 1, 1, 1);
  const stage = {
    budgetMs: 100,
    serviceTimes: { percentile: null, decisionMs, quantiles: null },
    decisionSpace: { maxQueue: 1, slackMs, actions },
    actionByState: { dtype: "uint16", shape: [2, 3], data },
  } as const;
  const bundle = chainBundle({ levels: [{ ...LARGE, stages: [stage, null] }], workers: [4] });
  const result = simulateLoki(bundle, { ...OPTIONS, arrivals: at(0, 500, 520) });
  expect(result.byVariant["detect/large"]).toMatchObject({ queries: 1, batches: 1 });
  expect(result.byVariant["detect/small"]).toMatchObject({ queries: 2, batches: 1 });
  // 60 of waiting, 30 of detection, and 20 of four classifications in one batch.
  expect(result.latencyMs?.max).toBeCloseTo(110, 2);
});
