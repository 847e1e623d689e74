import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { encodeBundle } from "../../../../../runtime/bundles/checked-bundle.ts";
import { inspectBundle, levelReports } from "../../../../../runtime/bundles/inspect.ts";
import { inspectCommand, levelTable } from "../../../../../runtime/commands/inspect.ts";
import { burstsFrom } from "../../../../../runtime/methods/themis/describe/burst-view.ts";
import {
  fitError,
  fittedPoints,
} from "../../../../../runtime/methods/themis/describe/latency-fit-view.ts";
import { latencyAt, plansView } from "../../../../../runtime/methods/themis/describe/plan-view.ts";
import { themisBundle } from "../../../../support/themis-bundle.ts";
import { themisSample } from "../../../../support/themis-samples.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-inspect-"));
afterAll(() => rmSync(folder, { recursive: true }));

function pathOf(name: string, bundle: Parameters<typeof encodeBundle>[0]): string {
  const path = join(folder, `${name}.msgpack`);
  writeFileSync(path, encodeBundle(bundle));
  return path;
}
const small = pathOf("small", themisBundle());
const large = pathOf("large", themisSample());

const linesOf = async (path: string, loadQps: number | null): Promise<string[]> =>
  (await inspectCommand({ path, loadQps, state: null })).text.split("\n");

test("reports levels as the contract has them, and what each stage does", () => {
  const { levels } = inspectBundle(themisBundle(), { byteCount: 1, sha256: "ab" });
  const detect = {
    task: "detect",
    batch: 4,
    cores: 2,
    instances: 2,
    latencyMs: 53,
    throughputQps: 8000 / 53,
    loadQps: 150,
    utilisation: 150 / (8000 / 53),
    sloShare: 53 / 250,
  };
  const rank = expect.objectContaining({ task: "rank", batch: 2, cores: 1, instances: 2 });
  const expected = expect.objectContaining({ violationRate: 0.001, seed: 1 });
  const plan = {
    cores: 6,
    latencyMs: expect.closeTo(53 + 20 + 23 + 1000 / 150, 9),
    processingMs: 76,
    stages: [detect, rank],
    expected,
  };
  expect(levels[2]).toEqual({
    loadQps: 150,
    feasible: true,
    missed: [],
    capacityQps: 150,
    plan: {
      horizontal: expect.objectContaining({
        cores: 6,
        stages: [
          expect.objectContaining({ task: "detect", batch: 4, cores: 1, instances: 4 }),
          rank,
        ],
      }),
      vertical: null,
      joint: plan,
      steady: plan,
    },
    expected,
    solve: {
      ms: null,
      method: "exact",
      status: "optimal",
      quantile: 0.95,
      bindingTask: null,
      evaluations: 3,
    },
  });
});

test("the wall time of a level is what compile measured; the binding stage has a name", () => {
  const reports = levelReports(themisSample(), [1, 2, 3, 4, 5, 6, 7, 8.5]);
  expect(reports.at(-1)).toMatchObject({
    feasible: false,
    capacityQps: 360,
    plan: { horizontal: null, vertical: null, joint: null, steady: { cores: expect.any(Number) } },
    solve: { ms: 8.5, status: "infeasible", bindingTask: "detect" },
  });
});

test("lists latencies, points and transitions as sections", () => {
  const { sections } = inspectBundle(themisBundle(), { byteCount: 1, sha256: "ab" });
  expect(sections.map(({ name, shape }) => [name, shape])).toEqual([
    ["tasks[0].variants[0].latency.ms", [4, 8]],
    ["tasks[0].variants[0].latency.points", [0, 3]],
    ["tasks[1].variants[0].latency.ms", [4, 8]],
    ["tasks[1].variants[0].latency.points", [0, 3]],
    ["transitions", [3, 3, 2, 3]],
  ]);
});

test("tells the error of the fit point by point", () => {
  const latency = themisBundle({
    tasks: [
      {
        name: "only",
        fit: { gamma: 20, epsilon: 10, delta: 1, eta: 4 },
        points: [
          [1, 1, 28],
          [2, 1, 56],
          [2, 2, 62],
        ],
      },
    ],
    levels: [{ loadQps: 20, steady: [[1, 1, 1]] }],
  }).tasks[0]?.variants[0]?.latency;
  if (latency === undefined) throw new Error("there is a task");
  const points = fittedPoints(latency);
  expect(points).toEqual([
    { batch: 1, cores: 1, measuredMs: 28, fittedMs: 35, error: 0.25 },
    { batch: 2, cores: 1, measuredMs: 56, fittedMs: 56, error: 0 },
    { batch: 2, cores: 2, measuredMs: 62, fittedMs: 31, error: -0.5 },
  ]);
  expect(fitError(points)).toEqual({ mean: 0.25, worst: 0.5 });
  expect(fitError(fittedPoints({ ...latency, fit: null }))).toBeNull();
  expect(fittedPoints({ ...latency, fit: null })[0]).toMatchObject({ fittedMs: null, error: null });
});

