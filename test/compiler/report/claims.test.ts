/** What reports claim is what their own figures support, whatever the bundle. */
import { parseHTML } from "linkedom";
import { describe, expect, test } from "vitest";
import { renderInferlineReport } from "../../../compiler/methods/inferline/report/report.ts";
import { inferlineOverDay } from "../../../compiler/methods/inferline/simulate/over-day.ts";
import { renderLokiReport } from "../../../compiler/methods/loki/report/report.ts";
import { renderRamsisReport } from "../../../compiler/methods/ramsis/report/report.ts";
import {
  planSimulations,
  runSimulations,
} from "../../../compiler/methods/ramsis/report/simulated-levels.ts";
import { renderThemisReport } from "../../../compiler/methods/themis/report/report.ts";
import type { InferlineBundle, RamsisBundle } from "../../../runtime/bundle/schema.ts";
import { loadBundle } from "../../../runtime/bundles/load-bundle.ts";
import { classBundle } from "../../support/class-bundle.ts";
import { inferlineSample } from "../../support/inferline-samples.ts";
import { chainBundle, treeBundle } from "../../support/loki-samples.ts";
import { sampleBundle } from "../../support/sample-bundle.ts";
import { themisBundle } from "../../support/themis-bundle.ts";
import { themisSample } from "../../support/themis-samples.ts";

const FILE = { byteCount: 0, sha256: "0".repeat(64) };

const documentOf = (page: string) => parseHTML(page).document;

/** The lead of a page on one line. */
function leadOf(page: string): string {
  return (documentOf(page).querySelector(".lead")?.textContent ?? "").replace(/\s+/g, " ");
}

async function ramsisPage(bundle: RamsisBundle): Promise<string> {
  const plan = { ...planSimulations(bundle), queries: 400 };
  const runs = await runSimulations(bundle, plan, async () => {});
  return renderRamsisReport({
    bundle,
    file: FILE,
    plan,
    runs,
    frontier: null,
    latencies: null,
    simulations: [],
  });
}

/** The cells of the last column of all levels, which say what is feasible. */
function feasibleCells(page: string, column: number): (string | null | undefined)[] {
  return [...documentOf(page).querySelectorAll("#level-table tbody tr")].map(
    (row) => [...row.querySelectorAll("td")].at(column)?.textContent,
  );
}

describe("what provisioned plans cost", () => {
  test("is shown with the simulated value if that is higher", async () => {
    const { bundle } = await loadBundle("policies/cascade/bundle.msgpack");
    const cascade = bundle as InferlineBundle;
    const levels = cascade.levels.map((level) => ({
      ...level,
      expected: { ...level.expected, costPerHour: 0.249 },
    }));
    const lead = leadOf(renderInferlineReport({ bundle: { ...cascade, levels }, file: FILE }));
    expect(lead).toMatch(/As planned they cost 0\.133 an hour; by the estimator, no plan/);
    expect(lead).toMatch(/In the simulation, .* 0\.249 an hour: up to 87\.22% more than/);
    expect(lead).not.toMatch(/can be cheaper/);
  });

  test("is what the simulation of the cascade comes to, at its loads and over a day", async () => {
    const { bundle } = await loadBundle("policies/cascade/bundle.msgpack");
    const cascade = bundle as InferlineBundle;
    for (const { plan, expected } of cascade.levels) {
      expect(expected.costPerHour).toBeLessThan(1.1 * plan.costPerHour);
    }
    const day = inferlineOverDay(cascade, null);
    expect(day?.followed.costPerHour).toBeLessThan(1.1 * 0.133);
    expect(day?.followed.violationRate).toBeLessThan(0.01);
    expect(day?.plannedCostPerHour).toBeCloseTo(0.133, 9);
    expect(day?.of).toBe("from 50 to 300 requests/s and back, an hour in 23 s");
  });

  test("is shown once if both are the same", () => {
    const sample = inferlineSample();
    const levels = sample.levels.map((level) => ({
      ...level,
      expected: { ...level.expected, costPerHour: level.plan.costPerHour },
    }));
    const lead = leadOf(renderInferlineReport({ bundle: { ...sample, levels }, file: FILE }));
    expect(lead).not.toContain("than planned");
  });
});

