import { describe, expect, it } from "vitest";
import { themis } from "../../../../../compiler/methods/themis/solve/themis.ts";
import type { ThemisFrame } from "../../../../../compiler/model/frames.ts";
import type { ScaledStage } from "../../../../../runtime/bundle/schema.ts";
import { planAccuracy } from "../../../../../runtime/methods/themis/core/plan-accuracy.ts";
import { casesOf } from "../../../../support/cases.ts";
import { choiceFrame, randomChoices } from "../../../../support/themis-choices.ts";

interface Best {
  readonly accuracy: number;
  /** Price an hour, or cores where there is one pool. */
  readonly cost: number;
}

/** Every variant, pool, number of cores and batch of every task, on the fewest instances. */
function bruteForce(frame: ThemisFrame, loadQps: number): Best | null {
  let best: Best | null = null;
  const choose = (chosen: readonly ScaledStage[], usedMs: number): void => {
    const task = frame.tasks[chosen.length];
    if (task === undefined) {
      if (usedMs > frame.slo.latencyMs * (1 + 1e-12) || !isPlaced(frame, chosen)) return;
      const found = { accuracy: planAccuracy(frame.tasks, chosen), cost: costOf(frame, chosen) };
      if (best === null || isBetter(found, best)) best = found;
      return;
    }
    for (const [variant, { latency }] of task.variants.entries()) {
      const [maxCores = 0, maxBatch = 0] = latency.ms.shape;
      for (let cores = 1; cores <= maxCores; cores++) {
        for (let batch = 1; batch <= maxBatch; batch++) {
          const ms = latency.ms.data[(cores - 1) * maxBatch + batch - 1] ?? Number.NaN;
          let instances = 1;
          while ((1000 * batch * instances) / ms < loadQps) instances++;
          const waitMs = (1000 * (batch - 1)) / loadQps;
          choose([...chosen, { batch, cores, instances, variant }], usedMs + ms + waitMs);
        }
      }
    }
  };
  choose([], 0);
  return best;
}

function isBetter(one: Best, other: Best): boolean {
  if (one.accuracy !== other.accuracy) return one.accuracy > other.accuracy;
  return one.cost < other.cost - 1e-9;
}

function poolOf({ tasks }: ThemisFrame, { variant = 0 }: ScaledStage, task: number): number {
  return tasks[task]?.variants[variant]?.pool ?? 0;
}

function costOf(frame: ThemisFrame, stages: readonly ScaledStage[]): number {
  const { pools } = frame.cluster;
  return stages.reduce((sum, stage, task) => {
    const { cores, pricePerHour } = pools[poolOf(frame, stage, task)] ?? {};
    const each = pools.length === 1 ? 1 : (pricePerHour ?? 0) / (cores ?? 1);
    return sum + stage.cores * stage.instances * each;
  }, 0);
}

/** Every way to put one instance after the other into a machine of its pool. */
function isPlaced(frame: ThemisFrame, stages: readonly ScaledStage[]): boolean {
  return frame.cluster.pools.every(({ workers, cores }, pool) => {
    const sizes = stages.flatMap((stage, task) =>
      poolOf(frame, stage, task) === pool
        ? new Array<number>(stage.instances).fill(stage.cores)
        : [],
    );
    const all = sizes.reduce((sum, size) => sum + size, 0);
    const machines = new Array<number>(workers).fill(cores ?? 1);
    return all <= workers * (cores ?? 1) && canBePlaced(sizes, machines);
  });
}

function canBePlaced(sizes: readonly number[], free: readonly number[]): boolean {
  const [size, ...others] = [...sizes].sort((a, b) => b - a);
  if (size === undefined) return true;
  return free.some((left, at) => {
    if (left < size || free.indexOf(left) !== at) return false;
    return canBePlaced(
      others,
      free.map((one, index) => (index === at ? one - size : one)),
    );
  });
}

describe("the choice among variants and pools", () => {
  it("is the most accurate that fits, and of those the cheapest, as brute force says", () => {
    const seen = { none: 0, severalPools: 0, severalVariants: 0, notTheFirst: 0 };
    for (let seed = 1; seed <= casesOf(4000); seed++) {
      const { sketch, loadQps } = randomChoices(seed);
      const frame = choiceFrame(sketch);
      const expected = bruteForce(frame, loadQps);
      if (expected === null) seen.none++;
      if (expected === null && !themis.isServable(frame)) continue;
      const level = themis.open(frame).scaleLevel(loadQps);
      expect(level.feasible, `seed ${seed}`).toBe(expected !== null);
      if (expected === null) continue;
      const { stages } = level.steady;
      expect(planAccuracy(frame.tasks, stages), `seed ${seed}`).toBe(expected.accuracy);
      expect(costOf(frame, stages), `seed ${seed}`).toBeCloseTo(expected.cost, 5);
      expect(isPlaced(frame, stages), `seed ${seed}`).toBe(true);
      if (frame.cluster.pools.length > 1) seen.severalPools++;
      if (frame.tasks.some(({ variants }) => variants.length > 1)) seen.severalVariants++;
      if (stages.some(({ variant = 0 }) => variant > 0)) seen.notTheFirst++;
    }
    for (const [kind, count] of Object.entries(seen)) expect(count, kind).toBeGreaterThan(20);
  });

  it("takes of variants that are as accurate and cost as much the faster, wherever it is", () => {
    const slow = { name: "slow", accuracy: 0.9, latencyMs: [[12, 20]] };
    const fast = { name: "fast", accuracy: 0.9, latencyMs: [[8, 16]] };
    for (const [variants, index] of [
      [[slow, fast], 1],
      [[fast, slow], 0],
    ] as const) {
      const pools = [{ workers: 2, cores: 1, pricePerHour: 1 }];
      const frame = choiceFrame({ tasks: [variants], pools, sloMs: 60 });
      const [stage] = themis.open(frame).scaleLevel(20).steady.stages;
      expect(stage).toMatchObject({ cores: 1, instances: 1 });
      expect(stage?.variant ?? 0).toBe(index);
    }
  });
});
