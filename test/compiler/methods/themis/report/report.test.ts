import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseHTML } from "linkedom";
import { afterAll, describe, expect, test } from "vitest";
import { type ReportCommand, reportCommand } from "../../../../../compiler/commands/report.ts";
import {
  minutesOf,
  type ScaledRun,
  worstMinute,
} from "../../../../../compiler/methods/themis/report/days.ts";
import { renderThemisReport } from "../../../../../compiler/methods/themis/report/report.ts";
import type { ThemisBundle } from "../../../../../runtime/bundle/schema.ts";
import { encodeBundle } from "../../../../../runtime/bundles/checked-bundle.ts";
import { themisBundle } from "../../../../support/themis-bundle.ts";
import { themisSample } from "../../../../support/themis-samples.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-report-"));
afterAll(() => rmSync(folder, { recursive: true }));

const NOTHING_ASKED = {
  simulations: [],
  frontierQps: null,
  watch: { signal: new AbortController().signal, onProgress() {} },
} satisfies Partial<ReportCommand>;

function render(bundle: ThemisBundle): string {
  return renderThemisReport({ bundle, file: { byteCount: 0, sha256: "0".repeat(64) } });
}

function documentOf(page: string): ReturnType<typeof parseHTML>["document"] {
  return parseHTML(page).document;
}

type Root = Pick<ReturnType<typeof documentOf>, "querySelectorAll">;

function rowsOf(root: Root | null, selector: string): string[][] {
  return [...(root?.querySelectorAll(selector) ?? [])].map((row) =>
    [...row.querySelectorAll("td")].map((cell) => (cell.textContent ?? "").trim()),
  );
}

describe("the report of plans of cores and instances", async () => {
  const bundle = themisSample();
  const file = join(folder, "scales.msgpack");
  const out = join(folder, "scales.html");
  writeFileSync(file, encodeBundle(bundle));
  await reportCommand({ ...NOTHING_ASKED, bundle: file, out });
  const page = readFileSync(out, "utf8");
  const document = documentOf(page);

  test("stacks the cores of every stage, as the plans that are followed have them", () => {
    const bars = [...document.querySelectorAll('svg[aria-labelledby^="stage-cores-"] rect')];
    expect(bars).toHaveLength(8 * 4);
    const titles = bars.map((bar) => bar.querySelector("title")?.textContent);
    const { cores, instances, batch } = bundle.levels[5]?.steady.stages[0] ?? {};
    expect(titles).toContain(
      `detect: ${instances} × ${cores} cores, batches of ${batch}, at 240 requests/s`,
    );
  });

  test("has every level in the table, what exceeds a limit in red", () => {
    const rows = rowsOf(document, "#level-table tbody tr");
    expect(rows[2]).toEqual("40|40|5|6|5|5|82.8|0.95|41.4|82.8|0.25%|yes".split("|"));
    expect(rows[7]?.slice(0, 5)).toEqual(["500", "360", "–", "–", "–"]);
    const over = [...document.querySelectorAll("#level-table .over")];
    expect(over.map((cell) => cell.textContent)).toEqual(["360", "no: load 500 > 360/s"]);
  });

  test("shows what was measured, the coefficients and every error, worst first", () => {
    expect(rowsOf(document, "#fit-table tbody tr").map((row) => row.slice(1))).toEqual([
      ["detect", "30", "8", "1.5", "6", "12", "2.034%", "5.66%"],
      ["faces", "12", "5", "1", "3", "–", "–", "–"],
      ["plates", "–", "–", "–", "–", "32", "–", "–"],
      ["rank", "4", "2", "0.25", "1", "12", "2.036%", "5.66%"],
    ]);
    const errors = rowsOf(document.querySelector("#errors-0"), "tbody tr");
    expect(errors).toHaveLength(12);
    expect(errors.slice(0, 2)).toEqual([
      ["2", "2", "45.58", "43", "−5.66%"],
      ["8", "2", "134.9", "142", "+5.26%"],
    ]);
    const circles = (task: number): number =>
      document.querySelectorAll(`svg[aria-labelledby^="curve-${task}-"] circle`).length;
    // Of the table of all 8 batches on 4 numbers of cores, the powers of two are drawn.
    expect([0, 1, 2, 3].map(circles)).toEqual([12, 0, 16, 12]);
  });

  test("opens a level on its stages, its plans of each kind, and what bursts make of it", () => {
    const part = document.querySelector("#level-2");
    const tables = [...(part?.querySelectorAll("table") ?? [])];
    expect(tables.map((table) => table.querySelectorAll("tbody tr").length)).toEqual([4, 3, 5]);
    expect(rowsOf(part, ".kinds tbody tr")[1]?.slice(0, 5)).toEqual([
      "vertical",
      "6",
      "57.4",
      "0.1%",
      "1 × 3, b 1",
    ]);
    expect(rowsOf(part, ".bursts tbody tr")[1]?.slice(0, 3)).toEqual([
      "160",
      "17",
      "2 × 4 + 1 × 4, b 1",
    ]);
    const top = document.querySelector("#level-7");
    expect(top?.querySelectorAll("table")).toHaveLength(2);
    expect(top?.textContent).toMatch(
      /not feasible: load 500 > 360\/s.*no plan for this load, limited by detect.* for 360/s,
    );
  });

  test("says in words what its figures show", () => {
    const figures = [...document.querySelectorAll("svg.figure")];
    expect(figures).toHaveLength(4 + 1 + 4);
    for (const figure of figures) {
      expect(figure.querySelector("title")?.textContent).toBeTruthy();
      expect(figure.querySelector("desc")?.textContent).toBeTruthy();
    }
    expect(document.querySelector(".lead")?.textContent).toMatch(
      /4 to 24 cores; by the model, .* 1\.3% more, .* 5% more .* 4 of 7 .* 360.* 0\.85% of/,
    );
    expect(document.querySelector("#plans")?.textContent).toContain("larger number of cores");
  });
});

