import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import type { AccordionBundle } from "../../../../../runtime/bundle/schema.ts";
import { encodeBundle } from "../../../../../runtime/bundles/checked-bundle.ts";
import { inspectBundle, levelReports } from "../../../../../runtime/bundles/inspect.ts";
import { inspectCommand, levelTable } from "../../../../../runtime/commands/inspect.ts";
import { verifyCommand } from "../../../../../runtime/commands/verify.ts";
import { accordionTasks } from "../../../../../runtime/methods/accordion/describe/reports.ts";
import { accordionBundle, table1Bundle } from "../../../../support/accordion-bundle.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-inspect-"));
afterAll(() => rmSync(folder, { recursive: true }));

function pathOf(name: string, bundle: AccordionBundle): string {
  const path = join(folder, `${name}.msgpack`);
  writeFileSync(path, encodeBundle(bundle));
  return path;
}

const mixed = accordionBundle({
  pools: [
    { name: "fast", workers: 2 },
    { name: "slow", workers: 4, speed: 0.5 },
  ],
  policy: { executionPlaces: 4, regrow: true, dropAfterSlos: null },
  maxDepth: 2,
  maxViolationRate: 0.05,
  models: [{ name: "deep", layerMs: [4, 6, 3, 7, 5, 5], hasModel: true }],
});
const paths = {
  small: pathOf("small", accordionBundle()),
  mixed: pathOf("mixed", mixed),
  table1: pathOf("table1", table1Bundle({ timing: "paper" })),
};

const cellsOf = (line: string | undefined): string[] => line?.trim().split(/ {2,}/) ?? [];

async function linesOf(path: string, loadQps: number | null = null): Promise<string[]> {
  return (await inspectCommand({ path, loadQps, state: null })).text.split("\n");
}

test("reports the pipelines with every level, as the contract has them", () => {
  const bundle = accordionBundle({ maxDepth: 2 });
  const [, level] = inspectBundle(bundle, { byteCount: 1, sha256: "ab" }).levels;
  expect(level).toEqual({
    loadQps: 40,
    feasible: true,
    missed: [],
    capacityQps: (1000 * 8) / (4 * 17.5),
    plan: {
      models: {
        deep: {
          depths: [
            {
              executionPlaces: 1,
              cut: [6],
              stageMs: [30],
              latencyMs: 30,
              speedup: 1,
              pools: ["default"],
              stepMs: 30,
              largestMs: 240,
              isMeasured: false,
            },
            {
              executionPlaces: 2,
              cut: [3, 3],
              stageMs: [13, 17],
              latencyMs: 30,
              speedup: 30 / 17,
              pools: ["default", "default"],
              stepMs: 17,
              largestMs: 30 + 7 * 17,
              isMeasured: false,
            },
          ],
        },
        small: { depths: [expect.anything(), expect.objectContaining({ cut: [1, 1] })] },
      },
    },
    expected: expect.objectContaining({ violationRate: 0.002, occupancy: 0.4, seed: 1 }),
    solve: { ms: null, method: "partition" },
  });
  expect(levelReports(bundle, [3, 8.5])[1]).toMatchObject({ solve: { ms: 8.5 } });
});

test("lists latencies and shapes as sections, null where there is no pipeline", () => {
  const report = inspectBundle(accordionBundle(), { byteCount: 1, sha256: "ab" });
  expect(report.sections.map(({ name, shape }) => [name, shape])).toEqual([
    ["tasks[0].variants[0].latencyMs", [4, 8]],
    ["tasks[0].variants[1].latencyMs", [4, 8]],
    ["shapes", [4, 1]],
  ]);
  expect(report.tasks).toEqual(accordionTasks(accordionBundle()));
  expect(accordionTasks(accordionBundle())[0]?.variants[1]).toMatchObject({
    name: "small",
    layerCount: 2,
    msByShape: [[5, 10, 15, 20, 25, 30, 35, 40], [5, 8, 11, 14, 17, 20, 23, 26], null, null],
  });
  // A number that JSON cannot hold would come out as null.
  expect(JSON.parse(JSON.stringify(report))).toEqual(report);
});

test("sums models up with a row for every number of places, and a row a level", async () => {
  const lines = await linesOf(paths.small);
  expect(lines).toContain("pool default: 8 workers, 8 of them execution places");
  expect(lines).toContain(
    "policy: accordion scheduler, pipelined timing, up to 4 places and 8 instances per query",
  );
  const deep = lines.findIndex((line) =>
    line.startsWith("a model deep: accuracy 90.000%, 6 layers"),
  );
  expect(lines.slice(deep + 1, deep + 6).map(cellsOf)).toEqual([
    ["places", "ms of 1", "ms of 8", "step ms", "speed-up", "times", "layers", "stage ms"],
    ["1", "30", "240", "30", "1", "added up", "6", "30"],
    ["2", "30", "149", "17", "1.76471", "added up", "3 | 3", "13 | 17"],
    ["3", "30", "100", "10", "3", "added up", "2 | 2 | 2", "10 | 10 | 10"],
    ["4", "30", "100", "10", "3", "added up", "2 | 2 | 1 | 1", "10 | 10 | 5 | 5"],
  ]);
  const small = lines.findIndex((line) => line.startsWith("b model small"));
  expect(lines[small + 4]).toBe("step ms: time between two answers; speed-up: over one place");
  expect(cellsOf(lines.at(-3)).slice(0, 5)).toEqual(["40", "0.200%", "0.100%", "60", "140"]);
});

