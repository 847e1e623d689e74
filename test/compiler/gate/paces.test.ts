/** Promises for slower machines: what is required of headroom, and what is worse than before. */
import { expect, test } from "vitest";
import { type Comparison, compare } from "../../../compiler/gate/compare.ts";
import { gateText } from "../../../compiler/gate/gate-table.ts";
import { judge } from "../../../compiler/gate/judge.ts";
import { judgedLines } from "../../../compiler/gate/judged-text.ts";
import type { PromisedLevel } from "../../../compiler/gate/promised-bundle.ts";
import { promisedBundle } from "../../../compiler/gate/promised-bundle.ts";
import { sampleBundle } from "../../support/sample-bundle.ts";
import { allowed, parsed } from "./parsed.ts";
import { FIGURES, level, promised } from "./promised.ts";

const AT_1_5 = { violations: 0.001, accuracyPerQuery: 0.95, p50: 10, p99: 40 };
const AT_3 = { violations: 0.2, accuracyPerQuery: 0.6, p50: 60, p99: 99 };

function paced(change: Partial<typeof AT_1_5> = {}, headroom = 2, at3 = AT_3): PromisedLevel {
  const paces = [
    { name: "1.5", figures: { ...AT_1_5, ...change } },
    { name: "3", figures: at3 },
  ];
  return level(100, { figures: { ...FIGURES, headroom }, paces });
}

const OLD = promised([paced()]);

function regressions(after: PromisedLevel, allow = ""): string[] {
  const tolerances = allow === "" ? [] : allowed(allow);
  return compare(OLD, promised([after]), tolerances)
    .filter(({ verdict }) => verdict === "regression")
    .map(({ figure, part }) => `${figure} ${part?.name ?? "all"}`);
}

test("a headroom that is required is broken where it is lower, and where none is promised", () => {
  const bundle = promised([paced(), level(200)]);
  expect(judgedLines(judge(parsed("headroom >= 1.3 @ 100"), bundle))).toEqual([
    "requirements kept: headroom >= 1.3 @ 100",
  ]);
  expect(judgedLines(judge(parsed("headroom >= 2.5"), bundle))).toEqual([
    "BROKEN headroom >= 2.5: no promise of headroom at level 200 qps, and at 100 qps",
  ]);
});

test("less headroom is a regression, unless a tolerance allows it", () => {
  expect(regressions(paced({}, 1.9))).toEqual(["headroom all"]);
  expect(regressions(paced({}, 1.9), "headroom 0.1")).toEqual([]);
  expect(regressions(paced({}, 1.8), "headroom 0.1")).toEqual(["headroom all"]);
  expect(regressions(paced({}, 1.8), "headroom 10%")).toEqual([]);
});

test("what a level promises at another pace is compared where it kept its ceiling", () => {
  expect(regressions(paced({ violations: 0.002, p99: 41 }))).toEqual(["violations 1.5", "p99 1.5"]);
  expect(regressions(paced({ p99: 41 }), "p99 1ms")).toEqual([]);
  expect(regressions(paced({}, 2, { ...AT_3, violations: 0.5 }))).toEqual([]);
  expect(regressions(level(100, { figures: { ...FIGURES, headroom: 2 } }))).toEqual([
    "violations 1.5",
    "accuracyPerQuery 1.5",
    "p99 1.5",
  ]);
});

function tableOf(rows: readonly Comparison[], after: PromisedLevel): string {
  const outcome = { before: OLD, after: promised([after]), oldPath: "old", newPath: "new" };
  return gateText({ ...outcome, rows, requirements: [] });
}

test("the table has a row for a pace where something has changed", () => {
  const same = paced();
  expect(tableOf(compare(OLD, promised([same]), []), same)).not.toContain("pace");
  const worse = paced({ accuracyPerQuery: 0.9 });
  const text = tableOf(compare(OLD, promised([worse]), []), worse);
  expect(text).toMatch(/^ +100 {2}pace 1\.5 .* 95\.000% → 90\.000% ! .* WORSE$/m);
  expect(text).not.toContain("pace 3");
  expect(text).toContain("REGRESSION accuracyPerQuery at pace 1.5 at 100 qps: 95.000% → 90.000%");
});

test("bundles promise what their levels state by pace", async () => {
  const bundle = sampleBundle();
  const at = { pace: 1.5, accuracyPerQuery: 0.7, violationRate: 0.01, p50: 20, p99: 80 };
  const levels = bundle.levels.map((one) => {
    return { ...one, expected: { ...one.expected, headroom: 1.45, byPace: [at] } };
  });
  const figures = { violations: 0.01, accuracyPerQuery: 0.7, p50: 20, p99: 80 };
  expect((await promisedBundle({ ...bundle, levels }, 1)).levels[0]).toMatchObject({
    figures: { headroom: 1.45 },
    paces: [{ name: "1.5", figures }],
  });
  const [old] = (await promisedBundle(bundle, 1)).levels;
  expect(old?.paces).toBeUndefined();
  expect(old?.figures.headroom).toBeUndefined();
});
