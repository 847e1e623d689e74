/** Texts about machines that are slower than profiled. */
import { expect, test } from "vitest";
import type { RamsisBundle } from "../../../runtime/bundle/schema.ts";
import { inspectBundle } from "../../../runtime/bundles/inspect.ts";
import {
  figuresAtPace,
  paceLevelsOf,
  pacePromisesOf,
} from "../../../runtime/describe/pace-promises.ts";
import { headroomCell, paceLevelLines, promiseByPace } from "../../../runtime/describe/paces.ts";
import { methodOf } from "../../../runtime/methods/registry.ts";
import { sampleBundle } from "../../support/sample-bundle.ts";
import { themisBundle } from "../../support/themis-bundle.ts";

const FILE = { byteCount: 0, sha256: "0".repeat(64) };
const FIGURES = { accuracyPerQuery: 0.7, violationRate: 0.01, p50: 20, p99: 80 };
const BY_PACE = [
  { ...FIGURES, pace: 1.25 },
  { ...FIGURES, pace: 2, violationRate: 0.2 },
];

/** The first level of two states what it promises at other paces. */
function pacedBundle(): RamsisBundle {
  const bundle = sampleBundle();
  const [first, ...others] = bundle.levels;
  if (first === undefined) throw new TypeError("the sample has levels");
  const expected = { ...first.expected, headroom: 1.45, byPace: BY_PACE };
  const { actionByState, mixture } = first;
  return {
    ...bundle,
    levels: [{ ...first, expected }, ...others],
    paceLevels: [
      { pace: 1.25, loadQps: 40, actionByState, mixture },
      { pace: 2, loadQps: 40, actionByState, mixture },
      { pace: 2, loadQps: 80.5, actionByState, mixture },
    ],
  };
}

test("a level of an older bundle, or of a method without them, states no promises by pace", () => {
  expect(sampleBundle().levels.map(pacePromisesOf)).toEqual([{}, {}]);
  expect(themisBundle().levels.map(pacePromisesOf)).toEqual(themisBundle().levels.map(() => ({})));
  expect(headroomCell({})).toBe("-");
  expect(promiseByPace({})).toEqual([]);
  expect(paceLevelLines(sampleBundle())).toEqual([]);
});

test("what is promised between two paces is what is stated of the slower machine", () => {
  expect(figuresAtPace(BY_PACE, 1.1)).toBe(BY_PACE[0]);
  expect(figuresAtPace(BY_PACE, 1.25)).toBe(BY_PACE[0]);
  expect(figuresAtPace(BY_PACE, 1.3)).toBe(BY_PACE[1]);
  expect(figuresAtPace(BY_PACE, 2.1)).toBeUndefined();
});

test("inspect says the headroom of each level, and which levels are for slower machines", () => {
  const bundle = pacedBundle();
  const method = methodOf(bundle);
  const [heads = "", first = "", second = ""] = method.levelTable(bundle).split("\n");
  const at = heads.indexOf("headroom");
  expect(first.slice(at, at + "headroom".length).trim()).toBe("1.45");
  expect(second.slice(at, at + "headroom".length).trim()).toBe("-");
  const summary = method.summary(bundle, { formatVersion: 1, bytes: 7, sha256: FILE.sha256 });
  expect(summary).toContain(
    "levels for slower machines, by load qps: pace 1.25 at 40; pace 2 at 40, 80.5",
  );
  expect(inspectBundle(bundle, FILE)).toMatchObject({ paceLevels: paceLevelsOf(bundle) });
});

test("inspect --level has a row for each pace", () => {
  const { text } = methodOf(pacedBundle()).describeLevel(pacedBundle(), 0);
  expect(text).toContain(`
on a slower machine, whose service times are pace times the profile's:
pace  accuracy/query  violations  p50 ms  p99 ms
1.25         70.000%      1.000%    20.0    80.0
   2         70.000%     20.000%    20.0    80.0
pace: times of batches over the profile's; accuracy/query: 0 if late or lost; violations: late or
dropped
headroom 1.45: the highest pace that keeps the ceiling on violations
`);
});

test("the tables of slower machines are sections like the others", () => {
  const names = inspectBundle(pacedBundle(), FILE).sections.map(({ name }) => name);
  expect(names.filter((name) => name.startsWith("paceLevels"))).toEqual([
    "paceLevels[0].actionByState",
    "paceLevels[1].actionByState",
    "paceLevels[2].actionByState",
  ]);
});