test("a latency outside the table is none", () => {
  const latency = themisBundle().tasks[0]?.variants[0]?.latency;
  expect(latencyAt(latency, 2, 2)).toBe(31);
  for (const [batch, cores] of [
    [0, 1],
    [9, 1],
    [1, 0],
    [1, 5],
  ] as const) {
    expect(latencyAt(latency, batch, cores)).toBeNaN();
  }
});

test("a burst takes cores first, and instances where cores do not suffice", () => {
  const bundle = themisBundle();
  const stage = { batch: 4, instances: 1, extraCores: 4 };
  expect(burstsFrom(bundle, 0)).toEqual([
    {
      loadQps: 60,
      cores: 3,
      stages: [
        { task: "detect", batch: 2, cores: 2, instances: 1, extras: 0, extraCores: 2 },
        { task: "rank", batch: 1, cores: 1, instances: 1, extras: 0, extraCores: 1 },
      ],
    },
    {
      loadQps: 150,
      cores: 4 * 2 + 2,
      stages: [
        // 4 / 30.5 ms on all four cores is 131 a second: an instance more.
        { ...stage, task: "detect", cores: 4, extras: 1 },
        { task: "rank", batch: 2, cores: 2, instances: 1, extras: 0, extraCores: 2 },
      ],
    },
  ]);
  expect(burstsFrom(bundle, 2)).toEqual([]);
  const ones = burstsFrom(themisBundle({ policy: { extraCores: "one" } }), 0)[1];
  expect(ones?.cores).toBe(4 + 1 + 2);
  expect(ones?.stages[0]).toEqual({ ...stage, task: "detect", cores: 4, extras: 1, extraCores: 1 });
});

test("sums up tasks with their latency model, worst error first, and a row a level", async () => {
  const lines = await linesOf(large, null);
  expect(lines).toContain("pool default: 16 × 4 cores, 64 in all");
  expect(lines).toContain("b task faces, after detect (60.000%)");
  expect(lines).toContain("l(b, c) = 30 b / c + 8 / c + 1.5 b + 6 ms for a batch of b on c cores");
  expect(lines).toContain("latency as measured, without a fit");
  const at = lines.findIndex((line) => line.startsWith("fit error over 12 points"));
  expect(lines[at]).toMatch(/mean \d\.\d{3}%, worst 5\.6\d\d%/);
  expect(lines[at + 1]).toMatch(/^batch +cores +measured ms +fitted ms +error$/);
  expect(lines[at + 2]?.trim().split(/ +/)).toEqual(["2", "2", "45.58", "43", "-5.660%"]);
  const table = lines.findIndex((line) => line.startsWith("load qps"));
  expect(lines[table]).toMatch(/horizontal +vertical +joint +followed +held +ms of 180 +quantile/);
  expect(lines.slice(table + 1)).toHaveLength(10);
  expect(lines.at(-3)).toMatch(/^ +500 +- +- +- .* \d+×\d b\d {2}no: load 500 > 360 qps/);
});

test("the table of levels is what compile prints", () => {
  const rows = levelTable(themisBundle()).split("\n").slice(0, -2);
  expect(rows.map((row) => row.trim().split(/ {2,}/))).toEqual([
    [
      "load qps",
      "horizontal",
      "vertical",
      "joint",
      "followed",
      "held",
      "ms of 250",
      "quantile",
      "simulated p50",
      "p99 ms",
      "violations",
      "headroom",
      "instances × cores, batch",
      "feasible",
    ],
    [
      "20",
      "2",
      "2",
      "2",
      "2",
      "2",
      "49.5",
      "0.95",
      "24.75",
      "49.5",
      "0.100%",
      "-",
      "1×1 b1, 1×1 b1",
      "yes",
    ],
    [
      "60",
      "3",
      "3",
      "3",
      "3",
      "3",
      "62.1667",
      "0.95",
      "31.0833",
      "62.1667",
      "0.100%",
      "-",
      "1×2 b2, 1×1 b1",
      "yes",
    ],
    [
      "150",
      "6",
      "-",
      "6",
      "6",
      "6",
      "102.667",
      "0.95",
      "51.3333",
      "102.667",
      "0.100%",
      "-",
      "2×2 b4, 2×1 b2",
      "yes",
    ],
  ]);
});

