import { describe, expect, test } from "vitest";
import { simulateInferline } from "../../../../../compiler/methods/inferline/simulate/simulate.ts";
import { simulateThemis } from "../../../../../compiler/methods/themis/simulate/simulate.ts";
import { StageWatch } from "../../../../../compiler/simulate/graph/scalers/stage-watch.ts";
import { inferlineBundle } from "../../../../support/inferline-bundle.ts";
import { at, OPTIONS } from "../../../../support/inferline-latencies.ts";
import { themisBundle } from "../../../../support/themis-bundle.ts";

test("counts what waits and runs, over time", () => {
  const watch = new StageWatch(1);
  watch.replicaChanges(0, 1);
  watch.atMs(100);
  watch.queryComes(0);
  watch.queryComes(0);
  watch.queryComes(0);
  watch.atMs(150);
  watch.queryLeaves(0);
  watch.batchStarts(0, 1);
  watch.atMs(250);
  watch.batchEnds(0, 1);
  expect(watch.state(0, 2, 350)).toEqual({
    nowMs: 350,
    target: 2,
    ready: 1,
    waiting: 1,
    running: 0,
    arrived: 3,
    inStageMs: 3 * 50 + 2 * 100 + 100,
    waitingMs: 3 * 50 + 200,
    busyMs: 100,
  });
});

describe("of a simulation", () => {
  test("queries are in the stages for as long as requests take", () => {
    const bundle = inferlineBundle({
      tasks: [
        { name: "detect", latencyMs: { 1: 10, 2: 15 } },
        { name: "read", from: { detect: 1 }, latencyMs: { 1: 20 } },
      ],
      levels: [
        {
          loadQps: 10,
          stages: [
            [2, 1],
            [1, 2],
          ],
        },
      ],
    });
    const watch = new StageWatch(2);
    const arrivals = at([0, 1, 2, 3, 50, 51, 52, 200]);
    const ran = simulateInferline(bundle, { ...OPTIONS, arrivals, watch });
    const [detect, read] = [0, 1].map((task) => watch.state(task, 1, OPTIONS.durationMs));
    const total = [...(ran.latencyMsByRequest ?? [])].reduce((sum, ms) => sum + ms, 0);
    expect((detect?.inStageMs ?? 0) + (read?.inStageMs ?? 0)).toBeCloseTo(total, 6);
    expect(detect).toMatchObject({ waiting: 0, running: 0, arrived: 8, ready: 1 });
    expect(read).toMatchObject({ waiting: 0, running: 0, arrived: 8, ready: 2, busyMs: 160 });
  });

  test("dropped queries no longer count", () => {
    const bundle = themisBundle({ sloMs: 100 });
    const watch = new StageWatch(2);
    const arrivals = { kind: "poisson", qps: 400 } as const;
    const ran = simulateThemis(bundle, {
      arrivals,
      durationMs: 5000,
      seed: 1,
      level: 0,
      watch,
    });
    expect(ran.dropped).toBeGreaterThan(0);
    for (const task of [0, 1]) {
      const sight = watch.state(task, 1, 10_000);
      expect(sight).toMatchObject({ waiting: 0, running: 0, ready: 1 });
      expect(sight.arrived).toBeGreaterThan(0);
    }
  });
});
