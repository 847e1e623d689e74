import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import type { InferlineBundle } from "../../../../../runtime/bundle/schema.ts";
import { encodeBundle } from "../../../../../runtime/bundles/checked-bundle.ts";
import { inspectBundle } from "../../../../../runtime/bundles/inspect.ts";
import { inspectCommand } from "../../../../../runtime/commands/inspect.ts";
import { verifyCommand } from "../../../../../runtime/commands/verify.ts";
import { longestPathMs } from "../../../../../runtime/core/graph/longest-path.ts";
import { taskLimits } from "../../../../../runtime/methods/inferline/describe/task-limits.ts";
import { inferlineBundle } from "../../../../support/inferline-bundle.ts";
import { inferlineSample } from "../../../../support/inferline-samples.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-inspect-"));
const path = join(folder, "stages.msgpack");
writeFileSync(path, encodeBundle(inferlineSample()));
afterAll(() => rmSync(folder, { recursive: true }));

const inspect = (loadQps: number | null, state: string | null = null) =>
  inspectCommand({ path, loadQps, state });

test("reports levels as the contract has them, stages by name", () => {
  const { levels } = inspectBundle(inferlineSample(), { byteCount: 1, sha256: "ab" });
  expect(levels[0]).toEqual({
    loadQps: 40,
    feasible: true,
    missed: [],
    capacityQps: 40,
    plan: {
      costPerHour: 1.401,
      stages: [
        expect.objectContaining({ task: "detect", hardware: "hardware1", batch: 4, replicas: 1 }),
        expect.objectContaining({ task: "faces", hardware: "hardware1", batch: 2, replicas: 1 }),
        {
          task: "plates",
          hardware: "hardware0",
          batch: 1,
          replicas: 1,
          variant: "plates",
          pool: "pool0",
          latencyMs: 50,
          throughputQps: 20,
          scaleFactor: 0.3,
          provisioningRatio: (40 * 0.3) / 20,
        },
        expect.objectContaining({ task: "rank", hardware: "hardware0", batch: 4, replicas: 1 }),
      ],
      estimate: { p99Ms: 188.25, missRate: 0.0004 },
      greedyCostPerHour: 1.5345,
      provenGap: 0,
    },
    sample: {
      requests: 4800,
      durationMs: 120_000,
      meanQps: 40,
      peakQps: 51.4,
      margin: 0.05,
      envelope: [
        { windowMs: 155, requests: 17, qps: 17_000 / 155 },
        { windowMs: 310, requests: 26, qps: 26_000 / 310 },
        { windowMs: 620, requests: 42, qps: 42_000 / 620 },
        { windowMs: 1240, requests: 70, qps: 70_000 / 1240 },
        { windowMs: 60_000, requests: 2460, qps: 41 },
      ],
    },
    expected: inferlineSample().levels[0]?.expected,
    solve: { ms: null, method: "branch-and-bound", status: "optimal", gap: 0, evaluations: 812 },
  });
});

test("hardware goes by the name of its pool where the pool does not say what it is", () => {
  const sample = inferlineSample();
  const pools = sample.cluster.pools.map((pool) => ({ ...pool, hardware: null }));
  const bundle = { ...sample, cluster: { ...sample.cluster, pools } };
  const { levels } = inspectBundle(bundle, { byteCount: 1, sha256: "ab" });
  expect(levels[0]).toMatchObject({ plan: { stages: [{ hardware: "pool1" }, {}, {}, {}] } });
});

test("lists the tables of profiles and envelopes as sections", () => {
  const { sections } = inspectBundle(inferlineSample(), { byteCount: 1, sha256: "ab" });
  const names = sections.map(({ name }) => name);
  expect(names.slice(0, 3)).toEqual([
    "tasks[0].variants[0].profiles[0].batches",
    "tasks[0].variants[0].profiles[0].latencyMs",
    "tasks[0].variants[0].profiles[0].serviceTimes.decisionMs",
  ]);
  // Three, two, two and one profiles of three tables, and two tables a level.
  expect(names).toHaveLength(8 * 3 + 4 * 2);
  expect(names.slice(-2)).toEqual([
    "levels[3].sample.envelope.windowMs",
    "levels[3].sample.envelope.requests",
  ]);
});

test("sums up tasks with what leads to them, their hardware, and a row a level", async () => {
  const { text, exitCode } = await inspect(null);
  expect(exitCode).toBe(0);
  const lines = text.split("\n");
  expect(lines).toContain("pool pool1: 6 workers of hardware1, 0.634 an hour each");
  expect(lines).toContain("task faces, after detect (60.000%)");
  expect(lines).toContain(
    "task rank, after faces (100.000%) and plates (100.000%): a join, " +
      "which waits for all taken edges",
  );
  expect(lines.find((line) => /^a {2}hardware1 +detect/.test(line))).toMatch(
    /90\.000% +0\.634 +1 2 4 8 +30 40 60 100$/,
  );
  const at = lines.findIndex((line) => line.startsWith("load qps"));
  expect(lines[at]).toMatch(/p99 of 250 ms/);
  expect(lines.slice(at + 1, -2).map((line) => line.trim().split(/ {2,}/))).toEqual([
    [
      "40",
      "4",
      "1.401",
      "1.5345",
      "optimal",
      "188.25",
      "5.000%",
      "20 of 20",
      "50",
      "196.5",
      "0.120%",
      "-",
      "yes",
    ],
    [
      "120",
      "11",
      "3.569",
      "4.236",
      "gap 6.250%",
      "231",
      "5.000%",
      "19 of 20",
      "50",
      "244",
      "0.800%",
      "-",
      "yes",
    ],
    [
      "300",
      "17",
      "6.9",
      "6.9",
      "optimal",
      "244",
      "0.000%",
      "20 of 20",
      "50",
      "239",
      "0.750%",
      "-",
      "yes",
    ],
    [
      "600",
      "23",
      "13.0685",
      "-",
      "infeasible",
      "247",
      "0.000%",
      "3 of 20",
      "50",
      "1930",
      "31.000%",
      "-",
      "no: load 600 > 480 qps; violations 31.000% > 1.000%",
    ],
  ]);
});

