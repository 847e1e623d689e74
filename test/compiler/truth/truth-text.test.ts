/** What people read of a document: the table and the page. */
import { parseHTML } from "linkedom";
import { expect, test } from "vitest";
import { truthPage } from "../../../compiler/truth/page/truth-page.ts";
import { truthText } from "../../../compiler/truth/truth-table.ts";
import { documentWith, MEASURED, POINT } from "./truth-sample.ts";

const BROKEN = {
  ...POINT,
  loadQps: 300,
  measured: { ...MEASURED, p99Ms: 90 },
  checks: [{ name: "p99", promised: 50, measured: 90, tolerance: 10, holds: false, isKept: false }],
  holds: false,
  verdict: "broken",
  cause: "batches took 1.60x their profile",
} as const;

test("the table has a row for each point, marks what is broken and says why", () => {
  const text = truthText(documentWith([POINT, BROKEN]));
  const lines = text.split("\n");
  expect(lines.find((line) => /^ *100 /.test(line))).toMatch(/holds$/);
  expect(lines.find((line) => /^ *300 /.test(line))).toMatch(/90\.0 !.*BROKEN$/);
  expect(text).toContain("300 requests/s, run 1: batches took 1.60x their profile");
  expect(lines.at(-1)).toBe("1 of 2 hold");
});

test("distinguishes results better than promised from broken promises", () => {
  const measured = { ...MEASURED, p99Ms: 20 };
  const checks = [{ ...BROKEN.checks[0], measured: 20, isKept: true }];
  const point = { ...BROKEN, measured, checks, verdict: "better" } as const;
  const document = documentWith([POINT, point]);
  const text = truthText(document);
  expect(document.holds).toBe(true);
  expect(text).toMatch(/^ *300 .*20\.0 \+.*better$/m);
  expect(text.split("\n").at(-1)).toBe("1 of 2 hold, 1 more better than promised");
  const page = parseHTML(truthPage([document])).document;
  expect(page.querySelector("h1")?.textContent).toBe(
    "1 of 2 promises hold, 1 better than promised",
  );
  expect(page.querySelector("td.broken")).toBeNull();
});

test("reports every repetition, and components missing in predictions", () => {
  const { measured, machine, checks } = BROKEN;
  const tried = { measured, machine: { ...machine, stealShare: 0.2 }, checks, holds: false };
  const point = { ...POINT, earlier: [{ ...tried, cause: "stolen" }] };
  const document = { ...documentWith([point]), latenciesWithout: ["serving path"] };
  const text = truthText(document);
  expect(text).toMatch(/run 1 was repeated .*other guests used 20\S*% .*\): it did not hold/);
  expect(text).toContain("latencies without serving path");
});

test("the page has two pictures for each point, and asks the network for nothing", () => {
  const page = truthPage([documentWith([POINT, BROKEN])]);
  const { document } = parseHTML(page);
  expect(document.querySelector("h1")?.textContent).toBe("1 of 2 promises hold");
  expect(document.querySelectorAll("#promises tbody tr")).toHaveLength(2);
  // A timeline is two drawings, one above the other.
  expect(document.querySelectorAll("svg.figure")).toHaveLength(6);
  expect(document.querySelector("td.broken")?.textContent).toBe("90 ms");
  expect(document.querySelector(".cause")?.textContent).toContain("1.60x");
  expect(page).not.toMatch(/\b(?:src|href)="(?!#)/);
  expect(page).not.toContain("NaN");
});

test("the table and the page show intervals of percentiles of few batches", () => {
  const intervalsMs = { p50: [9.04, 12.3], p95: [15, 30], p99: [40, null] } as const;
  const point = { ...POINT, measured: { ...MEASURED, batches: 200, intervalsMs } };
  const text = truthText(documentWith([point]));
  expect(text).toMatch(/^ *100 .* 10\.0 {2}10\.0 \(9\.04\.\.12\.3\) {2}/m);
  expect(text).toContain("  50.0 (40..)  ");
  expect(text.replaceAll("\n", " ")).toContain("(a..b): 99 % interval of a percentile");
  const page = truthPage([documentWith([point])]);
  expect(page).toContain("50 ms (40..)");
  expect(truthText(documentWith([POINT]))).not.toContain("interval");
});
