import { describe, expect, test } from "vitest";
import {
  BurstReserve,
  type BurstReserveOptions,
  carriedQpsOf,
} from "../../../../../runtime/methods/inferline/core/burst-reserve.ts";
import { inferlineBundle } from "../../../../support/inferline-bundle.ts";

const OPTIONS: BurstReserveOptions = {
  memoryMs: 600_000,
  ceiling: 0.01,
  activationMs: 5000,
  beatMs: 1000,
  dispersion: 1,
  slack: 0,
};
/** What is ready carries 100 a second, and so much more 5 s after more comes. */
const BASE_QPS = 60;
const READY_QPS = 100;

/** A look a second, at a rate for so many seconds each. */
function lookedAt(
  pieces: readonly (readonly [seconds: number, qps: number])[],
  options: Partial<BurstReserveOptions> = {},
  waitMs = 0,
): BurstReserve {
  const reserve = new BurstReserve({ ...OPTIONS, ...options });
  let nowMs = 0;
  for (const [seconds, qps] of pieces) {
    for (let second = 0; second < seconds; second++) {
      const carriedQps = second < 5 ? READY_QPS : Math.max(READY_QPS, qps);
      nowMs += 1000;
      reserve.look({ nowMs, sureQps: 0.9 * qps, lastQps: qps, meanQps: qps, carriedQps, waitMs });
    }
  }
  return reserve;
}

describe("what is held for bursts", () => {
  test("is nothing before there was one, and for traffic that is carried", () => {
    expect(lookedAt([]).qps).toBe(0);
    expect(lookedAt([[100, 99]]).qps).toBe(0);
  });

  test("carries a burst that lost more of its requests than the SLO allows", () => {
    const burst = [
      [60, BASE_QPS],
      [20, 180],
    ] as const;
    // As long as it lasts the traffic itself is provided for.
    expect(lookedAt(burst).qps).toBe(0);
    expect(lookedAt([...burst, [10, BASE_QPS]]).qps).toBe(180);
  });

  test("has the slack of a count over the time that replicas take", () => {
    const burst = [
      [20, 180],
      [10, BASE_QPS],
    ] as const;
    expect(lookedAt(burst, { slack: 2 }).qps).toBe(180 + 2 * Math.sqrt(180 / 5));
  });

  test("is nothing after a leap to a load that stayed: it made up for what it lost", () => {
    // 400 of 81 000.
    const stayed = [
      [60, BASE_QPS],
      [450, 180],
      [60, BASE_QPS],
    ] as const;
    expect(lookedAt(stayed).qps).toBe(0);
    expect(lookedAt(stayed, { ceiling: 0.004 }).qps).toBe(180);
  });

  test("is nothing after a burst that could wait", () => {
    // 400 more than are carried in five seconds.
    const burst = [
      [60, BASE_QPS],
      [20, 180],
      [10, BASE_QPS],
    ] as const;
    expect(lookedAt(burst, {}, 4100).qps).toBe(0);
    expect(lookedAt(burst, {}, 1000).qps).toBe(180);
  });

  test("is that of the highest that is remembered, and is forgotten", () => {
    const two = [
      [20, 200],
      [30, BASE_QPS],
      [20, 150],
    ] as const;
    expect(lookedAt([...two, [400, BASE_QPS]]).qps).toBe(200);
    expect(lookedAt([...two, [550, BASE_QPS]]).qps).toBe(150);
    expect(lookedAt([...two, [650, BASE_QPS]]).qps).toBe(0);
    expect(lookedAt([...two, [10, BASE_QPS]], { memoryMs: 0 }).qps).toBe(0);
  });

  test("goes by the stage that carries the fewest requests", () => {
    const bundle = inferlineBundle({
      tasks: [
        { name: "a", latencyMs: { 1: 50 } },
        { name: "b", from: { a: 1 }, latencyMs: { 1: 10 } },
      ],
      levels: [
        {
          loadQps: 60,
          stages: [
            [1, 5],
            [1, 2],
          ],
        },
      ],
    });
    const stages = bundle.levels[0]?.plan.stages ?? [];
    const carried = (factors: readonly number[], replicas: readonly number[]) =>
      carriedQpsOf(stages, [20, 100], Float64Array.from(factors), Uint32Array.from(replicas));
    expect(carried([1, 1], [5, 2])).toBe(100);
    expect(carried([1, 4], [5, 2])).toBe(50);
    expect(carried([1, 0], [5, 0])).toBe(100);
  });
});