test("a scaling of instances alone says so, and levels over the ceiling are named", () => {
  const bundle = themisBundle({
    maxViolationRate: 0.0005,
    policy: { scaling: "horizontal", queueing: "paper", dropAfterSlos: null },
  });
  const document = documentOf(render(bundle));
  expect(document.querySelector("#plans")?.textContent).not.toContain("larger number of cores");
  const facts = document.querySelector("header dl")?.textContent;
  expect(facts).toMatch(/only instances of one core.*for the batch alone, as in the paper.*never/s);
  expect(document.querySelector(".lead")?.textContent).toContain(
    "20, 60 and 150 requests/s exceed the ceiling of 0.05%: up to 0.1% of the requests miss it.",
  );
});

test("a page of many levels stays of a size that a browser opens at once", () => {
  const levels = Array.from({ length: 200 }, (_, index) => ({
    loadQps: index + 1,
    steady: [
      [1, 1, Math.ceil((index + 1) / 28)],
      [1, 1, Math.ceil((index + 1) / 68)],
    ] as const,
    horizontal: null,
    vertical: null,
  }));
  const page = render(themisBundle({ levels, workers: 100 }));
  expect(page.length).toBeLessThan(1_500_000);
  expect(documentOf(page).querySelectorAll("#level-0 .bursts tbody tr")).toHaveLength(8);
});

describe("a day in the report", async () => {
  const bundle = themisSample();
  const file = join(folder, "day.msgpack");
  const trace = join(folder, "day.csv");
  const out = join(folder, "day.html");
  writeFileSync(file, encodeBundle(bundle));
  // Three minutes and a half: 20 requests/s, a minute of 120, and 20 again.
  const rates = [...new Array(60).fill(20), ...new Array(60).fill(120), ...new Array(90).fill(20)];
  writeFileSync(trace, rates.join("\n"));
  const progress: number[][] = [];
  const watch = {
    ...NOTHING_ASKED.watch,
    onProgress: (done: number, total: number) => void progress.push([done, total]),
  };
  const asked = { ...NOTHING_ASKED, bundle: file, traces: [trace], out, watch };
  const { json } = await reportCommand(asked);
  const { runs } = json as {
    runs: { scaler: string; violationRate: number; cores: { mean: number } }[];
  };
  const document = documentOf(readFileSync(out, "utf8"));

  test("has a row for the bundle and for each of the papers' scalers, as simulated", () => {
    const rows = rowsOf(document, ".day-table tbody tr");
    expect(rows.map(([scaler]) => scaler)).toEqual(["the bundle", "fa2", "sponge", "themis"]);
    expect(runs.map(({ scaler }) => scaler)).toEqual(["the bundle", "fa2", "sponge", "themis"]);
    for (const [index, { cores }] of runs.entries()) {
      expect(Number(rows[index]?.[1])).toBeCloseTo(cores.mean, 2);
    }
    expect(progress.at(-1)).toEqual([4, 4]);
  });

  test("draws load, cores and misses minute by minute, and says what there is to see", () => {
    const figures = [...document.querySelectorAll('#day-0 svg[aria-labelledby^="day-0-"]')];
    expect(figures).toHaveLength(3);
    for (const figure of figures) expect(figure.querySelector("desc")?.textContent).toBeTruthy();
    expect(figures[0]?.querySelector("desc")?.textContent).toMatch(/ over 4 minutes\.$/);
    // What is planned, and a line for each scaler.
    expect(figures[1]?.querySelectorAll('[aria-label="line"]')).toHaveLength(5);
    expect(document.querySelector("#day-0 .key")?.textContent).toContain("planned by the bundle");
  });
});

test("minutes are means and shares of their seconds", () => {
  const second = { latencyMsP99: null, servers: 1 };
  const timeline = Array.from({ length: 90 }, (_, at) => ({
    ...second,
    requests: at < 60 ? 2 : 0,
    violations: at === 7 ? 1 : 0,
    cores: at < 30 ? 4 : 6,
    level: at < 60 ? 0 : 1,
  }));
  const run = { scaler: "x", plannedCores: [3, 8], result: { timeline } } as unknown as ScaledRun;
  const minutes = minutesOf(run);
  expect(minutes).toEqual([
    { minute: 0, qps: 2, violations: 1, missedShare: 1 / 120, cores: 5, plannedCores: 3 },
    { minute: 1, qps: 0, violations: 0, missedShare: 0, cores: 6, plannedCores: 8 },
  ]);
  expect(worstMinute(minutes)?.minute).toBe(0);
  expect(worstMinute(minutes.slice(1))).toBeNull();
});