test("the table of levels tells of the cores that are held in the mean, where known", () => {
  const bundle = themisBundle();
  const [low, ...others] = bundle.levels;
  if (low === undefined) throw new Error("there is a level");
  const { steady } = low;
  const held = { ...steady, expected: { ...steady.expected, cores: 2.25 } };
  const levels = [{ ...low, steady: held }, ...others];
  const rows = levelTable({ ...bundle, levels }).split("\n");
  expect(rows[1]?.trim().split(/ +/).slice(0, 6)).toEqual(["20", "2", "2", "2", "2", "2.25"]);
});

test("shows the plan of a load, how busy it is, the others, and what a burst does", async () => {
  const { text, json, exitCode } = await inspectCommand({ path: small, loadQps: 15, state: null });
  expect(exitCode).toBe(0);
  const lines = text.split("\n");
  expect(lines[0]).toBe("level 20 qps: 2 cores, exact, optimal, quantile 0.95");
  expect(lines[1]).toBe(
    "longest path 49.5 of 250 ms by the model: 49.5 ms processing whole batches, 0 ms waiting",
  );
  expect(lines.find((line) => line.startsWith("a  detect "))?.split(/ {2,}/)).toEqual([
    "a",
    "detect",
    "1",
    "1",
    "1",
    "35",
    "14.000%",
    "20",
    "28.5714",
    "70.000%",
  ]);
  expect(lines.find((line) => line.startsWith("joint"))?.split(/ {2,}/)).toEqual([
    "joint",
    "2",
    "49.5",
    "49.5",
    "0.100%",
    "1 × 1, b1",
    "1 × 1, b1",
  ]);
  const at = lines.indexOf("when more than 20 qps come at once, its instances go to:");
  expect(lines.slice(at + 2).map((line) => line.trim().split(/ {2,}/))).toEqual([
    ["60", "3", "1 × 2, b2", "1 × 1, b1"],
    ["150", "10", "1 × 4 and 1 more × 4, b4", "1 × 2, b2"],
  ]);
  expect(json).toMatchObject({
    method: "themis",
    level: { index: 0, loadQps: 20, bursts: [{ loadQps: 60 }, { loadQps: 150 }] },
  });
});

test("a level beyond the pool says what its plan is for; the top one has no burst", async () => {
  const lines = await linesOf(large, 500);
  expect(lines).toContain(
    "not feasible: load 500 > 360 qps; no plan of the pool meets the SLO at this load, detect " +
      "taking most of it: this one is for 360 qps",
  );
  expect(lines).toContain("the top level: a burst beyond it finds this plan");
  expect(lines.find((line) => line.startsWith("vertical"))).toMatch(/^vertical +- +- +- +-$/);
});

test("loads that make the same of a plan are one row", async () => {
  const steady = [[1, 1, 1]] as const;
  const bundle = themisBundle({
    tasks: [{ name: "only", fit: { gamma: 20, epsilon: 10, delta: 1, eta: 4 } }],
    levels: [1, 2, 3, 4].map((loadQps) => ({ loadQps, steady })),
  });
  const lines = await linesOf(pathOf("same", bundle), 1);
  const at = lines.findIndex((line) => line.startsWith("up to qps"));
  expect(lines.slice(at + 1).map((line) => line.trim().split(/ {2,}/))).toEqual([
    ["4", "1", "1 × 1, b1"],
  ]);
});

test("a plan's waiting is what its model adds to processing", () => {
  const [, level] = themisBundle({ communicationLatencyMs: 2 }).levels;
  if (level === undefined) throw new Error("there is a level");
  const { steady } = plansView(themisBundle({ communicationLatencyMs: 2 }), level);
  // 31 ms and 14.5 ms, and a hop to each; the second query of a batch comes 1 / 60 s after the
  // first.
  expect(steady.processingMs).toBe(31 + 14.5 + 4);
  expect(steady.latencyMs - steady.processingMs).toBeCloseTo(1000 / 60, 9);
});

test("a state is refused in words", async () => {
  const asked = inspectCommand({ path: small, loadQps: null, state: "queued=1,slack=10ms" });
  await expect(asked).rejects.toMatchObject({
    code: "RUNTIME_USAGE",
    message: expect.stringContaining("--level shows the plan for a load"),
  });
});
