import { describe, expect, test } from "vitest";
import { simulateInferline } from "../../../../../compiler/methods/inferline/simulate/simulate.ts";
import type { InferlineBundle } from "../../../../../runtime/bundle/schema.ts";
import { type InferlineTaskSketch, inferlineBundle } from "../../../../support/inferline-bundle.ts";
import { at, latencies, OPTIONS } from "../../../../support/inferline-latencies.ts";

/** One stage a level of the same batch and replicas. */
function oneStage(
  latencyMs: Record<number, number>,
  stage: readonly [number, number],
): InferlineBundle {
  return inferlineBundle({
    tasks: [{ name: "a", latencyMs }],
    levels: [{ loadQps: 100, stages: [stage] }],
  });
}

describe("a stage", () => {
  test("serves what waits in one batch, as soon as a replica is free", () => {
    const bundle = oneStage({ 1: 10, 2: 12, 4: 20 }, [4, 1]);
    // One at 0 to 10; three wait and take the time of four, to 30; then two, to 42; then one.
    const times = [0, 1, 2, 3, 11, 12, 60];
    expect(latencies(bundle, at(times))).toEqual([10, 29, 28, 27, 31, 30, 10]);
  });

  test("takes all arrivals of one time before batches start, and all ends before starts", () => {
    const bundle = oneStage({ 1: 10, 2: 12 }, [2, 2]);
    // At 10 both replicas are free, and two requests come: the lower replica takes both.
    const result = simulateInferline(bundle, { ...OPTIONS, arrivals: at([0, 0, 12, 12, 12]) });
    expect([...(result.latencyMsByRequest ?? [])]).toEqual([12, 12, 12, 12, 10]);
    expect(result.byTask["a"]).toMatchObject({ queries: 5, batches: 3 });
  });

  test("never makes regular arrivals at its capacity wait; above it the wait grows", () => {
    const bundle = oneStage({ 1: 10 }, [1, 2]);
    const every = (gapMs: number) => at(Array.from({ length: 1000 }, (_, n) => n * gapMs));
    expect(new Set(latencies(bundle, every(5)))).toEqual(new Set([10]));
    const above = latencies(bundle, every(4));
    // Requests 2k and 2k + 1 come at 8k and 8k + 4 and start at 10k and 10k + 4.
    for (const [n, latencyMs] of above.entries()) expect(latencyMs).toBe(10 + 2 * (n >> 1));
  });

  test("of one server without batches has the mean wait of an M/D/1 queue", () => {
    const result = simulateInferline(oneStage({ 1: 10 }, [1, 1]), {
      ...OPTIONS,
      arrivals: { kind: "poisson", qps: 70 },
      durationMs: 3_000_000,
    });
    // Pollaczek and Khinchine. 210 000 requests, of which about ten in a row are alike: 1 %.
    const waitMs = (0.7 * 10) / (2 * 0.3);
    expect(Math.abs((result.latencyMs?.mean ?? 0) - 10 - waitMs)).toBeLessThan(0.03 * waitMs);
  });
});

describe("ties", () => {
  const PAIR: InferlineTaskSketch[] = [
    { name: "a", latencyMs: { 1: 10 } },
    { name: "b", latencyMs: { 1: 10 } },
    { name: "c", from: { a: 1, b: 1 }, latencyMs: { 1: 5 } },
  ];

  test("between tasks go by the order of the tasks, whichever batch started first", () => {
    const bundle = inferlineBundle({
      tasks: [
        { name: "a", from: { requests: 0.5 }, latencyMs: { 1: 5 } },
        { name: "b", from: { requests: 0.5 }, latencyMs: { 1: 10 } },
        { name: "c", from: { a: 1, b: 1 }, latencyMs: { 1: 7 } },
      ],
      levels: [
        {
          loadQps: 100,
          stages: [
            [1, 1],
            [1, 1],
            [1, 1],
          ],
        },
      ],
    });
    // The first goes to b at 0, the second to a at 5; both are done at 10, and a's comes first.
    const arrivals = at([0, 5], { 0: [0, 1], 1: [1, 0] });
    expect(latencies(bundle, arrivals)).toEqual([24, 12]);
  });

  test("within a task go by the start of the batch", () => {
    const bundle = inferlineBundle({
      tasks: [
        { name: "a", latencyMs: { 1: 10, 2: 10 } },
        { name: "c", from: { a: 1 }, latencyMs: { 1: 7 } },
      ],
      levels: [
        {
          loadQps: 100,
          stages: [
            [2, 2],
            [1, 1],
          ],
        },
      ],
    });
    expect(latencies(bundle, at([0, 0, 0]))).toEqual([17, 24, 31]);
  });

  test("of deliveries keep the order in which they were settled", () => {
    const bundle = inferlineBundle({
      tasks: PAIR,
      levels: [
        {
          loadQps: 100,
          stages: [
            [1, 2],
            [1, 2],
            [1, 1],
          ],
        },
      ],
      communicationLatencyMs: 3,
    });
    // 3 on the way, 10 of work, 3 on the way, 5 of work one after the other.
    expect(latencies(bundle, at([0, 0]))).toEqual([21, 26]);
  });
});

