/** Latency has value: of policies that are about as accurate, the quicker one is found. */
import { describe, expect, test } from "vitest";
import { ramsisPromises } from "../../../../compiler/methods/ramsis/promises.ts";
import { ramsisMethod } from "../../../../compiler/methods/ramsis/ramsis.ts";
import { isSampled } from "../../../../compiler/methods/ramsis/simulate/promised-times.ts";
import { simulate } from "../../../../compiler/methods/ramsis/simulate/simulate.ts";
import {
  isBetter,
  latencyObjective,
  targetExcess,
} from "../../../../compiler/methods/ramsis/solve/latency-objective.ts";
import { ramsis } from "../../../../compiler/methods/ramsis/solve/ramsis.ts";
import type { RamsisFrame } from "../../../../compiler/model/frames.ts";
import type { RamsisPolicy, Slo } from "../../../../compiler/spec/application.ts";
import { loadApplication } from "../../../../compiler/spec/load-application.ts";
import { NO_ACTION, type RamsisLevel } from "../../../../runtime/bundle/schema.ts";
import { ramsisMissed } from "../../../../runtime/methods/ramsis/describe/missed.ts";
import { ofMethod } from "../../../support/of-method.ts";
import { writeSpec } from "../../../support/spec-file.ts";

interface Change {
  readonly slo?: Partial<Slo>;
  readonly policy?: Partial<RamsisPolicy>;
}

function frameOf(name: string, { slo, policy }: Change = {}): RamsisFrame {
  const { application } = loadApplication(`policies/${name}/app.yaml`);
  const own = ofMethod("ramsis", application);
  const changed = {
    ...own,
    slo: { ...own.slo, ...slo },
    policy: { ...own.policy, ...policy },
  };
  return ramsis.frame(changed, new Map());
}

function latenciesOf({ expected }: RamsisLevel): Required<NonNullable<typeof expected.latencyMs>> {
  const { latencyMs } = expected;
  if (latencyMs?.p95 === undefined) return expect.fail("a level states its latencies");
  return { ...latencyMs, p95: latencyMs.p95 };
}

function simulated(frame: RamsisFrame, level: RamsisLevel) {
  const bundle = { ...frame, levels: [level], provenance: { compiler: "test", inputs: [] } };
  const { latencyMs } = simulate(bundle, {
    arrivals: { kind: "poisson", qps: level.loadQps },
    durationMs: 60_000,
    seed: 7,
    serviceTimes: isSampled(bundle) ? "sampled" : "p95",
  });
  return latencyMs ?? expect.fail("queries are served");
}

describe("of pooled policies that are about as accurate, the quicker one is found", () => {
  test("letters at 1,100/s, where a rule that waits until the last moment is best", () => {
    const frame = frameOf("letters", { policy: { serviceTimes: "p95" } });
    const level = ramsis.solveLevel(frame, 1100);
    expect(level.expected.accuracyPerQuery).toBeGreaterThan(0.977819 - 1e-4);
    expect(latenciesOf(level).p50).toBeLessThan(20);
    expect(latenciesOf(level).max).toBeLessThan(100);
  });

  test("60 workers of the ImageNet example at 2,000/s", () => {
    const level = ramsis.solveLevel(frameOf("image-classification"), 2000);
    expect(level.expected.accuracyPerQuery).toBeGreaterThan(0.755175 - 1e-4);
    expect(latenciesOf(level).p50).toBeLessThan(110);
  });

  test("at a low load, where all are as accurate, batches start at once", () => {
    const frame = frameOf("letters");
    const level = ramsis.solveLevel(frame, 220);
    const { data, shape } = level.actionByState;
    const [, columns = 0] = shape;
    // One query that has just come, and three that came lately.
    expect(data[columns - 1]).not.toBe(NO_ACTION);
    expect(data[3 * columns - 2]).not.toBe(NO_ACTION);
    expect(latenciesOf(level).p50).toBeLessThan(2);
  });
});

test("a price of the spec gives up as much accuracy as it says, and 0 gives up none", () => {
  const at = (latencyPrice?: number) =>
    ramsis.solveLevel(
      frameOf("letters", latencyPrice === undefined ? {} : { policy: { latencyPrice } }),
      1300,
    );
  const [none, usual, high] = [at(0), at(), at(0.03)];
  const accuracyOf = ({ expected }: RamsisLevel): number => expected.accuracyPerQuery;
  expect(accuracyOf(usual)).toBeGreaterThan(accuracyOf(none) - 1e-4);
  expect(accuracyOf(high)).toBeLessThan(accuracyOf(usual) - 1e-4);
  expect(latenciesOf(high).p50).toBeLessThan(latenciesOf(usual).p50 / 2);
  // What is given up is paid for by the latency that is saved.
  const saved = (latenciesOf(usual).p50 - latenciesOf(high).p50) / 100;
  expect(accuracyOf(usual) - accuracyOf(high)).toBeLessThan(0.03 * saved * 1.5);
  expect(frameOf("letters").policy).not.toHaveProperty("latencyPrice");
  expect(frameOf("letters", { policy: { latencyPrice: 0.03 } }).policy.latencyPrice).toBe(0.03);
});

