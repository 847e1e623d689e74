import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseHTML } from "linkedom";
import { afterAll, describe, expect, test } from "vitest";
import { type ReportCommand, reportCommand } from "../../../../../compiler/commands/report.ts";
import { renderAccordionReport } from "../../../../../compiler/methods/accordion/report/report.ts";
import type { ScheduledRun } from "../../../../../compiler/methods/accordion/report/simulated-schedulers.ts";
import { decimalText } from "../../../../../compiler/report/number-text.ts";
import type { AccordionBundle } from "../../../../../runtime/bundle/schema.ts";
import { encodeBundle } from "../../../../../runtime/bundles/checked-bundle.ts";
import { accordionBundle, table1Bundle } from "../../../../support/accordion-bundle.ts";
import { placeSample } from "./sample.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-report-"));
afterAll(() => rmSync(folder, { recursive: true }));

const NOTHING_ASKED = {
  simulations: [],
  frontierQps: null,
  watch: { signal: new AbortController().signal, onProgress() {} },
} satisfies Partial<ReportCommand>;

function render(bundle: AccordionBundle, runs: readonly ScheduledRun[] = []): string {
  return renderAccordionReport({ bundle, file: { byteCount: 0, sha256: "0".repeat(64) }, runs });
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

describe("the report of malleable pipelines", async () => {
  const bundle = placeSample();
  const file = join(folder, "places.msgpack");
  const out = join(folder, "places.html");
  writeFileSync(file, encodeBundle(bundle));
  const progress: number[][] = [];
  const watch = {
    ...NOTHING_ASKED.watch,
    onProgress(done: number, total: number) {
      progress.push([done, total]);
    },
  };
  const asked = { ...NOTHING_ASKED, bundle: file, out, watch };
  const outcome = await reportCommand(asked);
  const page = readFileSync(out, "utf8");
  const document = documentOf(page);

  test("is written whole, with a JSON document about it", () => {
    expect(outcome).toMatchObject({
      exitCode: 0,
      json: { report: { path: out, bytes: Buffer.byteLength(page) }, application: "places" },
    });
    expect(outcome.json).toMatchObject({ runs: { length: 5 * 5 } });
    expect(progress.at(-1)).toEqual([25, 25]);
    expect(page.length).toBeLessThan(150_000);
  });

  test("has every level in the table, what exceeds a limit in red", () => {
    const rows = rowsOf(document, "#level-table tbody tr");
    expect(rows.map(([load, held]) => `${load} ${held?.split(":")[0]}`)).toEqual(
      bundle.levels.map(({ loadQps, feasible }) => `${loadQps} ${feasible ? "yes" : "no"}`),
    );
    expect(rows.at(-1)?.[1]).toMatch(/^no: load 170 > 164\.38\/s; violations [\d.]+% > 1%$/);
    const { expected } = bundle.levels[2] ?? {};
    expect(rows[2]?.slice(5, 7)).toEqual([
      decimalText(expected?.latencyMsP50 ?? 0, 1),
      decimalText(expected?.latencyMsP99 ?? 0, 1),
    ]);
    const reds = [...document.querySelectorAll("#level-table .over")].map(
      ({ textContent }) => textContent,
    );
    const beyond = bundle.levels.filter(({ feasible }) => !feasible);
    expect(reds.filter((text) => text?.startsWith("no: "))).toHaveLength(beyond.length);
    expect(beyond.length).toBeGreaterThan(0);
  });

  test("draws a stage for each place of each row, and the heaviest one solid", () => {
    const bars = [...document.querySelectorAll('svg[aria-labelledby^="cuts-0-"] rect')];
    expect(bars).toHaveLength(1 + 2 + 3 + 4 + 5 + 6);
    const titles = bars.map((bar) => bar.querySelector("title")?.textContent);
    expect(titles.slice(0, 3)).toEqual([
      "layers 0 to 9: 47 ms, measured",
      "layers 0 to 4: 25 ms, measured",
      "layers 5 to 9: 22 ms, measured",
    ]);
    expect(titles.filter((title) => title?.endsWith("added up"))).toHaveLength(5 + 6);
    const solid = bars.filter((bar) => bar.getAttribute("fill-opacity") === "1");
    expect(solid).toHaveLength(6);
    expect(document.querySelector("#model-0")?.textContent).toContain(
      "Stages of 4 of 6 rows were measured",
    );
    // Two layers can be cut once.
    expect(document.querySelectorAll('svg[aria-labelledby^="cuts-1-"] rect')).toHaveLength(3);
  });

  test("has the same pipelines in numbers", () => {
    const rows = rowsOf(document.querySelector("#model-0"), ".pipelines tbody tr");
    expect(rows[2]).toEqual("3|16.32|2.76|92.16%|17|47|measured|3 + 3 + 4".split("|"));
    expect(rows[4]?.slice(6)).toEqual(["added up", "2 + 2 + 2 + 2 + 2"]);
  });

  test("says how many places a batch needs", () => {
    expect(rowsOf(document, "#need-table tbody tr")).toEqual([
      ["1", "1–3", "1–12", "1–8"],
      ["2", "4–6", "–", "9–11"],
      ["3", "7–9", "–", "12"],
      ["4", "10", "–", "–"],
      ["5", "11–12", "–", "–"],
      ["too slow on any", "–", "–", "–"],
    ]);
  });

  test("compares the schedulers on the levels' queries: its own does what it states", () => {
    const rows = rowsOf(document, "#violation-table tbody tr");
    expect(rows.map(([load]) => Number(load))).toEqual(bundle.levels.map(({ loadQps }) => loadQps));
    const { runs } = outcome.json as { runs: { scheduler: string; violationRate: number }[] };
    const own = runs.filter(({ scheduler }) => scheduler === "accordion");
    expect(own.map(({ violationRate }) => violationRate)).toEqual(
      bundle.levels.map(({ expected }) => expected.violationRate),
    );
    const names = rowsOf(document, "#scheduler-table tbody tr").map(([name]) => name);
    expect(names).toEqual(["accordion", "slo-conforming", "fastest", "bbs", "one-stage"]);
    const dots = document.querySelectorAll(
      'svg[aria-labelledby^="violations-"] [aria-label="dot"]',
    );
    expect(dots).toHaveLength(5);
  });

  test("reports violations by size and priority from its own runs", () => {
    const { runs } = outcome.json as { runs: Pick<ScheduledRun["result"], "bySize">[] };
    const own = runs.filter((run) => (run as { scheduler?: string }).scheduler === "accordion");
    const rows = rowsOf(document, "#size-table tbody tr");
    expect(rows.map(([places]) => places)).toEqual(["1", "2", "3–4"]);
    for (const [index, row] of rows.entries()) {
      const sum = (priority: "high" | "low") =>
        own.reduce((total, { bySize }) => total + (bySize[index]?.[priority].queries ?? 0), 0);
      expect([row[1], row[4]]).toEqual([decimalText(sum("high")), decimalText(sum("low"))]);
    }
    const loads = rowsOf(document, "#size-load-table tbody tr");
    expect(loads.map(([load]) => Number(load))).toEqual(
      bundle.levels.map(({ loadQps }) => loadQps),
    );
    expect(loads[0]).toHaveLength(1 + 2 * rows.length);
  });

  test("says in words what its figures show", () => {
    const figures = [...document.querySelectorAll("svg.figure")];
    expect(figures).toHaveLength(6 + 1 + 2 * 3);
    for (const figure of figures) {
      expect(figure.querySelector("title")?.textContent).toBeTruthy();
      expect(figure.querySelector("desc")?.textContent).toBeTruthy();
    }
    const lead = document.querySelector(".lead")?.textContent;
    expect(lead).toMatch(
      /3 models on 12 execution places.*99% of .* of 1% .*when they start at once\..*one-stage\./,
    );
    const held = bundle.levels.filter(({ feasible }) => feasible);
    expect(held.length).toBeGreaterThan(0);
    expect(lead).toContain(`kept at ${held.length} of 5 levels, `);
    expect(document.querySelector("header dl")?.textContent).toMatch(
      /12 of pool default.*1 to 6.*accordion: .*cost it 5 ms.*dropped on arrival.*SLO/s,
    );
  });
});

test("reports which models and batches cannot meet the SLO", () => {
  const document = documentOf(render(accordionBundle({ sloMs: 8 })));
  expect(document.querySelector(".lead")?.textContent).toContain(
    "of deep none can meet it, of small those of up to 2 instances can, where 8 are allowed",
  );
  expect(rowsOf(document, "#need-table tbody tr")).toEqual([
    ["1", "–", "1"],
    ["2", "–", "2"],
    ["too slow on any", "1–8", "3–8"],
  ]);
});

test("an SLO far above all times is named instead of drawn", () => {
  const document = documentOf(render(accordionBundle({ sloMs: 5000 })));
  const texts = (model: number): string =>
    document.querySelector(`svg[aria-labelledby^="batches-${model}-"]`)?.textContent ?? "";
  expect(texts(0)).toContain("↑ SLO 5,000 ms");
  expect(
    documentOf(render(accordionBundle())).querySelector("#model-0")?.textContent,
  ).not.toContain("↑ SLO");
});

test("speed-ups without layers have no stages to draw, and say which were given", () => {
  const document = documentOf(render(table1Bundle()));
  expect(document.querySelectorAll('svg[aria-labelledby^="cuts-"]')).toHaveLength(0);
  const rows = rowsOf(document.querySelector("#model-0"), ".pipelines tbody tr");
  expect(rows.map((row) => row.at(-1))).toEqual(
    "given given interpolated given interpolated interpolated interpolated given".split(" "),
  );
  expect(rows[3]?.slice(0, 3)).toEqual(["4", "639.27", "2.19"]);
});

test("lists places by pool, and describes the other policies", () => {
  const bundle = accordionBundle({
    pools: [
      { name: "fast", workers: 3, speed: 2 },
      { name: "slow", workers: 4 },
    ],
    policy: { executionPlaces: 5, scheduler: "bbs", dropAfterSlos: null },
  });
  const page = render(bundle);
  expect(page.match(/.{0,40}(NaN|undefined|Infinity)/)).toBeNull();
  const document = documentOf(page);
  expect(document.querySelector("header dl")?.textContent).toMatch(
    /5: 3 of pool fast, 2 of 4 workers of pool slow.*bbs: .*never: it.*never dropped/s,
  );
  const rows = rowsOf(document.querySelector("#model-0"), ".pipelines tbody tr");
  expect(rows[0]?.[0]).toBe("1 + 0");
  expect(rows.some((row) => /fast \+ .*slow/.test(row.at(-1) ?? ""))).toBe(true);
});

test("a page of many levels, shapes and large batches stays small enough to open", () => {
  const bundle = accordionBundle({
    models: Array.from({ length: 3 }, (_, index) => ({
      name: `model-${index}`,
      layerMs: Array.from({ length: 16 }, (_, layer) => 1 + ((layer * (index + 3)) % 7)),
    })),
    pools: [{ workers: 6 }, { workers: 6, speed: 2 }, { workers: 6, speed: 3 }],
    maxDepth: 5,
    maxBatch: 1000,
    sloMs: 3000,
    levels: Array.from({ length: 200 }, (_, index) => ({ loadQps: index + 1 })),
  });
  expect(render(bundle).length).toBeLessThan(400_000);
});