describe("a request", () => {
  const DIAMOND = inferlineBundle({
    tasks: [
      { name: "a", latencyMs: { 1: 10 }, accuracy: 0.9 },
      { name: "b", from: { a: 0.5 }, latencyMs: { 1: 20 }, accuracy: 0.8 },
      { name: "c", from: { a: 0.5 }, latencyMs: { 1: 30 }, accuracy: 0.7 },
      { name: "d", from: { b: 0.5, c: 0.5 }, latencyMs: { 1: 40 }, accuracy: 0.6 },
    ],
    levels: [
      {
        loadQps: 100,
        stages: [
          [1, 8],
          [1, 8],
          [1, 8],
          [1, 8],
        ],
      },
    ],
    workers: [32],
    sloMs: 80,
  });

  /** Latency and accuracy of one that takes these of the edges a-b, a-c, b-d, c-d. */
  function along(...edges: readonly [number, number, number, number]) {
    const [ab, ac, bd, cd] = edges;
    const result = simulateInferline(DIAMOND, {
      ...OPTIONS,
      arrivals: at([7], { 1: [ab], 2: [ac], 3: [bd], 4: [cd] }),
    });
    return [result.latencyMs?.max, result.accuracyPerSatisfied ?? result.accuracyPerQuery];
  }

  test("is done with its last task, and has the mean accuracy of its paths", () => {
    expect(along(0, 0, 1, 1)).toEqual([10, 0.9]);
    expect(along(1, 0, 0, 1)).toEqual([30, 0.9 * 0.8]);
    expect(along(1, 1, 0, 0)).toEqual([40, (0.9 * 0.8 + 0.9 * 0.7) / 2]);
  });

  test("comes to a join when the last task before it has decided, or is known not to come", () => {
    expect(along(1, 0, 1, 1)).toEqual([70, 0.9 * 0.8 * 0.6]);
    expect(along(0, 1, 1, 1)).toEqual([80, 0.9 * 0.7 * 0.6]);
    expect(along(1, 1, 1, 1)).toEqual([80, 0.9 * 0.8 * 0.7 * 0.6]);
    // From b at 30, but c decides at 40 only.
    expect(along(1, 1, 1, 0)).toEqual([80, (0.9 * 0.7 + 0.9 * 0.8 * 0.7 * 0.6) / 2]);
  });

  test("is late only beyond the SLO, and a violation has accuracy 0", () => {
    const arrivals = at([0, 0], { 1: [1, 1], 2: [1, 0], 3: [1, 1], 4: [1, 1] });
    const onTime = simulateInferline(DIAMOND, { ...OPTIONS, arrivals });
    expect(onTime).toMatchObject({ queries: 2, satisfied: 2, late: 0, violationRate: 0 });
    const tight = { ...DIAMOND, slo: { ...DIAMOND.slo, latencyMs: 79 } };
    const late = simulateInferline(tight, { ...OPTIONS, arrivals });
    expect(late).toMatchObject({ satisfied: 1, late: 1, dropped: 0, violationRate: 0.5 });
    expect(late.accuracyPerSatisfied).toBe(0.9 * 0.8 * 0.6);
    expect(late.accuracyPerQuery).toBe((0.9 * 0.8 * 0.6) / 2);
  });

  test("takes at most one of exclusive branches, and is done at once if it takes no entry", () => {
    const bundle = inferlineBundle({
      tasks: [
        { name: "a", from: { requests: 0.5 }, latencyMs: { 1: 10 } },
        { name: "b", from: { requests: 0.3 }, latencyMs: { 1: 20 } },
      ],
      entryBranch: "exclusive",
      levels: [
        {
          loadQps: 10,
          stages: [
            [1, 4],
            [1, 4],
          ],
        },
      ],
    });
    const result = simulateInferline(bundle, {
      ...OPTIONS,
      arrivals: { kind: "poisson", qps: 10 },
      durationMs: 600_000,
    });
    const { a, b } = result.byTask;
    const none = (result.latencyMsByRequest ?? []).filter((latencyMs) => latencyMs === 0).length;
    expect((a?.queries ?? 0) + (b?.queries ?? 0) + none).toBe(result.queries);
    // Four standard deviations of a share of 6000.
    expect(Math.abs(none / result.queries - 0.2)).toBeLessThan(4 * Math.sqrt(0.16 / 6000));
    expect(result.accuracyPerQuery).toBe(1);
  });

  test("takes the communication latency to every task", () => {
    const hops = { ...DIAMOND, cluster: { ...DIAMOND.cluster, communicationLatencyMs: 2.5 } };
    expect(latencies(hops, at([0]))).toEqual([10 + 30 + 40 + 7.5]);
  });
});