describe("targets of latency", () => {
  test.each([{ p50Ms: 9 }, { p95Ms: 12 }])("are kept where a policy can: %o", (slo) => {
    const frame = frameOf("letters", { slo });
    const level = ramsis.solveLevel(frame, 1300);
    const { p50, p95 } = latenciesOf(level);
    expect(targetExcess(slo, { p50, p95 })).toBe(0);
    expect(level.feasible).toBe(true);
    // No more accuracy is given up than the target takes.
    expect(level.expected.accuracyPerQuery).toBeGreaterThan(0.9755);
    expect(simulated(frame, level).p50).toBeLessThan(1.1 * p50);
  });

  test("that no policy keeps make a level infeasible, which names them", () => {
    const frame = frameOf("letters", { slo: { p50Ms: 0.1 } });
    const level = ramsis.solveLevel(frame, 860);
    expect(level.feasible).toBe(false);
    expect(ramsisMissed(frame, level)).toMatchObject([{ limit: "p50", allowed: 0.1 }]);
    const bundle = { ...frame, levels: [level], provenance: { compiler: "test", inputs: [] } };
    expect(ramsisPromises(bundle, level).missed).toHaveLength(1);
  });
});

test("gates read the promised latencies of a level, which hold", () => {
  const frame = frameOf("letters");
  const level = ramsis.solveLevel(frame, 1300);
  const { p50, p95, p99, max } = latenciesOf(level);
  expect(p50 <= p95 && p95 <= p99 && p99 <= max).toBe(true);
  const bundle = { ...frame, levels: [level], provenance: { compiler: "test", inputs: [] } };
  expect(ramsisPromises(bundle, level).figures).toMatchObject({ p50, p95, p99 });
  const fresh = simulated(frame, level);
  for (const [found, promised] of [
    [fresh.p50, p50],
    [fresh.p95, p95],
  ] as const) {
    expect(Math.abs(found / promised - 1)).toBeLessThan(0.1);
  }
  expect(ramsis.expectedOf(frame, level).latencyMs).toEqual(level.expected.latencyMs);
});

/** Two variants whose times are far apart, on two workers. */
function twoVariants({ slo, policy }: Change & { policy: Partial<RamsisPolicy> }): RamsisFrame {
  const names = ["quick", "accurate"] as const;
  const accuracies = [0.8, 0.9];
  const spec = {
    version: 1,
    application: "two",
    slo: { latency: "200 ms" },
    workload: { arrivals: { process: "poisson" }, loads: [15] },
    cluster: { workers: 2 },
    tasks: [
      {
        name: "task",
        variants: names.map((name, index) => {
          return { name, accuracy: accuracies[index], profile: `two.json#${name}` };
        }),
      },
    ],
    policy: { method: "ramsis", maxQueue: 4, ...policy },
  };
  const variants = {
    quick: { latencyMs: { 1: 20, 2: 26, 3: 32, 4: 38, 5: 44 } },
    accurate: { latencyMs: { 1: 60, 2: 90, 3: 120, 4: 150, 5: 180 } },
  };
  const profile = { format: "latency-profile/1", hardware: "test", variants };
  const { application } = loadApplication(writeSpec(spec, { "two.json": profile }));
  const own = ofMethod("ramsis", application);
  return ramsis.frame({ ...own, slo: { ...own.slo, ...slo } }, new Map());
}

describe.each(["round-robin", "shortest-queue"] as const)("with the balancer %s", (balancer) => {
  const at = async ({
    slo = {},
    latencyPrice,
  }: {
    slo?: Partial<Slo>;
    latencyPrice?: number;
  } = {}) => {
    const policy = { balancer, ...(latencyPrice !== undefined && { latencyPrice }) };
    const frame = twoVariants({ slo, policy });
    return { frame, ...(await ramsisMethod.solveLevel(frame, 15, () => 0)) };
  };

  test("latency has a price, and a level states what a simulation gives", async () => {
    const { frame, level: usual } = await at();
    const { level: free } = await at({ latencyPrice: 0 });
    const { level: high } = await at({ latencyPrice: 1 });
    expect(usual.expected.accuracyPerQuery).toBeGreaterThan(free.expected.accuracyPerQuery - 1e-4);
    expect(high.expected.accuracyPerQuery).toBeLessThan(usual.expected.accuracyPerQuery - 0.01);
    expect(latenciesOf(high).p50).toBeLessThan(0.8 * latenciesOf(usual).p50);
    const fresh = simulated(frame, usual);
    expect(Math.abs(fresh.p50 / latenciesOf(usual).p50 - 1)).toBeLessThan(0.15);
    const again = ramsisMethod.promised(
      frame,
      { ...frame, levels: [usual], provenance: { compiler: "test", inputs: [] } },
      0,
    );
    expect(again.expected).toMatchObject({ latencyMs: usual.expected.latencyMs });
  });

  test("a target is kept at a cost, or named", async () => {
    const { level: kept } = await at({ slo: { p50Ms: 40 } });
    expect(latenciesOf(kept).p50).toBeLessThanOrEqual(40);
    expect(latenciesOf((await at()).level).p50).toBeGreaterThan(40);
    expect(kept.feasible).toBe(true);
    const { frame, level: missed } = await at({ slo: { p50Ms: 1 } });
    expect(missed.feasible).toBe(false);
    expect(ramsisMissed(frame, missed)).toMatchObject([{ limit: "p50" }]);
  });
});

test("latency decides within the accuracy that it may cost, and accuracy beyond", () => {
  const usual = latencyObjective({});
  const quick = { score: 0.97, worth: 0.9699 };
  const slow = { score: 0.97 + 0.9 * usual.mostAccuracy, worth: 0.9695 };
  const better = { score: 0.97 + 1.1 * usual.mostAccuracy, worth: 0.9695 };
  expect(isBetter(usual, quick, slow)).toBe(true);
  expect(isBetter(usual, quick, better)).toBe(false);
  expect(isBetter(latencyObjective({ latencyPrice: 1e-3 }), quick, better)).toBe(true);
});
