import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseHTML } from "linkedom";
import { afterAll, describe, expect, test } from "vitest";
import { type ReportCommand, reportCommand } from "../../../../../compiler/commands/report.ts";
import {
  renderLokiReport,
  variantKeys,
} from "../../../../../compiler/methods/loki/report/report.ts";
import type { LokiBundle, LokiLevel } from "../../../../../runtime/bundle/schema.ts";
import { loadBundle } from "../../../../../runtime/bundles/load-bundle.ts";
import { planView } from "../../../../../runtime/methods/loki/describe/plan-view.ts";
import { lokiBundle } from "../../../../support/loki-bundle.ts";
import { CHAIN_TASKS, chainBundle, treeBundle } from "../../../../support/loki-samples.ts";

const SCENES = "policies/scenes/bundle.msgpack";
const folder = mkdtempSync(join(tmpdir(), "stratagem-report-"));
afterAll(() => rmSync(folder, { recursive: true }));

const NOTHING_ASKED = {
  simulations: [],
  frontierQps: null,
  watch: { signal: new AbortController().signal, onProgress() {} },
} satisfies Partial<ReportCommand>;

function render(bundle: LokiBundle): string {
  return renderLokiReport({ bundle, file: { byteCount: 0, sha256: "0".repeat(64) } });
}

/** A level with numbers of its own. */
type Numbers = Partial<Pick<LokiLevel, "feasible" | "capacityQps" | "transition">> & {
  readonly expected?: Partial<LokiLevel["expected"]>;
};

function withNumbers(bundle: LokiBundle, numbersOf: (index: number) => Numbers): LokiBundle {
  const levels = bundle.levels.map((level, index) => {
    const { expected, ...rest } = numbersOf(index);
    return { ...level, ...rest, expected: { ...level.expected, ...expected } };
  });
  return { ...bundle, levels };
}

function documentOf(page: string): ReturnType<typeof parseHTML>["document"] {
  return parseHTML(page).document;
}

function rowsOf(page: string, selector: string): string[][] {
  return [...documentOf(page).querySelectorAll(selector)].map((row) =>
    [...row.querySelectorAll("td")].map((cell) => cell.textContent ?? ""),
  );
}

describe("the report of the scenes example", async () => {
  const out = join(folder, "scenes.html");
  const { bundle } = await loadBundle(SCENES);
  if (bundle.method !== "loki") throw new TypeError("scenes is a pipeline");
  await reportCommand({ ...NOTHING_ASKED, bundle: SCENES, out });
  const page = readFileSync(out, "utf8");
  const document = documentOf(page);

  test("has every level in the table, and its instances and paths in a part that opens", () => {
    expect(rowsOf(page, "#level-table tbody tr").map(([load]) => load)).toEqual(
      bundle.levels.map(({ loadQps }) => loadQps.toLocaleString("en-US")),
    );
    for (const [index, level] of bundle.levels.entries()) {
      const { instances, paths } = planView(bundle, level);
      const tables = [...document.querySelectorAll(`#level-${index} table`)];
      const counts = tables.map((table) => table.querySelectorAll("tbody tr").length);
      expect(counts).toEqual([instances.length, paths.length]);
    }
  });

  test("draws every task, and every variant that a plan uses in one colour of its own", () => {
    const names = [...document.querySelectorAll(".tree h3")].map((one) => one.textContent);
    expect(names).toEqual(bundle.tasks.map(({ name }) => name));
    const keys = variantKeys(bundle);
    const used = new Set(
      bundle.levels.flatMap(({ plan }) =>
        plan.instances.map((one) => `${one.task} ${one.variant}`),
      ),
    );
    expect(new Set(keys.map((key) => `${key.task} ${key.variant}`))).toEqual(used);
    const fills = [...document.querySelectorAll('svg[aria-labelledby^="servers-"] rect')];
    const colors = new Set(fills.map((bar) => bar.getAttribute("fill")));
    expect(colors).toEqual(new Set(keys.map(({ color }) => color)));
    for (const { color } of keys) {
      expect(page.split(`${color.slice(4, -1)}:oklch(`)).toHaveLength(3);
    }
  });

  test("says in words what its figures show", () => {
    const figures = [...document.querySelectorAll("svg.figure")];
    expect(figures).toHaveLength(5);
    for (const figure of figures) {
      expect(figure.querySelector("title")?.textContent).toBeTruthy();
      expect(figure.querySelector("desc")?.textContent).toBeTruthy();
    }
    expect(document.querySelector(".lead")?.textContent).toMatch(/deadline of 100 ms.*ceiling/);
  });
});