describe("all in all", () => {
  const BUNDLE = inferlineBundle({
    tasks: [
      { name: "a", latencyMs: { 1: 5, 2: 7, 4: 11 } },
      { name: "b", from: { a: 0.6 }, latencyMs: { 1: 10, 4: 20 } },
      { name: "c", from: { a: 0.5, b: 0.7 }, latencyMs: { 1: 4, 2: 6 } },
    ],
    levels: [
      {
        loadQps: 300,
        stages: [
          [4, 3],
          [4, 3],
          [2, 2],
        ],
      },
    ],
    prices: [0.25],
  });
  const poisson = { kind: "poisson", qps: 300 } as const;

  test("every request is served, and every visit is a query", () => {
    const result = simulateInferline(BUNDLE, { ...OPTIONS, arrivals: poisson, timeline: true });
    const { byTask, queries } = result;
    expect(result.satisfied + result.late).toBe(queries);
    expect(byTask["a"]?.queries).toBe(queries);
    expect((byTask["b"]?.queries ?? 0) / queries).toBeCloseTo(0.6, 1);
    // 0.5 + 0.6 · 0.7 less both.
    expect((byTask["c"]?.queries ?? 0) / queries).toBeCloseTo(0.71, 1);
    const timeline = result.timeline ?? [];
    expect(timeline).toHaveLength(60);
    expect(timeline.reduce((sum, second) => sum + second.requests, 0)).toBe(queries);
    expect(timeline.reduce((sum, second) => sum + second.violations, 0)).toBe(result.late);
    expect(timeline[59]).toMatchObject({ servers: 8, costPerHour: 2, level: 0 });
    expect(result).toMatchObject({
      costPerHour: 2,
      servers: { mean: 8, max: 8 },
      scaling: { up: 0, down: 0 },
      planSwitches: 0,
    });
    expect(byTask["b"]?.replicas).toEqual({ mean: 3, max: 3 });
  });

  test("the same seed gives the same, another seed something else", () => {
    const run = (seed: number) =>
      simulateInferline(BUNDLE, { ...OPTIONS, arrivals: poisson, seed });
    expect(run(3)).toEqual(run(3));
    expect(run(3).latencyMs).not.toEqual(run(4).latencyMs);
  });

  test("sampled service times need quantiles", () => {
    expect(() =>
      simulateInferline(BUNDLE, { ...OPTIONS, arrivals: poisson, serviceTimes: "sampled" }),
    ).toThrow("sampled service times need");
  });
});

test("requests beyond the limit under way are dropped, and count as violations", () => {
  const bundle = oneStage({ 1: 1, 4096: 2 }, [4096, 1]);
  const trace = { arrivalMs: new Float64Array(2 ** 20 + 4), takenByEdge: [null] };
  const result = simulateInferline(
    { ...bundle, slo: { ...bundle.slo, latencyMs: 1e6 } },
    { ...OPTIONS, arrivals: { kind: "requests", trace } },
  );
  expect(result).toMatchObject({ queries: 2 ** 20 + 4, satisfied: 2 ** 20, late: 0, dropped: 4 });
  expect(result.latencyMsByRequest?.at(-1)).toBeNaN();
  expect(result.violationRate).toBe(4 / (2 ** 20 + 4));
});
