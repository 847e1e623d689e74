import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { parseHTML } from "linkedom";
import { afterAll, describe, expect, test } from "vitest";
import { type ReportCommand, reportCommand } from "../../../../../compiler/commands/report.ts";
import { hardwareKeys } from "../../../../../compiler/methods/inferline/report/hardware-keys.ts";
import { renderInferlineReport } from "../../../../../compiler/methods/inferline/report/report.ts";
import { layersOf, SOURCE } from "../../../../../compiler/report/kit/layers.ts";
import type { InferlineBundle } from "../../../../../runtime/bundle/schema.ts";
import { encodeBundle } from "../../../../../runtime/bundles/checked-bundle.ts";
import { inferlineBundle } from "../../../../support/inferline-bundle.ts";
import { inferlineSample } from "../../../../support/inferline-samples.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-report-"));
afterAll(() => rmSync(folder, { recursive: true }));

const NOTHING_ASKED = {
  simulations: [],
  frontierQps: null,
  watch: { signal: new AbortController().signal, onProgress() {} },
} satisfies Partial<ReportCommand>;

function render(bundle: InferlineBundle): string {
  return renderInferlineReport({ bundle, file: { byteCount: 0, sha256: "0".repeat(64) } });
}

function documentOf(page: string): ReturnType<typeof parseHTML>["document"] {
  return parseHTML(page).document;
}

function rowsOf(page: string, selector: string): string[][] {
  return [...documentOf(page).querySelectorAll(selector)].map((row) =>
    [...row.querySelectorAll("td")].map((cell) => (cell.textContent ?? "").trim()),
  );
}

describe("the report of provisioning plans", async () => {
  const bundle = inferlineSample();
  const file = join(folder, "stages.msgpack");
  const out = join(folder, "stages.html");
  writeFileSync(file, encodeBundle(bundle));
  await reportCommand({ ...NOTHING_ASKED, bundle: file, out });
  const page = readFileSync(out, "utf8");
  const document = documentOf(page);

  test("draws every stage, the shares of its edges, and which ones join", () => {
    const graph = document.querySelector('svg[aria-labelledby^="stages-"]');
    const names = [...(graph?.querySelectorAll("g > title") ?? [])].map((one) => one.textContent);
    expect(names).toEqual(["requests", "detect", "faces", "plates", "rank"]);
    const texts = [...(graph?.querySelectorAll("text") ?? [])].map((one) => one.textContent);
    expect(texts.filter((text) => text?.endsWith("%"))).toEqual([
      "100%",
      "60%",
      "30%",
      "100%",
      "100%",
    ]);
    expect(texts.filter((text) => text === "join")).toHaveLength(1);
    expect(graph?.querySelector("desc")?.textContent).toContain(
      "rank gets 100% of faces and 100% of plates.",
    );
  });

  test("stacks the replicas of every stage in the colour of its hardware", () => {
    const bars = [...document.querySelectorAll('svg[aria-labelledby^="replicas-"] rect')];
    expect(bars).toHaveLength(4 * 4);
    const keys = hardwareKeys(bundle);
    expect(keys.map(({ taskName, name }) => `${taskName} ${name}`)).toEqual([
      "detect hardware1",
      "detect hardware2",
      "faces hardware1",
      "plates hardware0",
      "rank hardware0",
    ]);
    const colors = new Set(bars.map((bar) => bar.getAttribute("fill")));
    expect(colors).toEqual(new Set(keys.map(({ color }) => color)));
    const titles = bars.map((bar) => bar.querySelector("title")?.textContent);
    expect(titles).toContain("plates on hardware0: 9 replicas at 300 requests/s");
  });

  test("has every level in the table, what exceeds a limit in red", () => {
    const rows = rowsOf(page, "#level-table tbody tr");
    expect(rows[1]).toEqual(
      "120|120|11|3.569|4.236|gap 6.25%|5%|231|19 of 20|50|244|0.8%|3.71|yes".split("|"),
    );
    expect(rows[3]?.slice(0, 6)).toEqual(["600", "480", "23", "13.069", "–", "–"]);
    const over = [...document.querySelectorAll("#level-table .over")];
    expect(over.map((cell) => cell.textContent)).toEqual([
      "480",
      "1,930",
      "31%",
      "no: load 600 > 480/s; violations 31% > 1%",
    ]);
  });

  test("opens a level on its stages, on why it is not cheaper, and on its envelope", () => {
    for (const index of bundle.levels.keys()) {
      const part = document.querySelector(`#level-${index}`);
      const tables = [...(part?.querySelectorAll("table") ?? [])];
      expect(tables.map((table) => table.querySelectorAll("tbody tr").length)).toEqual([4, 4]);
      expect(part?.querySelectorAll(`svg[aria-labelledby^="envelope-${index}-"]`)).toHaveLength(1);
    }
    const [first] = [...document.querySelectorAll('svg[aria-labelledby^="envelope-0-"]')];
    const titles = [...(first?.querySelectorAll("circle title") ?? [])];
    expect(titles.map((title) => title.textContent)).toContain(
      "17 requests in 155 ms: 109.7 requests/s",
    );
    const labels = [...(first?.querySelectorAll("text") ?? [])].map((one) => one.textContent);
    expect(labels).toContain("60 s");
    expect(document.querySelector("#level-3")?.textContent).toMatch(
      /not feasible: load 600 > 480\/s.*this one is for 480 requests\/s/s,
    );
  });

  test("says in words what its figures show", () => {
    const figures = [...document.querySelectorAll("svg.figure")];
    expect(figures).toHaveLength(7 + bundle.levels.length);
    for (const figure of figures) {
      expect(figure.querySelector("title")?.textContent).toBeTruthy();
      expect(figure.querySelector("desc")?.textContent).toBeTruthy();
    }
    expect(document.querySelector(".lead")?.textContent).toMatch(
      /250 ms.* 1\.401 to 6\.9 .*6\.25% less.* 4\.348% more .*600 .* up to 480.*98\.33% meet/,
    );
  });

  test("gives the cost of a day with the tuner, with one plan, with plans known ahead", () => {
    const rows = rowsOf(page, "#day tbody tr");
    expect(rows.map(([by]) => by)).toEqual([
      "tuner relative",
      "the plan of the highest load",
      "each minute's plan, known in advance",
    ]);
    expect(rows.every(([, cost]) => Number(cost) > 0)).toBe(true);
  });

  test("shows days that were simulated instead, each by the file's name", async () => {
    const minutes = [
      { requests: 600, violations: 3, costPerHour: 1.5 },
      { requests: 0, violations: 0, costPerHour: 1 },
    ];
    const simulations = ["own", "kpa"].map((name) => {
      const path = join(folder, `${name}.json`);
      writeFileSync(path, JSON.stringify({ costPerHour: 1.25, violationRate: 0.005, minutes }));
      return path;
    });
    const shown = join(folder, "days.html");
    await reportCommand({ ...NOTHING_ASKED, bundle: file, out: shown, simulations });
    expect(rowsOf(readFileSync(shown, "utf8"), "#day tbody tr")).toEqual([
      ["own", "1.25", "0.5%", "0.5%"],
      ["kpa", "1.25", "0.5%", "0.5%"],
    ]);
    writeFileSync(join(folder, "other.json"), "{}");
    const other = { bundle: file, out: shown, simulations: [join(folder, "other.json")] };
    await expect(reportCommand({ ...NOTHING_ASKED, ...other })).rejects.toThrow("costPerHour");
  });

  test("a latency beyond the frame is a triangle that says what it is", () => {
    const latency = document.querySelector('svg[aria-labelledby^="latency-"]');
    const titles = [...(latency?.querySelectorAll("path title") ?? [])];
    expect(titles.map((title) => title.textContent)).toEqual(["1,930 ms"]);
  });
});

