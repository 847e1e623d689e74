/** Requirements held against promises: what is kept, what is broken where, and how it is told. */
import { expect, test } from "vitest";
import { judge, requiresFeasible } from "../../../compiler/gate/judge.ts";
import { judgedLines } from "../../../compiler/gate/judged-text.ts";
import type { PromisedBundle } from "../../../compiler/gate/promised-bundle.ts";
import { parsed } from "./parsed.ts";
import { FIGURES, level, promised } from "./promised.ts";

const BUNDLE = promised([
  level(100, { figures: { ...FIGURES, accuracy: 0.98 } }),
  level(200, { figures: { ...FIGURES, accuracy: 0.97 } }),
  level(400, {
    feasible: false,
    missed: [{ limit: "load", found: 400, allowed: 300 }],
    figures: { ...FIGURES, accuracy: 0.9, violations: 0.2 },
  }),
]);

function lines(text: string, bundle: PromisedBundle = BUNDLE): string[] {
  return judgedLines(judge(parsed(text), bundle));
}

test("reports kept requirements in one line, and broken ones in a line each", () => {
  expect(lines("accuracy >= 90%; bytes <= 1kB")).toEqual([
    "requirements kept: accuracy >= 90%; bytes <= 1kB",
  ]);
  expect(lines("feasible; accuracy >= 90%; bytes < 1kB; violations <= ceiling")).toEqual([
    "BROKEN feasible: load 400 > 300 qps at level 400 qps",
    "BROKEN bytes < 1kB: 1000 bytes",
    "BROKEN violations <= ceiling: 20.000% (the ceiling is 1.000%) at level 400 qps",
  ]);
});

test("names the worst level first, then the other levels that break it", () => {
  expect(lines("accuracy >= 99%")).toEqual([
    "BROKEN accuracy >= 99%: 90.000% at level 400 qps, and at 100, 200 qps",
  ]);
  const many = promised(Array.from({ length: 9 }, (_, index) => level(index + 1)));
  expect(lines("accuracy >= 99%", many)).toEqual([
    "BROKEN accuracy >= 99%: 97.000% at level 1 qps, and at 8 levels more",
  ]);
});

test("a bound is kept by what equals it, unless it is strict", () => {
  expect(judge(parsed("accuracy >= 97% @ 200; cost <= 2/h; cost < 2/h @ 100"), BUNDLE)).toEqual([
    expect.objectContaining({ holds: true, levelCount: 1 }),
    expect.objectContaining({ holds: true, levelCount: 3 }),
    expect.objectContaining({ holds: false, levelCount: 1 }),
  ]);
});

test.each([
  ["@ 100", true, 1],
  ["@ 101", true, 1],
  ["@ 200.5", false, 1],
  ["@ 150..200", true, 1],
  ["@ 100..201", false, 3],
  ["@ ..200", true, 2],
  ["@ 300..", false, 1],
  ["@ feasible", true, 2],
  ["@ all", false, 3],
])("accuracy >= 97%% %s looks at the levels that decide there", (scope, holds, levelCount) => {
  expect(judge(parsed(`accuracy >= 97% ${scope}`), BUNDLE)).toMatchObject([{ holds, levelCount }]);
});

test.each([
  ["feasible @ 500", ["no level for 500 qps, the highest is for 400"]],
  ["accuracy >= 1% @ 500..", ["no level for 500 qps, the highest is for 400"]],
  ["feasible @ 300..500", ["no level for 500 qps, the highest is for 400", "load 400 > 300 qps"]],
  ["accuracy >= 1% @ 100..500", ["no level for 500 qps, the highest is for 400"]],
])("%s is broken, since nothing is promised above the highest level", (text, reasons) => {
  const [found] = judge(parsed(text), BUNDLE);
  expect(found?.broken.map(({ reason }) => reason)).toEqual(reasons);
});

test("nothing feasible keeps nothing that is asked of what is feasible", () => {
  const none = promised([level(100, { feasible: false })]);
  expect(lines("accuracy >= 1% @ feasible", none)).toEqual([
    "BROKEN accuracy >= 1% @ feasible: no level is feasible",
  ]);
  expect(lines("feasible", none)).toEqual(["BROKEN feasible: not feasible at level 100 qps"]);
});

test("a missing promise is broken, with the reason", () => {
  const { cost: _, ...unpriced } = FIGURES;
  const bundle = promised([level(100, { figures: unpriced })]);
  expect(lines("cost <= 3/h; p99 <= 40ms; cores <= 4", bundle)).toEqual([
    "BROKEN cost <= 3/h: no promise of cost (give the pools a pricePerHour) at level 100 qps",
    "BROKEN p99 <= 40ms: no promise of p99 at level 100 qps",
    "BROKEN cores <= 4: no promise of cores at level 100 qps",
  ]);
});

const CLASSES = promised(
  [
    level(100, {
      figures: { ...FIGURES, p99: 90 },
      simulated: ["p99"],
      classes: [
        { name: "fast", figures: { violations: 0.02, accuracy: 0.9, p99: 60 } },
        { name: "slow", figures: { violations: 0.001, accuracy: 0.99, p99: 95 } },
      ],
      buckets: [{ name: "48x160", figures: { violations: 0.3, accuracy: 0.5 } }],
    }),
  ],
  {
    slo: {
      latencyMs: 100,
      maxViolationRate: 0.01,
      percentile: 99,
      classes: [
        { name: "fast", latencyMs: 50, share: 0.5 },
        { name: "slow", latencyMs: 100, share: 0.5 },
      ],
    },
  },
);

test("violations of all are those of each class too, as the ceiling is", () => {
  expect(lines("violations <= ceiling", CLASSES)).toEqual([
    "BROKEN violations <= ceiling: 2.000% of class fast (the ceiling is 1.000%) at level 100 qps",
  ]);
  expect(judge(parsed("accuracy >= 95%"), CLASSES)).toMatchObject([{ holds: true }]);
});

test("classes and buckets can be asked by name, or each, with their own SLO", () => {
  expect(lines("accuracy of class slow >= 99%; accuracy of each class >= 95%", CLASSES)).toEqual([
    "BROKEN accuracy of each class >= 95%: 90.000% of class fast at level 100 qps",
  ]);
  expect(lines("accuracy of bucket 48x160 >= 60%", CLASSES)).toEqual([
    "BROKEN accuracy of bucket 48x160 >= 60%: 50.000% of bucket 48x160 at level 100 qps",
  ]);
  expect(lines("p99 of each class <= slo; p99 <= 80ms", CLASSES)).toEqual([
    "BROKEN p99 of each class <= slo: 60 ms of class fast (simulated; the slo is 50 ms) " +
      "at level 100 qps",
    "BROKEN p99 <= 80ms: 90 ms (simulated) at level 100 qps",
  ]);
  expect(lines("accuracy of class fats >= 1%; accuracy of each bucket >= 1%", BUNDLE)).toEqual([
    expect.stringMatching(/expected class fats, got none at level 100 qps, and at 200/),
    expect.stringMatching(/expected a bucket, got none at level 100 qps, and at 200/),
  ]);
  expect(lines("accuracy of class fats >= 1%", CLASSES)).toEqual([
    expect.stringMatching(/expected class fats, got fast, slow at level 100 qps$/),
  ]);
});

test("a requirement of feasibility anywhere suppresses the warning", () => {
  expect(requiresFeasible(parsed("accuracy >= 1%; feasible @ ..200"))).toBe(true);
  expect(requiresFeasible(parsed("accuracy >= 1% @ feasible"))).toBe(false);
});
