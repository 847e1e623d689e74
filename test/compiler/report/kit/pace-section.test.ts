/** The table of promises by pace. */
import { parseHTML } from "linkedom";
import { expect, test } from "vitest";
import { paceSections } from "../../../../compiler/report/kit/pace-section.ts";
import { sampleBundle } from "../../../support/sample-bundle.ts";

test("a report has a row for each level and pace, and marks broken ceilings", () => {
  const bundle = sampleBundle();
  const at = { accuracyPerQuery: 0.7, violationRate: 0.01, p50: 20, p99: 80 };
  const byPace = [
    { ...at, pace: 1.25 },
    { ...at, pace: 2, violationRate: 0.2 },
  ];
  const levels = bundle.levels.map((level, index) => {
    return {
      ...level,
      expected: { ...level.expected, ...(index === 0 && { byPace, headroom: 1.45 }) },
    };
  });
  const [section, ...more] = paceSections({ ...bundle, levels });
  expect(more).toEqual([]);
  const { document } = parseHTML(`<html>${section?.body.text}</html>`);
  const rows = [...document.querySelectorAll("#pace-table tbody tr")];
  expect(
    rows.map((row) => [...row.querySelectorAll("td")].map((cell) => cell.textContent)),
  ).toEqual([
    ["40", "1.45", "1.25", "70%", "1%", "20", "80"],
    ["40", "1.45", "2", "70%", "20%", "20", "80"],
  ]);
  expect(document.querySelectorAll("td.over")).toHaveLength(1);
});

test("a bundle that states none has no such section", () => {
  expect(paceSections(sampleBundle())).toEqual([]);
});