test("names levels that miss a goal", () => {
  const sample = inferlineSample();
  const levels = sample.levels.map((level, index) => ({
    ...level,
    expected: { ...level.expected, violationRate: index === 1 ? 0.02 : 0 },
  }));
  const provisioned = leadOf(renderInferlineReport({ bundle: { ...sample, levels }, file: FILE }));
  expect(provisioned).toContain("the goal is that 99% of the requests are done within 250 ms");
  expect(provisioned).toContain("In the simulation 120 requests/s misses it: up to 2%");
  for (const bundle of [themisSample(), themisBundle()]) {
    expect(leadOf(renderThemisReport({ bundle, file: FILE }))).not.toMatch(/so that [\d.]+% of/);
  }
});

test("no level that is not feasible lacks the limit that it misses", () => {
  const tables = [
    [
      inferlineSample(),
      feasibleCells(renderInferlineReport({ bundle: inferlineSample(), file: FILE }), -1),
    ],
    [themisSample(), feasibleCells(renderThemisReport({ bundle: themisSample(), file: FILE }), -1)],
    [chainBundle(), feasibleCells(renderLokiReport({ bundle: chainBundle(), file: FILE }), -1)],
    [treeBundle(), feasibleCells(renderLokiReport({ bundle: treeBundle(), file: FILE }), -1)],
  ] as const;
  for (const [{ levels }, cells] of tables) {
    expect(cells).toHaveLength(levels.length);
    for (const [index, { feasible }] of levels.entries()) {
      expect(cells[index]).toMatch(feasible ? /^yes/ : /^no: load .* > .*\/s/);
    }
  }
});

describe("of tables", () => {
  test("a level that is not feasible is named with limit, class and excess", async () => {
    const bundle = classBundle({ loadsQps: [50] });
    const levels = bundle.levels.map((level) => ({
      ...level,
      feasible: false,
      expected: {
        ...level.expected,
        byClass: {
          ...level.expected.byClass,
          relaxed: { accuracyPerSatisfied: 0.7, accuracyPerQuery: 0.6, violationRate: 0.072 },
        },
      },
    }));
    const page = await ramsisPage({ ...bundle, levels });
    expect(leadOf(page)).toMatch(
      /Not feasible: 50 queries\/s \(violations of class relaxed 7\.2% > [\d.]+%\)\./,
    );
    expect(feasibleCells(page, 1)[0]).toMatch(/^no: violations of class relaxed 7\.2% > /);
  });

  test("reports a simulation with too many late queries", async () => {
    const sample = sampleBundle();
    const bundle = { ...sample, slo: { ...sample.slo, maxViolationRate: 1e-9 } };
    const levels = bundle.levels.map((level) => ({
      ...level,
      expected: { ...level.expected, violationRate: 0 },
    }));
    const plan = { ...planSimulations(bundle), queries: 400 };
    const runs = await runSimulations(bundle, plan, async () => {});
    const late = runs.map((run) => ({ ...run, result: { ...run.result, violationRate: 0.03 } }));
    const lead = leadOf(
      renderRamsisReport({
        bundle: { ...bundle, levels },
        file: FILE,
        plan,
        runs: late,
        frontier: null,
        latencies: null,
        simulations: [],
      }),
    );
    expect(lead).toContain("The short simulation has more late queries than that: 3% at 40");
  });

  test("the bound is that of policies that keep the ceiling", async () => {
    const text = documentOf(await ramsisPage(sampleBundle())).querySelector("#load")?.textContent;
    expect(text?.replace(/\s+/g, " ")).toContain("no policy that keeps the ceiling is expected to");
    expect(text).not.toContain("no policy gives more");
  });
});
