import { expect, test } from "vitest";
import { tableWarnings } from "../../../../compiler/methods/ramsis/warnings.ts";
import type { ClassExpected, RamsisBundle } from "../../../../runtime/bundle/schema.ts";
import { classBundle } from "../../../support/class-bundle.ts";

/** Levels of two classes that may miss 1 %: what each of them is expected to miss. */
function bundleOf(...rates: readonly (readonly [number, number])[]): RamsisBundle {
  const bundle = classBundle();
  const [level] = bundle.levels;
  const names = (bundle.slo.classes ?? []).map(({ name }) => name);
  if (level === undefined || names.length !== 2) throw new Error("a bundle of two classes");
  const levels = rates.map((missed, index) => {
    const byClass = names.map((name, at): [string, ClassExpected] => [
      name,
      { accuracyPerSatisfied: 0.9, accuracyPerQuery: 0.9, violationRate: missed[at] ?? 0 },
    ]);
    const expected = {
      ...level.expected,
      violationRate: 0.0069,
      byClass: Object.fromEntries(byClass),
    };
    const feasible = missed.every((rate) => rate <= 0.01);
    return { ...level, loadQps: 100 * (index + 1), capacityQps: 5000, feasible, expected };
  });
  return { ...bundle, slo: { ...bundle.slo, maxViolationRate: 0.01 }, levels };
}

function named(at: number): string {
  return bundleOf([0, 0]).slo.classes?.[at]?.name ?? "";
}

test("a level that misses the limit of one class names it and its rate", () => {
  expect(tableWarnings(bundleOf([0.0234, 0.001]))).toEqual([
    `level 100 qps is not feasible: expected violations of class ${named(0)} 2.340%, ` +
      "allowed 1.000%",
  ]);
});

test("a run of levels names every class that misses in one of them, with its highest rate", () => {
  expect(tableWarnings(bundleOf([0.02, 0.001], [0.03, 0.05], [0.04, 0.001]))).toEqual([
    `3 levels, 100 to 300 qps, are not feasible: expected violations of class ${named(0)} up ` +
      `to 4.000%, of class ${named(1)} up to 5.000%, allowed 1.000%`,
  ]);
});