test("tells pools apart where there are several, and what part of them is used", async () => {
  const lines = await linesOf(paths.mixed);
  expect(lines).toContain("slo: 200 ms, violations at most 5.000%");
  expect(lines).toContain("pool fast: 2 workers, 2 of them execution places");
  expect(lines).toContain("pool slow: 4 workers, 2 of them execution places");
  expect(lines).toContain(
    "control: 5 ms to give a running query other places, more of them if that helps; " +
      "drop of low priority never",
  );
  expect(lines.find((line) => line.startsWith("a model"))).toMatch(
    /, 6 layers, 5 stages in files of their own$/,
  );
  expect(lines.map(cellsOf)).toContainEqual(
    "2,slow, fast,40,180,20,1.5,added up,2 | 4,20 | 20".split(/,(?! )/),
  );
});

test("tells which speed-ups are given; by the paper's timing one instance gains too", async () => {
  const lines = (await linesOf(paths.table1)).map(cellsOf);
  const short = (value: number): string => String(Number(value.toPrecision(6)));
  const row = (places: number, speedup: number, times: string): string[] => {
    const [one, most] = [1400 / speedup, 140_000 / speedup].map(short);
    return [String(places), one, most, one, String(speedup), times, "-", "-"].map(String);
  };
  expect(lines).toContainEqual(row(4, 2.19, "given"));
  expect(lines).toContainEqual(row(3, 1.76, "interpolated"));
});

test("the table of levels is what compile prints", () => {
  const bundle = accordionBundle({ levels: [{ loadQps: 10 }, { loadQps: 200 }] });
  const rows = levelTable(bundle).split("\n").slice(0, 3).map(cellsOf);
  expect(rows[0]).toEqual([
    "load qps",
    "violations",
    "dropped",
    "p50 ms",
    "p99 ms",
    "places busy",
    "active queries",
    "reshapes per query",
    "capacity qps",
    "headroom",
    "feasible",
  ]);
  const figures = ["0.200%", "0.100%", "60", "140", "40.000%", "2.5", "0.1", "114.286", "-"];
  expect(rows.slice(1)).toEqual([
    ["10", ...figures, "yes"],
    ["200", ...figures, "no: load 200 > 114.286 qps"],
  ]);
});

test("shows what is expected at a load, and that no schedule carries a larger one", async () => {
  const path = pathOf("over", accordionBundle({ levels: [{ loadQps: 10 }, { loadQps: 200 }] }));
  const lines = await linesOf(path, 10);
  expect(lines[0]).toBe("level 10 qps: feasible, violations 0.200%");
  expect(lines[1]).toBe(
    "simulated for 600 s with seed 1: 10000 queries, 0.100% dropped, p50 60 ms, p99 140 ms",
  );
  const [first, second] = await linesOf(path, 11);
  expect(first).toBe("level 200 qps: not feasible: load 200 > 114.286 qps");
  expect(second).toBe("no schedule carries more than 114.286 qps");
  const { json } = await inspectCommand({ path, loadQps: 11, state: null });
  expect(json).toMatchObject({
    method: "accordion",
    level: { index: 1, loadQps: 200, feasible: false, plan: { models: { deep: {} } } },
  });
});

test("a state is answered model by model, with every alternative", async () => {
  const state = "batch=8,free=1,slack=160ms";
  const { text, json, exitCode } = await inspectCommand({
    path: paths.small,
    loadQps: null,
    state,
  });
  expect(exitCode).toBe(0);
  const lines = text.split("\n");
  expect(lines[0]).toBe(
    "a query of 8 instances, 160 ms before its deadline, first in line; places free: 1",
  );
  expect(lines.slice(1, 3).join(" ")).toBe(
    "the accordion scheduler decides, at every load: as many places as are free and help; " +
      "running " +
      "queries give up what they can spare",
  );
  expect(lines.slice(4, 6).join(" ")).toBe(
    "a model deep: 2 places would be in time; start at once if running queries can give 1 " +
      "place up " +
      "without being late, else wait; below 100 ms of slack, start on whatever is free",
  );
  expect(lines.slice(6, 11).map(cellsOf)).toEqual([
    ["places", "takes ms", "slack left ms", "free"],
    ["1", "240", "-80", "yes", "80 ms too late"],
    ["2", "149", "11", "no", "1 place more than is free"],
    ["3", "100", "60", "no", "2 places more than are free"],
    ["4", "100", "60", "no", "3 places more than are free"],
  ]);
  expect(lines[12]).toBe(
    "b model small: start on 1 place, which takes 40 ms and ends 120 ms before the deadline",
  );
  expect(cellsOf(lines[14])).toEqual(["1", "40", "120", "yes", "chosen"]);
  expect(json).toMatchObject({ state: { batch: 8, models: [{ model: "deep" }, {}] } });
});

test("a state with places of several pools names them", async () => {
  const state = "model=deep, batch=8, free=1/0, slack=0.2s";
  const { text } = await inspectCommand({ path: paths.mixed, loadQps: null, state });
  expect(text).toContain("; places free: 1 / 0\n");
  // One of high priority gets more places later.
  expect(text).toContain(
    "model deep: start on 1 place (1 / 0), which takes 240 ms and ends 40 ms after the deadline",
  );
  const row = ["2", "1 / 1", "180", "20", "no", "1 place more than is free"];
  expect(text.split("\n").map(cellsOf)).toContainEqual(row);
});

test("verify says what it did not check", async () => {
  const { text, json, exitCode } = await verifyCommand(paths.mixed);
  expect(exitCode).toBe(0);
  expect(json).toMatchObject({ ok: true, method: "accordion", stateCount: null, guarantees: null });
  expect(text.split("\n").slice(1)).toEqual([
    'schema ok: format version 1, accordion for "places"',
    "semantics ok: 2 levels, each pipeline with times that match its stages",
    "guarantees not recomputed: use stratagem verify, which has a solver",
  ]);
});
