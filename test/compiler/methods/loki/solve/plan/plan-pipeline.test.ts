import { expect, test } from "vitest";
import {
  capacityOf,
  hardwareCapacityOf,
} from "../../../../../../compiler/methods/loki/solve/plan/capacity.ts";
import { checkPlan } from "../../../../../../compiler/methods/loki/solve/plan/check-plan.ts";
import {
  modelLoads,
  nearestPlan,
} from "../../../../../../compiler/methods/loki/solve/plan/nearest-plan.ts";
import { planPipeline } from "../../../../../../compiler/methods/loki/solve/plan/plan-pipeline.ts";
import type { PipelineProblem } from "../../../../../../compiler/model/pipeline.ts";
import { casesOf } from "../../../../../support/cases.ts";
import { type RandomShape, randomProblem } from "../../../../../support/loki-random.ts";

const LIMITS = { timeLimitMs: 10_000 };
const AUTO = { ...LIMITS, solver: "auto" } as const;
const TREE: RandomShape = {
  parents: [null, 0, 0],
  variants: 3,
  batches: 3,
  servers: [10],
  oneBatchPerVariant: true,
  isProduct: true,
  zeroFanout: 0,
  tightness: 1.5,
};
const CHAIN: RandomShape = { ...TREE, parents: [null, 0], variants: 4 };
const TWO_POOLS: RandomShape = { ...CHAIN, variants: 3, servers: [5, 4] };
const SHAPES = [TREE, CHAIN, TWO_POOLS];

test("more demand never raises the accuracy, and one more server never lowers it", async () => {
  for (let seed = 1; seed <= 12; seed++) {
    const problem = randomProblem(seed, SHAPES[seed % 3] ?? TREE);
    const { qps } = capacityOf(problem, LIMITS);
    const hardware = hardwareCapacityOf(problem, LIMITS).qps;
    let before = 1;
    for (const share of [0.1, 0.4, 0.8, 0.99]) {
      const demandQps = hardware * 1.01 + (qps - hardware * 1.01) * share;
      if (demandQps > qps) continue;
      const { plan, step } = await planPipeline(problem, demandQps, AUTO);
      expect(step).toBe("accuracy");
      expect(plan?.accuracy).toBeLessThanOrEqual(before + 1e-8);
      before = plan?.accuracy ?? 0;
      const larger = { ...problem, servers: problem.servers.map((count) => count + 1) };
      const more = await planPipeline(larger, demandQps, AUTO);
      if (more.step === "accuracy")
        expect(more.plan?.accuracy).toBeGreaterThanOrEqual(before - 1e-8);
      expect(more.plan).not.toBeNull();
    }
  }
});

test("a thousandth of the demand at a thousand times the times keeps the plan", async () => {
  for (let seed = 1; seed <= 12; seed++) {
    const problem = randomProblem(seed, SHAPES[seed % 3] ?? TREE);
    const { qps } = capacityOf(problem, LIMITS);
    // A power of two keeps every number's digits, so the searches are the same to the bit.
    const slow = slower(problem, 1024);
    for (const share of [0.2, 0.6, 0.95]) {
      const { plan } = await planPipeline(problem, qps * share, AUTO);
      expect((await planPipeline(slow, (qps * share) / 1024, AUTO)).plan).toEqual(plan);
      const thousand = await planPipeline(slower(problem, 1000), (qps * share) / 1000, AUTO);
      expect(Math.abs((thousand.plan?.accuracy ?? 0) - (plan?.accuracy ?? 1))).toBeLessThan(1e-9);
      expect(thousand.plan?.servers).toBe(plan?.servers);
    }
  }
});

function slower(problem: PipelineProblem, factor: number): PipelineProblem {
  return {
    ...problem,
    leaves: problem.leaves.map((leaf) => ({
      ...leaf,
      latencyLimitMs: leaf.latencyLimitMs * factor,
    })),
    tasks: problem.tasks.map((task) => ({
      ...task,
      variants: task.variants.map((variant) => ({
        ...variant,
        configurations: variant.configurations.map((one) => ({
          ...one,
          latencyMs: one.latencyMs * factor,
          throughputQps: one.throughputQps / factor,
        })),
      })),
    })),
  };
}

