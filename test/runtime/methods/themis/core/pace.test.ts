import { describe, expect, test } from "vitest";
import { beatMsOf } from "../../../../../runtime/core/beat.ts";
import { DROP_LATE } from "../../../../../runtime/core/command-buffer.ts";
import { themisDemandOf } from "../../../../../runtime/methods/themis/core/demand.ts";
import { themisShapeOf } from "../../../../../runtime/methods/themis/core/shape.ts";
import { type ThemisBundleSketch, themisBundle } from "../../../../support/themis-bundle.ts";
import type { ThemisDriver } from "../../../../support/themis-driver.ts";
import { twoTasksUp } from "../../../../support/themis-two-tasks.ts";

const LEVELS = [10, 20, 40, 80].map((loadQps, index) => ({
  loadQps,
  steady: [
    [1, 1, index + 1],
    [1, 1, 1],
  ] as const,
  horizontal: null,
  vertical: null,
}));

/** The level that is needed after some beats of even requests. */
function neededAt(qps: number, pace: number, sketch: ThemisBundleSketch = {}): number {
  const bundle = themisBundle({ levels: LEVELS, sloMs: 1000, workers: 64, ...sketch });
  const demand = themisDemandOf(bundle, themisShapeOf(bundle));
  const beatMs = beatMsOf(bundle.slo);
  let [level, nextMs] = [0, 0];
  for (let beat = 1; beat <= 8; beat++) {
    for (; nextMs < beatMs * beat; nextMs += 1000 / qps) demand.onArrival(nextMs);
    demand.look(beatMs * beat, 0, level, level, pace);
    level = demand.needed;
  }
  return level;
}

describe("a level", () => {
  test("carries its load divided by the pace", () => {
    expect([1, 1.5, 2, 3].map((pace) => neededAt(18, pace))).toEqual([1, 2, 2, 3]);
  });

  test("is not chosen at a pace at which its requests would miss the SLO", () => {
    // On one core a request takes 49.5 ms, on two for the first task less.
    const levels = [
      { ...LEVELS[0], loadQps: 10 },
      {
        ...LEVELS[1],
        loadQps: 20,
        steady: [
          [1, 2, 1],
          [1, 1, 1],
        ] as const,
      },
    ];
    const sketch = { levels: levels as NonNullable<ThemisBundleSketch["levels"]>, sloMs: 70 };
    expect([1, 1.3, 1.5].map((pace) => neededAt(2, pace, sketch))).toEqual([0, 0, 1]);
  });
});

/** Both instances of the first task run batches of one that take so many times the profile. */
function run(driver: ThemisDriver, factors: readonly number[], rounds = 12): void {
  for (let round = 0; round < rounds; round++) {
    driver.request(0, 8);
    driver.endEvent();
    // A hundredth of a beat.
    driver.passTo(driver.nowMs + 20);
    for (const [worker, queries] of [...driver.running]) {
      // 4 b + 2 + b + 1 ms on one core.
      const profiledMs = 5 * queries.length + 3;
      driver.finish(worker, profiledMs * (factors[worker] ?? 1));
      driver.endEvent();
    }
    while (driver.running.size > 0) {
      for (const worker of [...driver.running.keys()]) driver.finish(worker);
      driver.endEvent();
    }
  }
}

describe("a batch", () => {
  test("gives up queries that a slow instance would end too late", () => {
    for (const [adapt, dropped] of [
      [true, 1],
      [false, 0],
    ] as const) {
      const driver = twoTasksUp({ policy: { dropRule: "rest" } }, { adapt, level: 0 });
      run(driver, [2, 2]);
      driver.dropped.length = 0;
      // One query takes 8 ms there, 8 ms behind, and twice as long at half the speed.
      driver.request(0, 1, 20);
      driver.endEvent();
      const late = driver.dropped.filter(({ reason }) => reason === DROP_LATE);
      expect(late).toHaveLength(dropped);
    }
  });

  test("starts on the fastest instance, and on a straggler only if that ends it in time", () => {
    const driver = twoTasksUp({}, { level: 0, reference: "decision" });
    run(driver, [3, 1], 80);
    expect(driver.dispatcher.pace?.isStraggler(0)).toBe(true);
    const before = driver.started.length;
    driver.request();
    driver.endEvent();
    driver.request(0, 1, 12);
    driver.endEvent();
    expect(driver.started.length).toBe(before + 1);
    expect(driver.started.at(-1)?.worker).not.toBe(0);
    driver.request(0, 1, 100);
    driver.cancel(driver.queries.length - 2);
    driver.endEvent();
    expect(driver.started.at(-1)?.worker).toBe(0);
  });
});
