/** What holds of the page of every method. */
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseHTML } from "linkedom";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ReportCommand, reportCommand } from "../../compiler/commands/report.ts";
import type { Bundle } from "../../runtime/bundle/schema.ts";
import { encodeBundle } from "../../runtime/bundles/checked-bundle.ts";
import { MARKUP } from "./subjects/shown.ts";
import { BY_METHOD } from "./subjects.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-pages-"));
afterAll(() => rmSync(folder, { recursive: true }));

const MOST_BYTES = 500_000;
const NETWORK = /.{0,40}(https?:|@import|url\((?!#)|<script|<link|<img|<iframe)/;
const NO_NUMBER = /.{0,40}(NaN|undefined|Infinity)/;

function written(name: string, bundle: Bundle): string {
  const path = join(folder, `${name}.msgpack`);
  writeFileSync(path, encodeBundle(bundle));
  return path;
}

function asked(bundle: string, change: Partial<ReportCommand> = {}): ReportCommand {
  const watch = { signal: new AbortController().signal, onProgress: () => {} };
  const out = bundle.replace(/msgpack$/, "html");
  return { bundle, out, simulations: [], frontierQps: false, watch, ...change };
}

describe.each(BY_METHOD)("the page of %s", (method, { shown }) => {
  let command: ReportCommand;
  let outcome: Awaited<ReturnType<typeof reportCommand>>;
  let page: string;
  let document: ReturnType<typeof parseHTML>["document"];

  beforeAll(async () => {
    command = asked(written(method, shown.bundle));
    outcome = await reportCommand(command);
    page = readFileSync(command.out, "utf8");
    document = parseHTML(page).document;
  });

  test("is written whole, with a JSON document about it", () => {
    const sha256 = createHash("sha256").update(page).digest("hex");
    const bytes = Buffer.byteLength(page);
    const { application } = shown.bundle;
    expect(outcome).toMatchObject({
      exitCode: 0,
      json: { report: { path: command.out, bytes, sha256 }, application },
    });
    expect(page).toMatch(/^<!doctype html>.*<\/html>\n$/s);
    expect(page.length).toBeLessThan(MOST_BYTES);
  });

  test("asks the network for nothing, runs nothing and has no identifier twice", () => {
    expect(page.match(NETWORK)).toBeNull();
    for (const element of document.querySelectorAll("[src],[href]")) {
      expect(element.getAttribute("src") ?? element.getAttribute("href")).toMatch(/^#/);
    }
    const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(page.match(NO_NUMBER)).toBeNull();
  });

  test("has every level in its table, and says in words what its figures show", () => {
    const loads = [...document.querySelectorAll("#level-table tbody tr")].map((row) =>
      row.querySelector("td")?.textContent?.replaceAll(",", ""),
    );
    expect(loads).toEqual(shown.bundle.levels.map(({ loadQps }) => String(loadQps)));
    const figures = [...document.querySelectorAll("svg.figure")];
    expect(figures.length).toBeGreaterThan(0);
    for (const figure of figures) {
      expect(figure.querySelector("title")?.textContent).toBeTruthy();
      expect(figure.querySelector("desc")?.textContent).toBeTruthy();
    }
    expect(document.querySelector(".lead")?.textContent).toBeTruthy();
  });

  test("has the same bytes each time", async () => {
    const again = asked(command.bundle, { out: join(folder, `${method}-again.html`) });
    await reportCommand(again);
    expect(readFileSync(again.out, "utf8")).toBe(page);
  });

  test("escapes names that would be markup", async () => {
    const marked = asked(written(`${method}-marked`, shown.markedUp));
    await reportCommand(marked);
    const text = readFileSync(marked.out, "utf8");
    expect(text.match(/.{0,40}<i>"one/)).toBeNull();
    expect(text).toContain("&lt;i&gt;&quot;one&quot;&amp;");
    expect(text.match(NO_NUMBER)).toBeNull();
    expect(JSON.stringify(shown.markedUp)).toContain(JSON.stringify(MARKUP).slice(1, -1));
  });

  test("ends with the signal, and writes nothing then", async () => {
    const signal = AbortSignal.abort(new Error("enough"));
    const gone = asked(command.bundle, {
      out: join(folder, `${method}-gone.html`),
      watch: { signal, onProgress: () => {} },
    });
    await expect(reportCommand(gone)).rejects.toThrow("enough");
    expect(() => readFileSync(gone.out)).toThrow("ENOENT");
  });

  test.skipIf(method === "themis")("is refused where it would need days", async () => {
    const out = join(folder, `${method}-none.html`);
    const refused = reportCommand(asked(command.bundle, { traces: ["day.csv"], out }));
    await expect(refused).rejects.toMatchObject({
      code: "RUNTIME_USAGE",
      message: expect.stringContaining("--trace: expected a bundle of method themis, got "),
    });
    expect(() => readFileSync(out)).toThrow("ENOENT");
  });

  test.skipIf(shown.hasTables)("is refused where it would need tables", async () => {
    const simulation = join(folder, "none.json");
    for (const [option, change] of [
      ...(shown.hasDays === true
        ? []
        : ([["--simulation", { simulations: [simulation] }]] as const)),
      ["--frontier", { frontierQps: 100 }],
    ] as const) {
      const out = join(folder, `${method}-none.html`);
      const refused = reportCommand(asked(command.bundle, { ...change, out }));
      await expect(refused).rejects.toMatchObject({
        code: "RUNTIME_USAGE",
        message: expect.stringContaining(option),
      });
      expect(() => readFileSync(out)).toThrow("ENOENT");
    }
  });
});
