import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { parseHTML } from "linkedom";
import { afterAll, describe, expect, test } from "vitest";
import { drawHeatMap } from "../../compiler/methods/ramsis/report/heat-map.ts";
import { renderRamsisReport } from "../../compiler/methods/ramsis/report/report.ts";
import {
  planSimulations,
  runSimulations,
} from "../../compiler/methods/ramsis/report/simulated-levels.ts";
import { paletteStyle, variantKeys } from "../../compiler/report/palette.ts";
import { NO_ACTION, type RamsisBundle } from "../../runtime/bundle/schema.ts";
import { encodeBundle } from "../../runtime/bundles/checked-bundle.ts";
import { loadBundle } from "../../runtime/bundles/load-bundle.ts";
import { countColors } from "../compiler/report/png-pixels.ts";
import { stratagemHere } from "../support/cli-here.ts";
import { ramsisBundle } from "../support/ramsis-bundle.ts";
import { LARGE, SMALL, tinyBundle } from "../support/tiny-bundle.ts";

const LETTERS = "policies/letters/bundle.msgpack";
const folder = mkdtempSync(join(tmpdir(), "stratagem-report-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** Names of the variants that a level's table runs. */
/** Names of the variants that a level runs; waiting and giving up have colours of their own. */
function variantsUsed(
  { tasks, decisionSpace }: RamsisBundle,
  { actionByState }: RamsisBundle["levels"][number],
) {
  const variants = tasks[0]?.variants ?? [];
  return new Set(
    Array.from(
      actionByState.data,
      (action) => variants[decisionSpace.actions.data[2 * action] ?? -1]?.name ?? String(action),
    ),
  );
}

async function render(bundle: RamsisBundle): Promise<string> {
  const plan = { ...planSimulations(bundle), queries: 100 };
  const runs = await runSimulations(bundle, plan, async () => {});
  const file = { byteCount: 0, sha256: "0".repeat(64) };
  const none = { frontier: null, latencies: null, simulations: [] };
  return renderRamsisReport({ bundle, file, plan, runs, ...none });
}

describe("the report of the letters example", async () => {
  const out = join(folder, "letters.html");
  const run = await stratagemHere("report", LETTERS, "-o", out, "--frontier", "none", "--json");
  const page = run.status === 0 ? readFileSync(out, "utf8") : "";
  const { document } = parseHTML(page);

  test("is written whole, with a JSON document about it", () => {
    expect(run).toMatchObject({ status: 0, stderr: "" });
    const { report, runs } = JSON.parse(run.stdout);
    expect(report).toMatchObject({ path: out, bytes: Buffer.byteLength(page) });
    expect(runs.some((one: { variant: string | null }) => one.variant !== null)).toBe(true);
    expect(page.length).toBeLessThan(500_000);
  });

  test("has a map per level in the colours of its variants, and a row per level", async () => {
    const bundle = ramsisBundle((await loadBundle(LETTERS)).bundle);
    expect(document.querySelectorAll(".level")).toHaveLength(bundle.levels.length);
    const table = document.querySelector("#level-table tbody")?.textContent ?? "";
    for (const [index, level] of bundle.levels.entries()) {
      const cells = document.querySelector(`svg[aria-labelledby^="map-${index}-"] .cells`);
      const fills = [...(cells?.children ?? [])].map((child) => child.getAttribute("fill"));
      const colors = new Set(fills.filter((fill) => fill !== null));
      expect(colors.size).toBe(variantsUsed(bundle, level).size);
      expect(table).toContain(level.loadQps.toLocaleString("en-US"));
    }
  });

  test("says in words what its figures show", () => {
    const figures = [...document.querySelectorAll("svg.figure")];
    expect(figures.length).toBeGreaterThan(4);
    for (const figure of figures) {
      expect(figure.querySelector("title")?.textContent).toBeTruthy();
      expect(figure.querySelector("desc")?.textContent).toBeTruthy();
    }
    expect(document.querySelector(".lead")?.textContent).toMatch(/deadline of 100 ms.*feasible/);
  });

  test("looks as expected in a browser", async (context) => {
    const browser = ["chromium", "chromium-browser", "google-chrome"].find(
      (name) => spawnSync(name, ["--version"]).status === 0,
    );
    if (browser === undefined) return context.skip("no chromium on this machine");
    const bundle = ramsisBundle((await loadBundle(LETTERS)).bundle);
    const colors = countColors(screenshot(browser, out));
    const pixels = [...colors.values()].reduce((sum, count) => sum + count, 0);
    expect(colors.get("#ffffff") ?? 0).toBeGreaterThan(0.4 * pixels);
    expect(colors.get("#ffffff") ?? 0).toBeLessThan(0.97 * pixels);
    const keys = variantKeys(bundle.tasks[0]?.variants ?? []);
    const colorOf = new Map(
      paletteStyle(keys.length, 0)
        .split(";")
        .map((declaration) => declaration.split(":") as [string, string]),
    );
    const shown = bundle.levels[Math.floor(bundle.levels.length / 2)];
    for (const name of shown === undefined ? [] : variantsUsed(bundle, shown)) {
      const key = keys.find((one) => one.name === name);
      if (key === undefined) continue;
      const color = colorOf.get(key.color.slice(4, -1)) ?? "";
      expect(colors.get(color) ?? 0, `${name} ${color}`).toBeGreaterThan(100);
    }
  });

  function screenshot(browser: string, path: string): Buffer {
    const image = join(folder, "page.png");
    spawnSync(
      browser,
      [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        "--force-color-profile=srgb",
        `--user-data-dir=${join(folder, "browser")}`,
        `--screenshot=${image}`,
        "--window-size=1000,3200",
        pathToFileURL(path).href,
      ],
      { timeout: 50_000 },
    );
    return readFileSync(image);
  }
});

describe("what a report can be asked for", () => {
  const bundle = join(folder, "none.msgpack");
  const small = join(folder, "small.msgpack");
  writeFileSync(small, encodeBundle(tinyBundle({ loadsQps: [20, 40] })));
  const out = join(folder, "out.html");

  test("a simulation is shown beside the policy", async () => {
    const simulation = join(folder, "beside.json");
    const simulated = await stratagemHere(
      "simulate",
      small,
      "--arrivals",
      "poisson:30",
      "--duration",
      "1s",
      "--json",
    );
    writeFileSync(simulation, simulated.stdout);
    const args = ["report", small, "-o", out, "--frontier", "none", "--simulation", simulation];
    expect(await stratagemHere(...args)).toMatchObject({ status: 0, stderr: "" });
    expect(readFileSync(out, "utf8")).toContain("beside.json");
  });

  test("refuses a bad bundle, simulation or output, and writes nothing", async () => {
    writeFileSync(bundle, "no bundle");
    const before = readdirSync(folder);
    const none = join(folder, "none.html");
    expect(await stratagemHere("report", bundle, "-o", none)).toMatchObject({ status: 65 });
    const refused = await stratagemHere(
      "report",
      LETTERS,
      "-o",
      none,
      "--simulation",
      "package.json",
    );
    expect(refused.status).toBe(65);
    expect(refused.stderr).toMatch(/^INPUT_\w+ package\.json.*expected/);
    const unwritable = await stratagemHere(
      "report",
      small,
      "-o",
      "/dev/null/x.html",
      "--frontier",
      "none",
    );
    expect(unwritable).toMatchObject({
      status: 65,
      stderr: expect.stringMatching(/^COMPILER_UNWRITABLE /),
    });
    expect(await stratagemHere("report", LETTERS)).toMatchObject({ status: 64 });
    expect((await stratagemHere("report", LETTERS, "-o", none, "--frontier", "much")).status).toBe(
      64,
    );
    expect(readdirSync(folder)).toEqual(before);
  });
});

describe("the figures of unusual bundles", () => {
  test("a map of a pooled policy shows where it waits", () => {
    const plain = tinyBundle({ maxQueue: 300, slackSteps: 50 });
    const [level] = plain.levels;
    const data = Uint16Array.from(level?.actionByState.data ?? [], (action, cell) =>
      cell < 51 * 8 && cell % 51 > 30 ? NO_ACTION : action,
    );
    const table = { dtype: "uint16", shape: [301, 51], data } as const;
    const keys = variantKeys(plain.tasks[0]?.variants ?? []);
    const text = { id: "map", title: "a map", description: "of states" };
    const bundle: RamsisBundle = { ...plain, policy: { ...plain.policy, balancer: "pooled" } };
    const map = drawHeatMap(text, bundle, table, keys).text;
    expect(map).toContain('fill="var(--wait)"');
    expect(map).toContain("wait for more queries");
    expect(map).toContain("square-root scale");
  });

  test("one level, names with markup and many variants are drawn too", async () => {
    const variants = Array.from({ length: 14 }, (_, index) => ({
      name: index === 0 ? `<b>"small"&` : `variant-${index}`,
      accuracy: 0.5 + index / 50,
      latencyMs: (batch: number) => SMALL.latencyMs(batch) + index,
    }));
    const page = await render(tinyBundle({ variants: [...variants, LARGE], loadsQps: [20] }));
    expect(page.match(/.{0,40}<b>/)).toBeNull();
    expect(page.includes("&lt;b&gt;&quot;small&quot;&amp;")).toBe(true);
    expect(page.match(/.{0,40}(NaN|undefined|Infinity)/)).toBeNull();
  });

  test("a hundred levels stay readable by machines", async () => {
    const loadsQps = Array.from({ length: 100 }, (_, index) => 5 + index);
    const page = await render(tinyBundle({ maxQueue: 32, slackSteps: 100, loadsQps }));
    expect(page.length).toBeLessThan(4_000_000);
    expect(page.match(/type="radio"/g)).toHaveLength(100);
  });
});
