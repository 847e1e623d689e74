import { expect, test } from "vitest";
import { hardwarePlan } from "../../../../../../compiler/methods/loki/solve/baselines/hardware-plan.ts";
import { proteusPlan } from "../../../../../../compiler/methods/loki/solve/baselines/proteus-plan.ts";
import { hardwareCapacityOf } from "../../../../../../compiler/methods/loki/solve/plan/capacity.ts";
import { checkPlan } from "../../../../../../compiler/methods/loki/solve/plan/check-plan.ts";
import { planPipeline } from "../../../../../../compiler/methods/loki/solve/plan/plan-pipeline.ts";
import { randomProblem } from "../../../../../support/loki-random.ts";

const LIMITS = { timeLimitMs: 10_000 };
const SHAPE = {
  parents: [null, 0, 0],
  variants: 3,
  batches: 3,
  servers: [12],
  oneBatchPerVariant: true,
  isProduct: true,
  zeroFanout: 0,
  tightness: 2,
};

test("hardware scaling is step 1 within its capacity, and its plan beyond it", async () => {
  for (let seed = 1; seed <= 10; seed++) {
    const problem = randomProblem(seed, SHAPE);
    const { qps, plan: largest } = hardwareCapacityOf(problem, LIMITS);
    const within = await planPipeline(problem, 0.7 * qps, { ...LIMITS, solver: "auto" });
    expect(hardwarePlan(problem, 0.7 * qps, LIMITS)).toEqual(within.plan);
    const beyond = hardwarePlan(problem, 3 * qps, LIMITS);
    expect(beyond).toEqual(largest);
    if (beyond !== null) expect(checkPlan(problem, qps, beyond)).toEqual([]);
  }
});

test("Proteus uses all servers, splits queries alike, and divides the limit by task", () => {
  for (let seed = 1; seed <= 10; seed++) {
    const problem = randomProblem(seed, SHAPE);
    const { qps } = hardwareCapacityOf(problem, LIMITS);
    for (const demandQps of [0.5 * qps, 2 * qps, 100 * qps]) {
      const plan = proteusPlan(problem, demandQps, LIMITS);
      if (plan === null) throw new Error("no plan");
      expect(plan.servers).toBe(12);
      const flow = checkPlan(problem, 0, plan).filter((mistake) => !mistake.endsWith("ms"));
      expect(flow).toEqual([]);
      for (const { task, variant, configuration } of plan.instances) {
        const limit = (problem.leaves[0]?.latencyLimitMs ?? 0) / 2;
        const other = (problem.leaves[1]?.latencyLimitMs ?? 0) / 2;
        const mine = task === 0 ? Math.min(limit, other) : task === 1 ? limit : other;
        const { latencyMs = Number.NaN } =
          problem.tasks[task]?.variants[variant]?.configurations[configuration] ?? {};
        expect(latencyMs).toBeLessThanOrEqual(mine + 1e-9);
      }
    }
  }
});

test("Proteus is never more accurate than the optimum where its plan serves", async () => {
  let served = 0;
  for (let seed = 1; seed <= 30; seed++) {
    const problem = randomProblem(seed, SHAPE);
    const demandQps = 1.5 * hardwareCapacityOf(problem, LIMITS).qps;
    const plan = proteusPlan(problem, demandQps, LIMITS);
    if (plan === null || checkPlan(problem, demandQps, plan).length > 0) continue;
    served++;
    const best = await planPipeline(problem, demandQps, { ...LIMITS, solver: "auto" });
    expect(best.plan?.accuracy).toBeGreaterThanOrEqual(plan.accuracy - 1e-9);
  }
  expect(served).toBeGreaterThan(3);
});

test("both baselines have no plan where no variant is fast enough", () => {
  const problem = randomProblem(1, { ...SHAPE, tightness: 0.001 });
  expect(hardwarePlan(problem, 1, LIMITS)).toBeNull();
  expect(proteusPlan(problem, 1, LIMITS)).toBeNull();
});