test("has no unit of time: capacity, accuracy, servers and gap are the same in any", async () => {
  const deep = { ...TREE, parents: [null, 0, 1, 2], variants: 2, batches: 2, servers: [8] };
  const shapes = [{ ...deep, parents: [null] }, { ...deep, parents: [null, 0] }, deep, TREE];
  for (let seed = 1; seed <= casesOf(12, 3); seed++) {
    const problem = randomProblem(seed, shapes[seed % 4] ?? TREE);
    const { qps } = capacityOf(problem, LIMITS);
    const plans = [0, 0.2, 0.6, 0.95].map((share) => planPipeline(problem, qps * share, AUTO));
    for (const factor of [1e-6, 1e-3, 7.3, 1e3, 1e6]) {
      const scaled = slower(problem, factor);
      expect(capacityOf(scaled, LIMITS).qps * factor).toBeCloseTo(qps, 6);
      for (const [index, share] of [0, 0.2, 0.6, 0.95].entries()) {
        const own = await plans[index];
        const other = await planPipeline(scaled, (qps * share) / factor, AUTO);
        expect(other.step).toBe(own?.step);
        expect(other.plan?.servers).toBe(own?.plan?.servers);
        expect(Math.abs((other.plan?.accuracy ?? 0) - (own?.plan?.accuracy ?? 1))).toBeLessThan(
          1e-9,
        );
        expect(Math.abs(other.report.gap - (own?.report.gap ?? 1))).toBeLessThan(1e-9);
      }
    }
  }
}, 600_000);

test("gives the same plan twice, and the same optimum with every solver", async () => {
  for (let seed = 1; seed <= casesOf(3, 3); seed++) {
    const problem = randomProblem(seed, SHAPES[seed % 3] ?? TREE);
    const demandQps = capacityOf(problem, LIMITS).qps * (seed % 2 === 0 ? 0.15 : 0.7);
    const first = await planPipeline(problem, demandQps, AUTO);
    expect(await planPipeline(problem, demandQps, AUTO)).toEqual(first);
    for (const solver of ["glpk", "highs"] as const) {
      const other = await planPipeline(problem, demandQps, { ...LIMITS, solver });
      expect(other.step).toBe(first.step);
      const better = (other.plan?.accuracy ?? 0) - (first.plan?.accuracy ?? 0);
      expect(better).toBeLessThan(1e-8);
      expect(better).toBeGreaterThanOrEqual(-other.report.gap - 1e-8);
      expect(other.report.method).toBe(solver);
    }
  }
});

test("several batch sizes per variant are at least as accurate as one", async () => {
  for (let seed = 1; seed <= 8; seed++) {
    const one = randomProblem(seed, CHAIN);
    const several = { ...one, oneBatchPerVariant: false };
    const demandQps = capacityOf(one, LIMITS).qps * 0.6;
    const [restricted, free] = [
      await planPipeline(one, demandQps, AUTO),
      await planPipeline(several, demandQps, AUTO),
    ];
    expect(free.plan?.accuracy).toBeGreaterThanOrEqual((restricted.plan?.accuracy ?? 1) - 1e-8);
  }
});

test("a stopped search says what it has and how far the optimum can be", async () => {
  const problem = randomProblem(3, { ...TREE, variants: 6, batches: 5, servers: [40] });
  const demandQps = capacityOf(problem, LIMITS).qps * 0.2;
  const exact = await planPipeline(problem, demandQps, AUTO);
  const stopped = { ...AUTO, timeLimitMs: 1 };
  const { plan, report } = await planPipeline(problem, demandQps, stopped);
  expect(await planPipeline(problem, demandQps, stopped)).toEqual({
    plan,
    step: "accuracy",
    report,
  });
  expect(["feasible", "unknown"]).toContain(report.status);
  if (plan === null || exact.plan === null) return;
  expect(report.gap).toBeGreaterThan(0);
  expect(exact.plan.accuracy).toBeLessThanOrEqual(plan.accuracy + report.gap + 1e-9);
});

