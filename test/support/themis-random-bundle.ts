/**
 * Pipelines of scaled stages with all that there can be: joins, chances, exclusive branches, levels
 * whose plans differ in everything.
 */
import fc from "fast-check";
import type { ThemisBundle, ThemisOptions } from "../../runtime/bundle/schema.ts";
import {
  type InferlineTaskSketches,
  type ThemisTaskSketch,
  themisBundle,
} from "./themis-bundle.ts";

const MAX_CORES = 4;
const MAX_BATCH = 4;

interface RandomTask {
  readonly from: readonly number[];
  readonly shares: readonly number[];
  readonly isExclusive: boolean;
  readonly table: readonly (readonly number[])[];
}

/**
 * Latencies from few numbers, so that there are ties; not faster with a larger batch, nor slower
 * with more cores.
 */
const latencyTable = fc
  .tuple(
    fc.array(fc.constantFrom(1, 2, 4), { minLength: MAX_CORES, maxLength: MAX_CORES }),
    fc.array(fc.constantFrom(0, 1, 2), { minLength: MAX_BATCH, maxLength: MAX_BATCH }),
    fc.constantFrom(1, 8, 64),
  )
  .map(([steps, rises, unit]) =>
    steps.map((_, core) =>
      rises.map((_unused, batch) => unit * (sum(steps.slice(core)) + sum(rises.slice(0, batch)))),
    ),
  );

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function randomTask(index: number): fc.Arbitrary<RandomTask> {
  const entry = fc.constant<readonly number[]>([-1]);
  const from =
    index === 0
      ? entry
      : fc.oneof(entry, fc.subarray([...new Array<undefined>(index).keys()], { minLength: 1 }));
  return fc.record({
    from,
    shares: fc.array(fc.constantFrom(0.3, 0.5, 1), { minLength: index + 1, maxLength: index + 1 }),
    isExclusive: fc.boolean(),
    table: latencyTable,
  });
}

function sketchOf({ from, shares, isExclusive, table }: RandomTask, index: number) {
  return {
    name: `t${index}`,
    from: Object.fromEntries(
      from.map((parent) => [parent < 0 ? "requests" : `t${parent}`, shares[parent + 1] ?? 1]),
    ),
    branch: isExclusive ? "exclusive" : "independent",
    latencyMs: table,
  } as const satisfies ThemisTaskSketch;
}

const policyOptions: fc.Arbitrary<Partial<ThemisOptions>> = fc.record({
  maxBatch: fc.constant(MAX_BATCH),
  maxCores: fc.constant(MAX_CORES),
  scaling: fc.constantFrom("joint", "themis", "horizontal", "vertical"),
  predictor: fc.constantFrom("last-max", "ewma", "holt"),
  extraCores: fc.constantFrom("same", "one"),
  tickMs: fc.constantFrom(250, 1000),
  stableTicks: fc.integer({ min: 1, max: 5 }),
  resizeMs: fc.constantFrom(0, 100, 700),
  coldStartMs: fc.constantFrom(0, 400, 5000),
  dropAfterSlos: fc.constantFrom(0.5, 1, 3, null),
});

const anyStage = fc.tuple(
  fc.integer({ min: 1, max: MAX_BATCH }),
  fc.integer({ min: 1, max: MAX_CORES }),
  fc.integer({ min: 1, max: 3 }),
);

/**
 * Bundles whose plans need not carry their loads.
 * @param poolCores left out: as many as any plan takes, or up to 24 more.
 */
export function randomThemisBundle(
  policy: Partial<ThemisOptions> = {},
  poolCores?: number,
): fc.Arbitrary<ThemisBundle> {
  return fc
    .integer({ min: 1, max: 4 })
    .chain((count) =>
      fc.record({
        tasks: fc.tuple(...Array.from({ length: count }, (_, index) => randomTask(index))),
        plans: fc.array(fc.array(anyStage, { minLength: count, maxLength: count }), {
          minLength: 1,
          maxLength: 4,
        }),
        more: fc.array(fc.nat(3), { minLength: count, maxLength: count }),
        spare: fc.constantFrom(0, 4, 24),
        hopMs: fc.constantFrom(0, 0, 1, 0.5),
        sloMs: fc.constantFrom(8, 32, 128, 2048),
        options: policyOptions,
      }),
    )
    .map(({ tasks, plans, more, spare, hopMs, sloMs, options }) => {
      const needed = Math.max(...plans.map(coresOf)) + spare;
      const cores = poolCores ?? needed;
      return themisBundle({
        tasks: tasks.map(sketchOf),
        levels: plans.map((steady, level) => ({
          loadQps: 20 * 2 ** level,
          steady,
          horizontal: null,
          vertical: null,
        })),
        transitions: transitionsOf(plans, more, cores),
        policy: { ...options, ...policy },
        sloMs,
        communicationLatencyMs: hopMs,
        workers: cores,
        cores: null,
      });
    });
}

function coresOf(stages: InferlineTaskSketches): number {
  return stages.reduce((sum, [, cores, instances]) => sum + cores * instances, 0);
}

/**
 * Upwards the cores of the column's plan, the row's at least, and some instances more; the row's
 * plan where the pool has not as many cores.
 */
function transitionsOf(
  plans: readonly InferlineTaskSketches[],
  more: readonly number[],
  poolCores: number,
): (readonly [number, number, number])[][][] {
  return plans.map((row, from) =>
    plans.map((column, to) => {
      const stay = row.map(([batch, cores]) => [batch, cores, 0] as const);
      if (to <= from) return stay;
      const stretched = row.map(([, cores], task) => {
        const [batch = 1, wanted = 1] = column[task] ?? [];
        return [batch, Math.max(cores, wanted), more[task] ?? 0] as const;
      });
      const taken = row.map(([, , instances], task) => {
        const [batch = 1, cores = 1, extra = 0] = stretched[task] ?? [];
        return [batch, cores, instances + extra] as const;
      });
      return coresOf(taken) <= poolCores ? stretched : stay;
    }),
  );
}

/** Requests at times that are exact in binary, many of them at one time. */
export const clusteredTimes: fc.Arbitrary<Float64Array> = fc
  .array(fc.constantFrom(0, 0, 0.5, 1, 2, 4, 32), { minLength: 1, maxLength: 60 })
  .map((gapsMs) => {
    let nowMs = 0;
    return Float64Array.from(gapsMs, (gapMs) => {
      nowMs += gapMs;
      return nowMs;
    });
  });

/** Rates that jump every few seconds, 0 to 200 requests per second. */
export const jumpingRates = fc
  .array(fc.constantFrom(0, 10, 15, 40, 80, 200), { minLength: 2, maxLength: 10 })
  .map((qps) => {
    const startMs = Float64Array.from(qps, (_, piece) => 3000 * piece);
    return {
      kind: "trace",
      trace: { kind: "rates", startMs, qps: Float64Array.from(qps), endMs: 3000 * qps.length },
    } as const;
  });
