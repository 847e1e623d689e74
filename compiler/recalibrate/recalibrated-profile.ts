/** Merges the times that a server measured into a latency profile. */
import {
  type ProfileSpec,
  quantilesOf,
  type RowsSpec,
  type VariantMeasurements,
} from "../spec/schema/profile-schema.ts";
import type { ObservedTimes, Quantiles } from "./observed-times.ts";

type Row = RowsSpec[string];

/**
 * Observed: enough samples. Scaled: by the ratio of its variant's observed cells. Kept: its variant
 * was not observed.
 */
type CellSource = "observed" | "scaled" | "kept";

export interface RecalibratedCell {
  readonly variant: string;
  /** Batch size; or, for layers, which. */
  readonly batch: string;
  /** Kind of worker or input, `2 cores` or `48x160`; empty if times hold for all. */
  readonly place: string;
  readonly source: CellSource;
  /** Number of observed samples, also of a cell that had too few. */
  readonly samples: number;
  readonly before: Row;
  readonly after: Row;
}

interface RecalibrateOptions {
  /** Cells with fewer samples are noise. */
  readonly minSamples: number;
  /** Divisor of observed times: how much longer they are than on an idle machine. */
  readonly stretch: number;
}

interface Recalibrated {
  readonly profile: ProfileSpec;
  readonly cells: readonly RecalibratedCell[];
}

const NAMES = ["p50", "p95", "p99", "mean"] as const;
/** Percentile of bare numbers in a profile that does not state it. */
const DEFAULT_PERCENTILE = 95;

/** Rows of a variant that hold for one kind of worker or of inputs. */
interface Group {
  readonly place: string;
  readonly rows: Readonly<Record<string, Row>>;
  /** Observed times of these rows, by the same keys. */
  readonly observed: ReadonlyMap<string, ObservedTimes>;
}

/** @param observed by variant of the profile, one entry per cell. */
export function recalibrated(
  profile: ProfileSpec,
  observed: ReadonlyMap<string, readonly ObservedTimes[]>,
  options: RecalibrateOptions,
): Recalibrated {
  const cells: RecalibratedCell[] = [];
  const percentile = profile.percentile ?? DEFAULT_PERCENTILE;
  const variants = Object.entries(profile.variants).map(([name, measured]) => {
    const groups = groupsOf(measured, observed.get(name) ?? []);
    const own = new VariantTimes(groups, percentile, options);
    for (const group of groups) cells.push(...own.cellsOf(name, group));
    return [name, withCells(measured, cells, name, own.ratio("p50"))] as const;
  });
  return { profile: { ...profile, variants: Object.fromEntries(variants) }, cells };
}

function groupsOf(measured: VariantMeasurements, observed: readonly ObservedTimes[]): Group[] {
  const { latencyMs = {}, byCores = {}, byBucket = {}, layers } = measured;
  const plain = observed.filter(({ bucket, cores, stage }) => {
    return bucket === null && cores === null && stage === null;
  });
  const ofCores = (cores: string) => observed.filter((one) => one.cores === cores);
  const ofBucket = (bucket: string) => observed.filter((one) => one.bucket === bucket);
  const parts = [
    ...Object.entries(byCores).map(([cores, rows]) => {
      return { place: coresPlace(cores), rows, own: ofCores(cores) };
    }),
    ...Object.entries(byBucket).map(([bucket, rows]) => {
      return { place: bucket, rows, own: ofBucket(bucket) };
    }),
  ];
  // If kinds are distinguished, the rows for all kinds are a copy of one kind's.
  const twin = parts.find(({ rows }) => JSON.stringify(rows) === JSON.stringify(latencyMs));
  const forAll = plain.length > 0 ? plain : (twin?.own ?? []);
  const stages = observed.filter(({ stage }) => stage !== null);
  return [
    { place: "", rows: latencyMs, observed: byKey(forAll, ({ batch }) => String(batch)) },
    ...parts.map(({ place, rows, own }) => {
      const seen = own.length > 0 || twin?.place !== place ? own : plain;
      return { place, rows, observed: byKey(seen, ({ batch }) => String(batch)) };
    }),
    {
      place: LAYERS,
      rows: layers?.stages ?? {},
      observed: byKey(stages, ({ stage }) => stage ?? ""),
    },
  ];
}

const LAYERS = "layers";

function coresPlace(cores: string): string {
  return cores === "1" ? "1 core" : `${cores} cores`;
}

function byKey(
  observed: readonly ObservedTimes[],
  keyOf: (one: ObservedTimes) => string,
): Map<string, ObservedTimes> {
  return new Map(observed.map((one) => [keyOf(one), one]));
}

/** Observed times of one variant. */
class VariantTimes {
  readonly #options: RecalibrateOptions;
  readonly #percentile: number;
  readonly #ratios: Readonly<Record<(typeof NAMES)[number], number>> | null;

  constructor(groups: readonly Group[], percentile: number, options: RecalibrateOptions) {
    this.#options = options;
    this.#percentile = percentile;
    const sums = { p50: [0, 0], p95: [0, 0], p99: [0, 0], mean: [0, 0] };
    let samples = 0;
    for (const { rows, observed } of groups) {
      for (const [key, row] of Object.entries(rows)) {
        const seen = this.#enough(observed.get(key));
        if (seen === null) continue;
        samples += seen.samples;
        for (const name of NAMES) {
          sums[name][0] = (sums[name][0] ?? 0) + seen.samples * seen.ms[name];
          sums[name][1] = (sums[name][1] ?? 0) + seen.samples * quantileOf(row, name);
        }
      }
    }
    const ratioOf = ([after = 0, before = 1]: readonly number[]) => after / before;
    this.#ratios =
      samples === 0
        ? null
        : {
            p50: ratioOf(sums.p50),
            p95: ratioOf(sums.p95),
            p99: ratioOf(sums.p99),
            mean: ratioOf(sums.mean),
          };
  }

