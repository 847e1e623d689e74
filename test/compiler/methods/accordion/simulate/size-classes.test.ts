import { describe, expect, test } from "vitest";
import {
  SizeClasses,
  sizeText,
} from "../../../../../compiler/methods/accordion/simulate/size-classes.ts";
import type { AccordionBundle } from "../../../../../runtime/bundle/schema.ts";
import { accordionBundle, table1Bundle } from "../../../../support/accordion-bundle.ts";
import { AccordionTimes } from "../../../../support/accordion-times.ts";

/** The fewest places by trying every shape; Infinity where none is fast enough. */
function placesNeeded(bundle: AccordionBundle, model: number, batch: number): number {
  const times = new AccordionTimes(bundle);
  const sizes = Array.from({ length: bundle.shapes.shape[0] ?? 0 }, (_, shape) =>
    times.latencyMs(model, shape, batch) <= bundle.slo.latencyMs
      ? times.sizeOf(shape)
      : Number.POSITIVE_INFINITY,
  );
  return Math.min(...sizes);
}

const bundles = {
  "two models": accordionBundle({ sloMs: 60 }),
  "an odd depth": accordionBundle({ sloMs: 50, maxDepth: 3 }),
  "one place each": accordionBundle({ sloMs: 50, maxDepth: 1 }),
  "pools of unlike speed": accordionBundle({
    sloMs: 45,
    pools: [{ workers: 3, speed: 2 }, { workers: 4 }],
  }),
  "Table 1": table1Bundle({ sloMs: 20_000, timing: "paper" }),
};

describe.each(Object.entries(bundles))("classes of size of %s", (_name, bundle) => {
  const sizes = new SizeClasses(bundle);

  test("hold the queries that need so many places", () => {
    for (const model of (bundle.tasks[0]?.variants ?? []).keys()) {
      for (let batch = 1; batch <= bundle.policy.maxBatch; batch++) {
        const needed = placesNeeded(bundle, model, batch);
        const places = sizes.classes[sizes.of(model, batch)];
        if (needed === Number.POSITIVE_INFINITY) expect(places).toBeNull();
        else {
          expect(needed).toBeGreaterThanOrEqual(places?.from ?? Number.NaN);
          expect(needed).toBeLessThanOrEqual(places?.to ?? Number.NaN);
        }
      }
    }
  });

  test("follow each other up to the most places of a query", () => {
    const ranges = sizes.classes.flatMap((places) => places ?? []);
    expect(sizes.classes.at(-1)).toBeNull();
    expect(ranges).toHaveLength(sizes.classes.length - 1);
    expect(ranges[0]).toEqual({ from: 1, to: 1 });
    expect(ranges.at(-1)?.to).toBe(bundle.policy.maxDepth);
    for (const [index, { from }] of ranges.entries()) {
      if (index > 0) expect(from).toBe((ranges[index - 1]?.to ?? 0) + 1);
    }
  });
});

test("are named by their bounds", () => {
  expect([{ from: 1, to: 1 }, { from: 3, to: 4 }, null].map(sizeText)).toEqual([
    "1",
    "3–4",
    "too slow on any",
  ]);
});