test("says of exclusive branches that a query takes one", async () => {
  const sample = inferlineSample();
  const tasks = sample.tasks.map((task, index) =>
    index === 0 ? { ...task, branch: "exclusive" as const } : task,
  );
  const file = join(folder, "exclusive.msgpack");
  writeFileSync(file, encodeBundle({ ...sample, tasks }));
  const { text } = await inspectCommand({ path: file, loadQps: null, state: null });
  expect(text).toContain("task faces, after detect (60.000%, one of its branches)");
});

test("shows a level's stages, its envelope, and why it is not cheaper", async () => {
  const { text, json } = await inspect(100);
  const lines = text.split("\n").map((line) => line.trim().split(/ {2,}/));
  expect(text).toContain("level 120 qps: 3.569 an hour, branch-and-bound, gap 6.250%");
  expect(text).toContain("longest path with whole batches 179 ms");
  expect(text).toContain("cost 3.569 an hour as planned, 3.71 in the mean of the simulation");
  expect(lines).toContainEqual([
    "a",
    "detect",
    "hardware1",
    "detect",
    "8",
    "3",
    "100",
    "80",
    "1",
    "50.000% of 240 qps",
  ]);
  expect(lines).toContainEqual(["60000", "7201", "120.017"]);
  expect(lines).toContainEqual([
    "detect",
    "load 75.000% of the rest: queues too long",
    "none profiled",
    "hardware0: 14 replicas at least, more than it has",
  ]);
  expect(json).toMatchObject({
    level: {
      index: 1,
      loadQps: 120,
      plan: { costPerHour: 3.569 },
      limits: [{ task: "detect" }, {}, {}, {}],
    },
  });
});

test("says which load a plan is for where the pools do not carry the level's", async () => {
  expect((await inspect(9000)).text).toContain("this one is for 480 qps");
  expect((await inspect(300)).text).not.toContain("this one is for");
});

test("refuses to show a state, which tasks do not have", async () => {
  await expect(inspect(40, "queued=7,slack=40ms")).rejects.toMatchObject({
    code: "RUNTIME_USAGE",
    message: expect.stringContaining("--state: expected a bundle that decides by states"),
  });
});

test("the runtime's verify says what holds of plans and what it cannot recompute", async () => {
  const { text, json, exitCode } = await verifyCommand(path);
  expect(exitCode).toBe(0);
  expect(text).toContain("4 levels, each with a plan whose stages are as profiled");
  expect(text).toContain("guarantees not recomputed");
  expect(json).toMatchObject({ ok: true, method: "inferline", stateCount: null, guarantees: null });
});

/**
 * One stage on the dearest of four kinds of hardware, each cheaper one being too slow in another
 * way.
 */
function cornered(): InferlineBundle {
  return inferlineBundle({
    tasks: [
      {
        name: "only",
        latencyMs: [{ 1: 120 }, { 1: 90 }, { 1: 40 }, { 1: 10, 4: 20 }, { 1: 5, 2: 8, 4: 30 }],
      },
    ],
    sloMs: 100,
    workers: [99, 1, 99, 99, 9],
    prices: [0.1, 0.2, 0.9, 1, 2.5],
    levels: [{ loadQps: 150, stages: [[2, 2, 4]] }],
  });
}

test("each kind of limit is told from the others", () => {
  const bundle = cornered();
  const [level] = bundle.levels;
  if (level === undefined) throw new TypeError("there is a level");
  const [limits] = taskLimits(bundle, level);
  expect(limits?.oneReplicaLess).toEqual({
    provisioningRatio: expect.closeTo(150 / 250, 12),
    binds: "queues",
  });
  expect(limits?.nextBatch).toEqual({ batch: 4, latencyMs: 30, pathMs: 30, binds: "queues" });
  expect(limits?.cheaperHardware).toEqual([
    { hardware: "hardware3", pathMs: 10, leastReplicas: 1, leastCostPerHour: 1, binds: "queues" },
    { hardware: "hardware2", pathMs: 40, leastReplicas: 6, leastCostPerHour: 5.4, binds: "cost" },
    {
      hardware: "hardware1",
      pathMs: 90,
      leastReplicas: 14,
      leastCostPerHour: 2.8,
      binds: "workers",
    },
    {
      hardware: "hardware0",
      pathMs: 120,
      leastReplicas: 18,
      leastCostPerHour: 1.8,
      binds: "latency",
    },
  ]);
  const busy = {
    ...level,
    plan: {
      ...level.plan,
      stages: level.plan.stages.map((one) => ({ ...one, provisioningRatio: 0.7 })),
    },
  };
  expect(taskLimits(bundle, busy)[0]?.oneReplicaLess?.binds).toBe("throughput");
  const tight = { ...level, sample: { ...level.sample, margin: 0.75 } };
  expect(taskLimits(bundle, tight)[0]?.nextBatch?.binds).toBe("latency");
});

test("the longest path is through the slower of two branches, a hop to every stage", () => {
  const { tasks, cluster } = inferlineSample();
  expect(longestPathMs({ tasks, cluster }, [10, 20, 30, 5])).toBe(10 + 30 + 5 + 3);
  expect(longestPathMs({ tasks, cluster }, [10, 40, 30, 5])).toBe(10 + 40 + 5 + 3);
});
