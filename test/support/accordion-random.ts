/** Accordion bundles of any kind, small: few places, few numbers, so that there are ties. */
import fc from "fast-check";
import type { AccordionBundle, AccordionOptions, Table } from "../../runtime/bundle/schema.ts";
import { type AccordionModelSketch, accordionBundle } from "./accordion-bundle.ts";

const MAX_BATCH = 4;

const layered = fc
  .array(fc.constantFrom(1, 2, 3, 5, 8), { minLength: 1, maxLength: 6 })
  .map((layerMs): Partial<AccordionModelSketch> => ({ layerMs: layerMs.map((ms) => 2 * ms) }));
const sped = fc
  .record({
    wholeMs: fc.constantFrom(8, 20, 36),
    speedups: fc.constantFrom({}, { 2: 1.5 }, { 2: 2, 4: 3 }, { 4: 2.5 }, { 2: 0.8, 4: 2 }),
  })
  .map((sketch): Partial<AccordionModelSketch> => sketch);

const pools = fc
  .array(
    fc.record({ workers: fc.integer({ min: 1, max: 12 }), speed: fc.constantFrom(1, 2, 0.5) }),
    {
      minLength: 1,
      maxLength: 3,
    },
  )
  .map((all) => {
    let left = 12;
    return all.map(({ workers, speed }) => {
      const used = Math.max(1, Math.min(workers, left - 2));
      left -= used;
      return { workers: used, speed };
    });
  });

const policyOptions: fc.Arbitrary<Partial<AccordionOptions>> = fc.record({
  scheduler: fc.oneof(
    { weight: 4, arbitrary: fc.constant("accordion" as const) },
    {
      weight: 3,
      arbitrary: fc.constantFrom("slo-conforming", "fastest", "bbs", "one-stage"),
    },
  ),
  regrow: fc.boolean(),
  backfill: fc.boolean(),
  dropout: fc.constantFrom("arrival", "turn"),
  reconfigurationMs: fc.constantFrom(0, 1, 5, 40),
  dropAfterSlos: fc.constantFrom(0.5, 1, 3, null),
});

/** What a random bundle is to be in any case. */
export interface PlacesWanted {
  readonly policy?: Partial<AccordionOptions>;
  readonly poolCount?: number;
}

/**
 * Bundles whose tables may be bumpy: more places need not be faster, as measurements may have it.
 * Strictly ascending with the batch all the same.
 */
export function randomPlaces({
  policy = {},
  poolCount,
}: PlacesWanted = {}): fc.Arbitrary<AccordionBundle> {
  const anyPools =
    poolCount === undefined ? pools : pools.filter((all) => all.length === poolCount);
  return fc
    .record({
      models: fc.array(fc.oneof(layered, sped), { minLength: 1, maxLength: 3 }),
      pools: anyPools,
      spare: fc.constantFrom(0, 0, 1, 3),
      timing: fc.constantFrom("pipelined" as const, "paper" as const),
      maxDepth: fc.integer({ min: 1, max: 4 }),
      sloMs: fc.constantFrom(10, 30, 60, 150),
      policy: policyOptions,
      bumps: fc.option(
        fc.array(fc.constantFrom(1, 2, 3, 5, 8, 13), { minLength: 5, maxLength: 9 }),
      ),
    })
    .map(({ models, pools, spare, bumps, ...sketch }) => {
      const workers = pools.reduce((sum, pool) => sum + pool.workers, 0);
      const bundle = accordionBundle({
        ...sketch,
        models: models.map((model, index) => ({ name: `m${index}`, ...model })),
        pools,
        maxBatch: MAX_BATCH,
        policy: {
          ...sketch.policy,
          executionPlaces: Math.max(1, workers - spare),
          ...policy,
        },
      });
      return bumps === null ? bundle : withBumps(bundle, bumps);
    });
}

/** Other times for the same pipelines: some fill and some step for each. */
function withBumps(bundle: AccordionBundle, bumps: readonly number[]): AccordionBundle {
  let at = 0;
  const bump = () => 3 * (bumps[at++ % bumps.length] ?? 1);
  const bumpy = (table: Table): Table => {
    const [shapeCount = 0, maxBatch = 0] = table.shape;
    const rows = Array.from({ length: shapeCount }, (_, shape) => {
      const row = [...table.data.slice(shape * maxBatch, (shape + 1) * maxBatch)];
      if (row[0] === Number.POSITIVE_INFINITY) return row;
      const [fillMs, stepMs] = [bump(), bump()];
      return row.map((_unused, index) => fillMs + index * stepMs);
    });
    return { ...table, dtype: "float64", data: Float64Array.from(rows.flat()) };
  };
  const tasks = bundle.tasks.map((task) => ({
    ...task,
    variants: task.variants.map((variant) => ({ ...variant, latencyMs: bumpy(variant.latencyMs) })),
  }));
  return { ...bundle, tasks };
}
