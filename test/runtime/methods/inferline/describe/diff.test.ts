import { expect, test } from "vitest";
import { diffBundles } from "../../../../../compiler/gate/differences.ts";
import { diffText } from "../../../../../compiler/gate/differences-text.ts";
import type {
  InferlineBundle,
  InferlineLevel,
  StagePlan,
} from "../../../../../runtime/bundle/schema.ts";
import { inferlineSample } from "../../../../support/inferline-samples.ts";

function withLevel(
  index: number,
  change: (level: InferlineLevel) => InferlineLevel,
): InferlineBundle {
  const bundle = inferlineSample();
  return { ...bundle, levels: bundle.levels.map((one, at) => (at === index ? change(one) : one)) };
}

function withStage(
  level: InferlineLevel,
  task: number,
  change: Partial<StagePlan>,
): InferlineLevel {
  const stages = level.plan.stages.map((one, at) => (at === task ? { ...one, ...change } : one));
  return { ...level, plan: { ...level.plan, stages } };
}

test("levels differ by cost and by the stages that changed, in words", () => {
  const after = withLevel(1, (level) => {
    const changed = withStage(level, 0, { pool: 2, batch: 4, replicas: 1 });
    return { ...changed, plan: { ...changed.plan, costPerHour: 3.767 } };
  });
  const diff = diffBundles(inferlineSample(), after);
  expect(diff.levels).toHaveLength(1);
  expect(diffText(diff).split("\n")).toEqual([
    "the bundles differ: 1 level, 0 fields outside the levels",
    "  plans: changed at 120 qps",
    "  plan.costPerHour: 3.569 → 3.767 at 120 qps",
    "",
    "level 120 qps: another plan",
    "  plan.costPerHour: 3.569 → 3.767",
    "  plan.stages[detect].hardware: hardware1 → hardware2",
    "  plan.stages[detect].batch: 8 → 4",
    "  plan.stages[detect].replicas: 3 → 1",
    "  plan.stages[detect].pool: pool1 → pool2",
  ]);
});

test("the order of the pools is not a difference of the plans", () => {
  const before = inferlineSample();
  const order = [2, 0, 1];
  const placed = <T>(items: readonly T[]): T[] =>
    order.map((index) => items[index]).filter((item) => item !== undefined);
  const after: InferlineBundle = {
    ...before,
    cluster: { ...before.cluster, pools: placed(before.cluster.pools) },
    levels: before.levels.map((level) => ({
      ...level,
      plan: {
        ...level.plan,
        stages: level.plan.stages.map((one) => ({ ...one, pool: order.indexOf(one.pool) })),
      },
    })),
  };
  expect(diffBundles(before, after).levels).toEqual([]);
});

test("another envelope is told by its counts", () => {
  const after = withLevel(0, (level) => {
    const { envelope } = level.sample;
    const data = Float64Array.of(18, 26, 42, 70, 2460);
    const requests = { ...envelope.requests, dtype: "float64" as const, data };
    return { ...level, sample: { ...level.sample, envelope: { ...envelope, requests } } };
  });
  expect(diffText(diffBundles(inferlineSample(), after))).toContain(
    "sample.envelope.requests.data: 17,26,42,70,2460 → 18,26,42,70,2460",
  );
});