test("has a capacity whose plan serves it, and is infeasible just above its bound", async () => {
  for (let seed = 1; seed <= 6; seed++) {
    const problem = randomProblem(seed, SHAPES[seed % 3] ?? TREE);
    const { qps, boundQps, plan } = capacityOf(problem, LIMITS);
    if (plan === null) throw new Error("no plan");
    expect(checkPlan(problem, qps, plan)).toEqual([]);
    expect(boundQps / qps).toBeLessThan(1.001);
    const { report } = await planPipeline(problem, boundQps * 1.0001, AUTO);
    expect(report.status).toBe("infeasible");
  }
});

test("no demand still needs a server per task, and too tight a limit has no plan", async () => {
  const problem = randomProblem(1, TREE);
  const idle = await planPipeline(problem, 0, AUTO);
  expect({ step: idle.step, servers: idle.plan?.servers }).toEqual({
    step: "hardware",
    servers: 3,
  });
  const tight = await planPipeline(randomProblem(1, { ...TREE, tightness: 0.01 }), 1, AUTO);
  expect({ plan: tight.plan, status: tight.report.status }).toEqual({
    plan: null,
    status: "infeasible",
  });
  expect(capacityOf(randomProblem(1, { ...TREE, tightness: 0.01 }), LIMITS).qps).toBe(0);
});

test("the nearest plan is as good and needs no more loads; none from itself", async () => {
  for (let seed = 1; seed <= 12; seed++) {
    const problem = randomProblem(seed, SHAPES[seed % 3] ?? TREE);
    const { qps } = hardwareCapacityOf(problem, LIMITS);
    for (const share of [0.5, 0.9, 1.3]) {
      const here = (await planPipeline(problem, qps * share, AUTO)).plan;
      const next = (await planPipeline(problem, qps * share * 1.1, AUTO)).plan;
      if (here === null || next === null) continue;
      const near = nearestPlan(problem, qps * share * 1.1, next, here, LIMITS);
      expect(checkPlan(problem, qps * share * 1.1, near)).toEqual([]);
      expect(near.accuracy).toBeGreaterThanOrEqual(next.accuracy - 2e-9);
      expect(near.servers).toBe(next.servers);
      const gain = modelLoads(problem, here, next) - modelLoads(problem, here, near);
      expect(gain).toBeGreaterThanOrEqual(0);
      expect(modelLoads(problem, next, next)).toBe(0);
    }
  }
});

test("of two variants that are alike the nearest plan keeps the one that is loaded", async () => {
  const base = randomProblem(1, { ...CHAIN, parents: [null], isProduct: true });
  const tasks = base.tasks.map((task) => ({
    ...task,
    variants: task.variants.flatMap((variant) => [variant, { ...variant, name: "twin" }]),
  }));
  const leaves = base.leaves.map((leaf) => ({
    ...leaf,
    accuracyByPath: Float64Array.from(
      [...(leaf.accuracyByPath ?? [])].flatMap((one) => [one, one]),
    ),
  }));
  const problem = { ...base, tasks, leaves };
  const { qps } = hardwareCapacityOf(problem, LIMITS);
  const { plan } = await planPipeline(problem, 0.8 * qps, AUTO);
  if (plan === null) throw new Error("no plan");
  const instances = plan.instances.map((one) => ({ ...one, variant: one.variant ^ 1 }));
  const neighbour = { ...plan, instances };
  expect(modelLoads(problem, neighbour, plan)).toBe(plan.servers);
  const near = nearestPlan(problem, 0.8 * qps, plan, neighbour, LIMITS);
  expect(modelLoads(problem, neighbour, near)).toBe(0);
  expect(near.servers).toBe(plan.servers);
});
