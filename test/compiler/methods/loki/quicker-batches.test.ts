import { quickerBatches, quickest } from "stratagem/internal/methods/loki/quicker-batches";
import { simulatedExpectation } from "stratagem/internal/methods/loki/simulated-level";
import { bundledPlan } from "stratagem/internal/methods/loki/solve/bundled-plan";
import { capacityOf } from "stratagem/internal/methods/loki/solve/plan/capacity";
import { checkPlan } from "stratagem/internal/methods/loki/solve/plan/check-plan";
import { planPipeline } from "stratagem/internal/methods/loki/solve/plan/plan-pipeline";
import type { PipelinePlan, PipelineProblem } from "stratagem/internal/model/pipeline";
import type { LokiLevel } from "stratagem-runtime/internal/bundle/schema";
import { describe, expect, it } from "vitest";
import { casesOf } from "../../../support/cases.ts";
import { lokiBundle } from "../../../support/loki-bundle.ts";
import { randomProblem, tinyShape } from "../../../support/loki-random.ts";

/** Batch latency of the paths that requests take, weighted by their traffic. */
function pathLatencyMs({ plan }: LokiLevel): number {
  return plan.nodes.reduce(
    (sum, { instance, ratio }) => sum + ratio * (plan.instances[instance]?.latencyMs ?? 0),
    0,
  );
}

/** The least of it over all batches of all instances that the plan can have. */
function leastLatencyMs(problem: PipelineProblem, demandQps: number, plan: PipelinePlan): number {
  const level = (instances: PipelinePlan["instances"]): LokiLevel =>
    ({
      plan: bundledPlan(problem, { ...plan, instances }, { step: "accuracy", demandQps }),
    }) as LokiLevel;
  let least = Number.POSITIVE_INFINITY;
  const extend = (index: number, instances: PipelinePlan["instances"]): void => {
    const instance = instances[index];
    if (instance === undefined) {
      if (checkPlan(problem, demandQps, { ...plan, instances }).length > 0) return;
      least = Math.min(least, pathLatencyMs(level(instances)));
      return;
    }
    const { configurations } = problem.tasks[instance.task]?.variants[instance.variant] ?? {
      configurations: [],
    };
    const { pool } = configurations[instance.configuration] ?? { pool: -1 };
    for (const [configuration, one] of configurations.entries()) {
      if (one.pool !== pool) continue;
      extend(index + 1, instances.with(index, { ...instance, configuration }));
    }
  };
  extend(0, plan.instances);
  return least;
}

const LINEAR_TASK = {
  name: "detect",
  variants: [{ name: "net", accuracy: 0.9, latencyMs: { 1: 10, 2: 20, 4: 40, 8: 80 } }],
} as const;

function linearBundle(loadQps: number) {
  return lokiBundle({
    tasks: [LINEAR_TASK],
    workers: [1],
    levels: [
      {
        loadQps,
        instances: [{ of: "detect/net", batch: 8, replicas: 1 }],
        paths: [{ along: ["detect/net"], ratio: 1 }],
      },
    ],
  });
}

describe("the batches of a plan", () => {
  it("have the least latency of all that carry the plan, as brute force finds", async () => {
    let lower = 0;
    for (let seed = 1; seed <= casesOf(40, 8); seed++) {
      const shape = { ...tinyShape(seed), batches: 4, oneBatchPerVariant: true, tightness: 4 };
      const problem = randomProblem(seed, shape);
      const demandQps = 0.3 * capacityOf(problem, { timeLimitMs: 10_000 }).qps || 1;
      const { plan, step } = await planPipeline(problem, demandQps, {
        solver: "auto",
        timeLimitMs: 10_000,
      });
      if (plan === null) continue;
      const bundled = bundledPlan(problem, plan, { step, demandQps });
      const level = { loadQps: demandQps, plan: bundled, stages: null } as unknown as LokiLevel;
      const found = quickest(problem, level, (tried) => ({
        meanMs: pathLatencyMs(tried),
        p99Ms: 0,
        accuracyPerQuery: 1,
      }));
      expect(found.plan.servers).toBe(plan.servers);
      expect(found.plan.accuracy).toBe(plan.accuracy);
      const least = leastLatencyMs(problem, demandQps, plan);
      // Steps below half a percent are not taken.
      expect(pathLatencyMs(found), `seed ${seed}`).toBeLessThanOrEqual(least * 1.02);
      if (pathLatencyMs(found) < pathLatencyMs(level)) lower++;
    }
    expect(lower).toBeGreaterThan(0);
  });

  it("shrink where a larger batch serves no more queries per second", () => {
    const { levels, provenance: _, ...frame } = linearBundle(80);
    const [level] = levels;
    if (level === undefined) throw new TypeError("there is one level");
    const promised = { ...level, expected: simulatedExpectation(frame, { levels }, level.loadQps) };
    const found = quickerBatches(frame, frame, promised);
    expect(found.plan.instances[0]?.batch).toBe(1);
    expect(found.expected).toEqual(simulatedExpectation(frame, { levels: [found] }, found.loadQps));
    expect(found.expected.latencyMsP50).toBeLessThan(promised.expected.latencyMsP50);
    expect(found.expected.latencyMsP99).toBeLessThan(promised.expected.latencyMsP99);
  });

  it("stay where the tries are less accurate or have a longer tail", () => {
    const { levels, provenance: _, ...frame } = linearBundle(80);
    const [level] = levels;
    if (level === undefined) throw new TypeError("there is one level");
    const problem = randomProblem(1, tinyShape(1));
    for (const worse of [{ accuracyPerQuery: 0.8999 - 1e-4 }, { p99Ms: 101 }]) {
      const found = quickest(problem, level, (tried) =>
        tried === level
          ? { meanMs: 50, p99Ms: 100, accuracyPerQuery: 0.9 }
          : { meanMs: 1, p99Ms: 100, accuracyPerQuery: 0.9, ...worse },
      );
      expect(found).toBe(level);
    }
    expect(frame.tasks).toHaveLength(1);
  });
});

it("a level is promised where no request has a query", () => {
  const { levels, provenance: _, ...frame } = linearBundle(80);
  const [level] = levels;
  if (level === undefined) throw new TypeError("there is one level");
  const tasks = frame.tasks.map((task) => ({ ...task, entryShare: 0 }));
  const found = simulatedExpectation({ ...frame, tasks }, { levels }, level.loadQps);
  expect(found.violationRate).toBe(0);
});