test("names with markup, one level, and traces that were not kept are drawn too", () => {
  const bundle = inferlineBundle({
    tasks: [{ name: `<i>"one"&`, latencyMs: { 1: 10 } }],
    levels: [{ loadQps: 5, stages: [[1, 1]] }],
  });
  const levels = bundle.levels.map((level) => ({
    ...level,
    expected: { ...level.expected, heldOut: { traces: 0, met: 0, missRate: 0 } },
  }));
  const page = render({ ...bundle, levels });
  expect(page.match(/.{0,40}<i>"one/)).toBeNull();
  expect(page).toContain("&lt;i&gt;&quot;one&quot;&amp;");
  expect(page.match(/.{0,40}(NaN|undefined|Infinity)/)).toBeNull();
  expect(documentOf(page).querySelector(".lead")?.textContent).not.toContain("traces");
});

test("exclusive edges are dashed, and the page says what that means", () => {
  const sample = inferlineSample();
  const tasks = sample.tasks.map((task, index) =>
    index === 0 ? { ...task, branch: "exclusive" as const } : task,
  );
  const dashed = (bundle: InferlineBundle): number =>
    documentOf(render(bundle)).querySelectorAll(
      'svg[aria-labelledby^="stages-"] path[stroke-dasharray]',
    ).length;
  expect([dashed(sample), dashed({ ...sample, tasks })]).toEqual([0, 2]);
  expect(render({ ...sample, tasks })).toContain("A query takes at most one of the dashed edges.");
});

test("stages of any pipeline come below those before them, no two in one place", () => {
  const parents = fc.array(fc.uniqueArray(fc.nat(9), { maxLength: 4 }), {
    minLength: 1,
    maxLength: 10,
  });
  fc.assert(
    fc.property(parents, (choices) => {
      const tasks = choices.map((chosen, index) => {
        const before = chosen.filter((parent) => parent < index).sort((a, b) => a - b);
        const sources = before.length === 0 ? [null] : before;
        const edges = sources.map((parent) => ({ parent, share: 0.5, feed: null }));
        return { name: `t${index}`, edges, branch: "independent" as const, variants: [] };
      });
      const { placeByTask, routes, rowCount } = layersOf(tasks);
      const rowOf = (task: number): number => placeByTask.get(task)?.row ?? Number.NaN;
      const taken = [...placeByTask.values()].map(({ row, across }) => `${row} ${across}`);
      expect(new Set(taken).size).toBe(tasks.length + 1);
      expect(rowOf(SOURCE)).toBe(0);
      for (const { source, target, places } of routes) {
        expect(rowOf(target)).toBeGreaterThan(rowOf(source));
        const rows = places.map(({ row }) => row);
        expect(rows).toEqual(rows.map((_, step) => rowOf(source) + step));
        expect(rows.at(-1)).toBe(rowOf(target));
      }
      expect(Math.max(...[...placeByTask.values()].map(({ row }) => row))).toBe(rowCount - 1);
    }),
  );
});