  /** Ratio of observed to profiled times; null without observations. */
  ratio(name: (typeof NAMES)[number]): number | null {
    return this.#ratios?.[name] ?? null;
  }

  cellsOf(variant: string, { place, rows, observed }: Group): RecalibratedCell[] {
    return Object.entries(rows).map(([batch, before]): RecalibratedCell => {
      const own = observed.get(batch);
      const cell = { variant, batch, place, samples: own?.samples ?? 0, before };
      const seen = this.#enough(own);
      if (seen !== null) return { ...cell, source: "observed", after: this.#like(before, seen) };
      if (this.#ratios === null) return { ...cell, source: "kept", after: before };
      return { ...cell, source: "scaled", after: this.#scaled(before) };
    });
  }

  #enough(
    observed: ObservedTimes | undefined,
  ): { readonly ms: Quantiles; readonly samples: number } | null {
    if (observed?.ms == null || observed.samples < this.#options.minSamples) return null;
    const { stretch } = this.#options;
    const { p50, p95, p99, mean } = observed.ms;
    const ms = { p50: p50 / stretch, p95: p95 / stretch, p99: p99 / stretch, mean: mean / stretch };
    return { ms, samples: observed.samples };
  }

  /** Formats like the row that it replaces: a number, or quantiles. */
  #like(row: Row, { ms, samples }: { readonly ms: Quantiles; readonly samples: number }): Row {
    if (typeof row === "number") return rounded(ms[this.#bareName()]);
    return { ...ordered(ms), samples };
  }

  #scaled(row: Row): Row {
    const ratios = this.#ratios;
    if (ratios === null) return row;
    if (typeof row === "number") return rounded(row * ratios[this.#bareName()]);
    const { p50, p95, p99, mean } = quantilesOf(row);
    const scaled = {
      ...{ p50: p50 * ratios.p50, p95: p95 * ratios.p95 },
      ...{ p99: p99 * ratios.p99, mean: mean * ratios.mean },
    };
    const { p95: higher, p99: highest, ...others } = ordered(scaled);
    // Percentiles of too few runs stay left out.
    const part = {
      ...(row.p95 === undefined ? {} : { p95: higher }),
      ...(row.p99 === undefined ? { max: highest } : { p99: highest }),
    };
    return { ...others, ...part, samples: 0 };
  }

  /** Returns the quantile nearest to the percentile of the profile's bare numbers. */
  #bareName(): "p50" | "p95" | "p99" {
    if (this.#percentile < 75) return "p50";
    return this.#percentile > 97 ? "p99" : "p95";
  }
}

/** Makes quantiles ascend, and keeps the mean of all times within the recent quantiles. */
function ordered({ p50, p95, p99, mean }: Quantiles): Quantiles {
  const higher = Math.max(p50, p95);
  const highest = Math.max(higher, p99);
  return {
    p50: rounded(p50),
    p95: rounded(higher),
    p99: rounded(highest),
    mean: rounded(Math.min(mean, highest)),
  };
}

/** A bare number stands for each of them. */
export function quantileOf(row: Row, name: (typeof NAMES)[number]): number {
  return typeof row === "number" ? row : quantilesOf(row)[name];
}

/** Rounds to a nanosecond. */
function rounded(ms: number): number {
  return Math.max(1e-6, Math.round(ms * 1e6) / 1e6);
}

function withCells(
  measured: VariantMeasurements,
  all: readonly RecalibratedCell[],
  name: string,
  ratio: number | null,
): VariantMeasurements {
  if (ratio === null) return measured;
  const { latencyMs, byCores, byBucket, layers, fit } = measured;
  const rowsAt = (place: string) => {
    const own = all.filter((cell) => cell.variant === name && cell.place === place);
    return Object.fromEntries(own.map(({ batch, after }) => [batch, after]));
  };
  const keyed = <T extends object>(parts: T, placeOf: (key: string) => string) =>
    Object.fromEntries(Object.keys(parts).map((key) => [key, rowsAt(placeOf(key))]));
  return {
    ...measured,
    ...(latencyMs && { latencyMs: rowsAt("") }),
    ...(byBucket && { byBucket: keyed(byBucket, (key) => key) }),
    ...(byCores && { byCores: keyed(byCores, coresPlace) }),
    ...(fit && { fit: scaledFit(fit, ratio) }),
    ...(layers && { layers: withStages(layers, rowsAt(LAYERS), ratio) }),
  };
}

/** Scales the four parameters, in which the fit is linear. */
function scaledFit(fit: NonNullable<VariantMeasurements["fit"]>, ratio: number) {
  const { gamma, epsilon, delta, eta } = fit;
  return {
    ...{ gamma: gamma * ratio, epsilon: epsilon * ratio },
    ...{ delta: delta * ratio, eta: eta * ratio },
  };
}

function withStages(
  layers: NonNullable<VariantMeasurements["layers"]>,
  rows: Readonly<Record<string, Row>>,
  ratio: number,
): NonNullable<VariantMeasurements["layers"]> {
  const stages = Object.fromEntries(
    Object.entries(layers.stages).map(([range, before]) => {
      const after = rows[range];
      return [range, typeof after === "object" ? after : before];
    }),
  );
  return {
    ...layers,
    ms: layers.ms.map((ms) => rounded(ms * ratio)),
    overheadMs: layers.overheadMs * ratio,
    stages,
  };
}
