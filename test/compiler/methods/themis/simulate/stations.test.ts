/** Scaled stages on the machine that serves, and the times of batches as they were measured. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  DrawnBatchTimes,
  haveBatchQuantiles,
} from "../../../../../compiler/methods/themis/simulate/drawn-batch-times.ts";
import { simulateThemis } from "../../../../../compiler/methods/themis/simulate/simulate.ts";
import type { ThemisBundle } from "../../../../../runtime/bundle/schema.ts";
import { Rng } from "../../../../../runtime/core/rng.ts";
import { always, CROWDED, onMachine, PATH, servingPath } from "../../../../support/serving-path.ts";
import { themisBundle } from "../../../../support/themis-bundle.ts";
import { serveAt } from "../../../../support/themis-latencies.ts";
import { jumpingRates, randomThemisBundle } from "../../../../support/themis-random-bundle.ts";

/** 12, 8, 7 and 6 ms on one to four cores. */
function oneStage(
  stage: readonly [batch: number, cores: number, instances: number],
  sketch: Parameters<typeof themisBundle>[0] = {},
): ThemisBundle {
  return themisBundle({
    tasks: [{ name: "a", latencyMs: [[12], [8], [7], [6]] }],
    levels: [{ loadQps: 10, steady: [stage] }],
    sloMs: 100,
    ...sketch,
  });
}

const rounded = (ms: readonly number[]) => ms.map((one) => Math.round(one * 1e9) / 1e9);

describe("a request", () => {
  test("that is alone takes the sum of all that it passes, each once", () => {
    const sum = 2 + 2 + 12 + 1 + 0.5 + 2 + 2 * 0.25;
    const { latencies } = serveAt(onMachine(oneStage([1, 1, 1]), PATH), [0, 100]);
    expect(rounded(latencies)).toEqual([sum, sum]);
  });

  test("is given up by what its deadline is without the margin", () => {
    const droppedWith = (marginMs: number) => {
      const path = servingPath({ requestMs: always(1), marginMs });
      return serveAt(onMachine(oneStage([1, 1, 1], { sloMs: 20 }), path), [0, 0]).dropped;
    };
    // Taken up at 2, its turn comes at 13.
    expect([droppedWith(8), droppedWith(10)]).toEqual([0, 1]);
  });
});

describe("instances", () => {
  const path = servingPath({ processors: 2, contention: [1, 1.5] });
  const latenciesOf = (bundle: ThemisBundle, arrivals: readonly number[]) =>
    rounded(serveAt(onMachine(bundle, path), arrivals).latencies);

  test("of as many cores as there are processors take alone what was measured", () => {
    expect(latenciesOf(oneStage([1, 2, 1]), [0])).toEqual([8]);
  });

  test("of two cores each on two processors take turns of 4 ms", () => {
    expect(latenciesOf(oneStage([1, 2, 2]), [0, 0])).toEqual([12, 16]);
  });

  test("of one core each are slowed by what contention was measured to be", () => {
    expect(latenciesOf(oneStage([1, 1, 2]), [0, 0])).toEqual([18, 18]);
  });

  test("without path and contention are what they are where nothing is known, to the bit", () => {
    const arrivals = { kind: "poisson", qps: 100 } as const;
    const options = { arrivals, durationMs: 5000, seed: 1, timeline: true };
    const stations = { path: false, contention: false };
    const bundle = themisBundle();
    expect(simulateThemis(onMachine(bundle, CROWDED), { ...options, stations })).toEqual(
      simulateThemis(bundle, options),
    );
  });
});

test("every request ends once, whatever it passes and is scaled", () => {
  fc.assert(
    fc.property(randomThemisBundle(), jumpingRates, fc.nat(1000), (bundle, arrivals, seed) => {
      const result = simulateThemis(onMachine(bundle, CROWDED), {
        arrivals,
        durationMs: arrivals.trace.endMs,
        seed,
        startLevel: seed % bundle.levels.length,
        timeline: true,
        withLatencies: true,
      });
      const { satisfied, late, dropped, queries, timeline, latencyMsByRequest } = result;
      expect(satisfied + late + dropped).toBe(queries);
      expect(latencyMsByRequest?.filter(Number.isNaN)).toHaveLength(dropped);
      const total = (key: "requests" | "violations") =>
        (timeline ?? []).reduce((sum, second) => sum + second[key], 0);
      expect([total("requests"), total("violations")]).toEqual([queries, late + dropped]);
    }),
    { numRuns: 15 },
  );
});

describe("times of batches that are drawn", () => {
  /** Measured: one instance on one and on four cores; p50, p95, p99 and mean. */
  function measured(): ThemisBundle {
    const bundle = themisBundle({
      tasks: [
        {
          name: "a",
          latencyMs: [
            [10, 20],
            [8, 16],
            [6, 12],
            [4, 8],
          ],
          points: [
            [1, 1, 10],
            [1, 4, 4],
          ],
        },
      ],
      levels: [{ loadQps: 10, steady: [[1, 1, 1]] }],
    });
    const data = Float64Array.of(5, 10, 12, 6, 3, 4, 4.4, 3.1);
    const quantiles = { dtype: "float64", shape: [2, 4], data } as const;
    const tasks = bundle.tasks.map((task) => ({
      ...task,
      variants: task.variants.map((variant) => ({
        ...variant,
        latency: { ...variant.latency, quantiles },
      })),
    }));
    return { ...bundle, tasks };
  }

  const COUNT = 20_000;
  /** Of so many draws. */
  function quantilesOf(batch: number, cores: number): number[] {
    const times = new DrawnBatchTimes(measured().tasks, new Rng(1, 2));
    const drawn = Float64Array.from({ length: COUNT }, () => times.nextMs(0, batch, cores)).sort();
    return [0.5, 0.95, 0.99].map((at) => drawn[Math.floor(at * COUNT)] ?? Number.NaN);
  }

  // A quantile of so many draws is off by 3 standard errors, 0.5 % of the rank, at most; between
  // p50 and p95 that is 2 % of the time.
  test.each([
    [1, 1, [5, 10, 12]],
    [1, 4, [3, 4, 4.4]],
    // As far from one core as from four: the smaller. Twice the time that was measured.
    [2, 2, [8, 16, 19.2]],
    [1, 3, [4.5, 6, 6.6]],
  ])("of %i on %i cores are spread as the nearest cell was", (batch, cores, expected) => {
    for (const [index, ms] of quantilesOf(batch, cores).entries()) {
      expect(Math.abs(ms / (expected[index] ?? Number.NaN) - 1)).toBeLessThan(0.02);
    }
  });

  test("are used by simulations, and refused where nothing is known", () => {
    const bundle = measured();
    const options = {
      arrivals: { kind: "poisson", qps: 5 },
      durationMs: 100_000,
      seed: 1,
      serviceTimes: "sampled",
    } as const;
    expect([haveBatchQuantiles(bundle.tasks), haveBatchQuantiles(themisBundle().tasks)]).toEqual([
      true,
      false,
    ]);
    const { latencyMs } = simulateThemis(bundle, options);
    // Mostly alone: the median of the cell, and never beyond what it can be but for waiting.
    expect(latencyMs?.p50).toBeGreaterThan(4.5);
    expect(latencyMs?.p50).toBeLessThan(6);
    expect(() => simulateThemis(themisBundle(), options)).toThrow("sampled service times need");
  });
});