describe("what a page says about its levels", () => {
  test("beyond the capacity, the share that is shed", () => {
    const bundle = withNumbers(chainBundle(), (index) => ({
      feasible: index < 2,
      capacityQps: 400,
      expected: { violationRate: index < 2 ? 0.001 : 0.21 },
    }));
    const page = render(bundle);
    const shed = rowsOf(page, "#level-table tbody tr").map((cells) => cells[3]);
    expect(shed).toEqual(["–", "–", "20%"]);
    expect(documentOf(page).querySelector("#level-2")?.textContent).toMatch(
      /20% shed.*capacity of 400 requests\/s.*other 100 requests\/s are shed/s,
    );
    expect(documentOf(page).querySelector(".lead")?.textContent).toMatch(
      /No plan carries 500 requests\/s.*every level it carries keeps the ceiling/,
    );
    const marked = documentOf(page).querySelectorAll("#level-table .over");
    expect([...marked].map((cell) => cell.textContent)).toEqual([
      "20%",
      "21%",
      "no: load 500 > 400/s; violations 21% > 1%",
    ]);
  });

  test("above the ceiling, which ones and what helps", () => {
    const late = withNumbers(chainBundle(), (index) => ({
      expected: { violationRate: index === 0 ? 0.08 : 0 },
    }));
    const lead = documentOf(render(late)).querySelector(".lead")?.textContent;
    expect(lead).toMatch(/75 requests\/s exceeds the ceiling of 1%.*8%.*headroom: auto/);
  });

  test("between the last level of the hardware step and the first of the other", () => {
    const page = render(chainBundle());
    expect(page).toContain("between 75 and 150 requests/s");
    expect(page).toContain("hardware step</text>");
    const [, , last] = chainBundle().levels;
    const one = { ...chainBundle(), levels: last === undefined ? [] : [last] };
    expect(render(one)).toContain("All levels are in the accuracy step.");
  });

  test("what a change costs, up and down", () => {
    const bundle = withNumbers(chainBundle({ policy: { modelLoadMs: 1500 } }), (index) => ({
      transition: {
        modelLoadsFromBelow: index === 0 ? null : 3 + index,
        modelLoadsFromAbove: index === 2 ? null : 1 + index,
      },
    }));
    const page = render(bundle);
    const titles = [
      ...documentOf(page).querySelectorAll('svg[aria-labelledby^="transitions-"] rect title'),
    ];
    expect(titles.map((title) => title.textContent).sort()).toEqual([
      "down to 150: 2 model loads",
      "down to 75: 1 model load",
      "up from 150: 5 model loads",
      "up from 75: 4 model loads",
    ]);
    expect(page).toContain("1,500 ms for a model load");
    expect(render(chainBundle())).toContain("No change between adjacent levels");
  });

  test("the paths to each leaf, whose shares sum to one", () => {
    const page = render(treeBundle());
    const heads = [...documentOf(page).querySelectorAll("#level-1 th[colspan]")];
    expect(heads.map((head) => head.textContent)).toEqual(["to cars", "to faces"]);
    const shares = rowsOf(page, "#level-1 .plan > div:last-child tr")
      .filter((cells) => cells.length === 4)
      .map((cells) => cells[1]);
    expect(shares).toEqual(["70%", "30%", "70%", "30%"]);
  });
});

describe("the page of unusual pipelines", () => {
  test("names the pool of an instance where there are several", () => {
    const bundle = lokiBundle({
      tasks: [{ name: "one", variants: [{ name: "only", accuracy: 0.5, latencyMs: { 1: 10 } }] }],
      workers: [2, 3],
      levels: [
        {
          loadQps: 50,
          instances: [{ of: "one/only", batch: 1, replicas: 1, pool: 1 }],
          paths: [{ along: ["one/only"], ratio: 1 }],
        },
      ],
    });
    expect(render(bundle)).toContain("<td>pool1</td>");
  });

  test("thirty variants and a hundred levels have letters and rows of their own", () => {
    const variants = Array.from({ length: 30 }, (_, index) => ({
      name: `variant-${index}`,
      accuracy: 0.5 + index / 100,
      latencyMs: { 1: 10 + index },
      fanouts: { classify: 1 },
    }));
    const [detect, classify] = CHAIN_TASKS;
    if (detect === undefined || classify === undefined) throw new TypeError("a chain has two");
    const levels = Array.from({ length: 100 }, (_, index) => ({
      loadQps: 10 * (index + 1),
      instances: [
        { of: `detect/variant-${29 - (index % 30)}`, batch: 1, replicas: 3 },
        { of: "classify/small", batch: 8, replicas: 1 },
      ],
      paths: [{ along: [`detect/variant-${29 - (index % 30)}`, "classify/small"], ratio: 1 }],
    }));
    const bundle = lokiBundle({ tasks: [{ ...detect, variants }, classify], levels });
    const letters = variantKeys(bundle).map(({ letter }) => letter);
    expect(new Set(letters).size).toBe(31);
    const page = render(bundle);
    expect(rowsOf(page, "#level-table tbody tr")).toHaveLength(100);
    expect(page.length).toBeLessThan(500_000);
  });
});
