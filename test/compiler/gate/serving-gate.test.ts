/** The gate that servers ask before a bundle is tried. */
import { expect, test } from "vitest";
import { servingGate } from "../../../compiler/gate/serving-gate.ts";
import type { Bundle } from "../../../runtime/bundle/schema.ts";
import { loadBundle } from "../../../runtime/bundles/load-bundle.ts";

const letters = async (): Promise<Bundle> =>
  (await loadBundle("policies/letters/bundle.msgpack")).bundle;

/** The letters where each level promises answers that are right less often. */
function lessAccurate(bundle: Bundle, by: number): Bundle {
  if (bundle.method !== "ramsis") throw new TypeError("the letters are of ramsis");
  const levels = bundle.levels.map((level) => {
    const accuracyPerSatisfied = level.expected.accuracyPerSatisfied - by;
    return { ...level, expected: { ...level.expected, accuracyPerSatisfied } };
  });
  return { ...bundle, levels };
}

test("a bundle whose promises are the same may be tried", async () => {
  expect(await servingGate(null)(await letters(), await letters())).toEqual([]);
});

test("reports weaker promises for each level", async () => {
  const served = await letters();
  const worse = await servingGate(null)(served, lessAccurate(served, 0.01));
  expect(worse).toHaveLength(served.levels.length);
  expect(worse[0]).toMatch(/^accuracy at 220 qps: 97\.\d+% → 96\.\d+%$/);
});

test("what is allowed may become worse, and no more", async () => {
  const served = await letters();
  expect(await servingGate("accuracy 1.5%")(served, lessAccurate(served, 0.01))).toEqual([]);
  expect(await servingGate("accuracy 0.5%")(served, lessAccurate(served, 0.01))).not.toEqual([]);
  expect(() => servingGate("accuracy of 3")).toThrow(/^--limit canaryGate: expected /);
});
