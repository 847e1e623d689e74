/** Reads and checks a latency profile. */
import { basename } from "node:path";
import { MAX_BUCKETS, MAX_MS } from "stratagem-runtime/internal/bundle/limits";
import type {
  BucketProfile,
  LayerProfile,
  ProfiledDevice,
  ProfileRow,
  VariantProfile,
} from "./application.ts";
import { type KeyPath, readDocument, type SourceDocument } from "./document/document.ts";
import { conflict, invalid, type Mistake, refuse } from "./document/mistakes.ts";
import { parseStructure } from "./document/structure.ts";
import {
  type LayersSpec,
  type ProfileSpec,
  profileSchema,
  quantilesOf,
  type RowsSpec,
  type VariantMeasurements,
} from "./schema/profile-schema.ts";
import { servingMistakes, servingOf } from "./serving.ts";

/** Latency profile file. */
export interface Profile {
  readonly sha256: string;
  readonly variants: ReadonlyMap<string, ProfiledVariant>;
}

export interface ProfiledVariant {
  /** Measured accuracy, 0..1, or null if the profile has none. */
  readonly accuracy: number | null;
  readonly profile: VariantProfile;
}

/** Reads and checks a profile, keeping its structure. @throws InputError naming the path. */
export function readProfileSpec(path: string): ProfileSpec {
  return checkedSpec(readDocument(path));
}

function checkedSpec(document: SourceDocument): ProfileSpec {
  const spec = parseStructure(document, profileSchema);
  refuse(document, profileMistakes(spec));
  return spec;
}

/** Reads a latency profile. @param file name in messages. @throws InputError naming `file`. */
export function readProfile(path: string, file: string = path): Profile {
  const document = readDocument(path, file);
  const spec = checkedSpec(document);
  const origin = { file: basename(path), sha256: document.sha256 };
  const variants = Object.entries(spec.variants).map(
    ([name, measured]) => [name, profiledVariant(spec, name, measured, origin)] as const,
  );
  return { sha256: document.sha256, variants: new Map(variants) };
}

function profiledVariant(
  spec: ProfileSpec,
  name: string,
  measured: VariantMeasurements,
  origin: { readonly file: string; readonly sha256: string },
): ProfiledVariant {
  const byCores =
    measured.byCores &&
    Object.entries(measured.byCores)
      .map(([cores, rows]) => ({ cores: Number(cores), rows: sortedRows(rows) }))
      .sort((a, b) => a.cores - b.cores);
  return {
    accuracy: measured.accuracy ?? null,
    profile: {
      ...origin,
      variant: name,
      ...(measured.modelSha256 && { modelSha256: measured.modelSha256 }),
      hardware: spec.hardware,
      ...(spec.device && { device: deviceOf(spec.device) }),
      ...(measured.start && { start: measured.start }),
      ...(spec.serving && { serving: servingOf(spec.serving) }),
      task: spec.task ?? null,
      percentile: spec.percentile ?? null,
      ...(spec.includesWay === true && { includesWay: true as const }),
      rows: sortedRows(measured.latencyMs ?? largestOf(measured.byBucket) ?? {}),
      ...(measured.byBucket && { buckets: sortedBuckets(measured.byBucket) }),
      fit: measured.fit ?? null,
      byCores: byCores ?? null,
      layers: measured.layers === undefined ? null : layerProfile(measured.layers),
      speedups: measured.speedups === undefined ? null : sortedSpeedups(measured.speedups),
    },
  };
}

function deviceOf({ provider, name, driver }: NonNullable<ProfileSpec["device"]>): ProfiledDevice {
  return { provider, name, driver };
}

function layerProfile({ ms, overheadMs, stages }: LayersSpec): LayerProfile {
  return {
    layerMs: ms,
    overheadMs,
    stages: Object.entries(stages)
      .map(([range, row]) => ({ ...layerRange(range), quantiles: quantilesOf(row) }))
      .sort((a, b) => a.from - b.from || a.to - b.to),
  };
}

/** @param text such as `0-5`. */
function layerRange(text: string): { readonly from: number; readonly to: number } {
  const dash = text.indexOf("-");
  return { from: Number(text.slice(0, dash)), to: Number(text.slice(dash + 1)) };
}

type BucketsSpec = NonNullable<VariantMeasurements["byBucket"]>;

function sizesOf(name: string): number[] {
  return name.split("x").map(Number);
}

function compareSizes(a: readonly number[], b: readonly number[]): number {
  const axis = a.findIndex((size, index) => size !== b[index]);
  return axis < 0 ? 0 : (a[axis] ?? 0) - (b[axis] ?? 0);
}

/** Ascending, the first axis slowest. */
function sortedBuckets(byBucket: BucketsSpec): BucketProfile[] {
  return Object.entries(byBucket)
    .map(([name, rows]) => ({ name, sizes: sizesOf(name), rows: sortedRows(rows) }))
    .sort((a, b) => compareSizes(a.sizes, b.sizes));
}

/** Returns the rows that hold for any input, those of the largest bucket. */
function largestOf(byBucket: BucketsSpec | undefined): RowsSpec | undefined {
  const last = byBucket && sortedBuckets(byBucket).at(-1);
  return last && byBucket[last.name];
}

function sortedSpeedups(speedups: Readonly<Record<string, number>>): VariantProfile["speedups"] {
  return Object.entries(speedups)
    .map(([places, speedup]) => ({ places: Number(places), speedup }))
    .sort((a, b) => a.places - b.places);
}

function sortedRows(rows: RowsSpec): ProfileRow[] {
  return Object.entries(rows)
    .map(([batch, row]): ProfileRow => {
      if (typeof row === "number") return { batch: Number(batch), latencyMs: row, quantiles: null };
      const quantiles = quantilesOf(row);
      return { batch: Number(batch), latencyMs: quantiles.p95, quantiles };
    })
    .sort((a, b) => a.batch - b.batch);
}

function* profileMistakes(spec: ProfileSpec): Generator<Mistake> {
  if (spec.serving !== undefined) yield* servingMistakes(spec.serving);
  if (Object.keys(spec.variants).length === 0) {
    yield invalid(["variants"], "at least one variant", "an empty mapping");
  }
  for (const [name, measured] of Object.entries(spec.variants)) {
    const { latencyMs, fit, byCores, layers, speedups, byBucket } = measured;
    const path = ["variants", name];
    if ([latencyMs, fit, byCores, layers, byBucket].every((one) => one === undefined)) {
      const known = "latencyMs, byBucket, fit, byCores or layers";
      yield conflict(path, `expected ${known}, got none of them`);
    }
    if (byBucket !== undefined) yield* bucketMistakes(byBucket, [...path, "byBucket"]);
    if (latencyMs !== undefined) yield* rowMistakes(latencyMs, [...path, "latencyMs"]);
    if (layers !== undefined) yield* layerMistakes(layers, [...path, "layers"]);
    if (speedups !== undefined && Object.keys(speedups).length === 0) {
      const expected = "at least one number of execution places";
      yield invalid([...path, "speedups"], expected, "an empty mapping");
    }
    if (byCores === undefined) continue;
    if (Object.keys(byCores).length === 0) {
      yield invalid([...path, "byCores"], "at least one number of cores", "an empty mapping");
    }
    for (const [cores, rows] of Object.entries(byCores)) {
      yield* rowMistakes(rows, [...path, "byCores", cores]);
    }
  }
}

/** Checks that every combination of axis sizes exists and has rows. */
function* bucketMistakes(byBucket: BucketsSpec, path: KeyPath): Generator<Mistake> {
  const names = Object.keys(byBucket);
  if (names.length === 0) yield invalid(path, "at least one bucket", "an empty mapping");
  if (names.length > MAX_BUCKETS) {
    yield invalid(path, `at most ${MAX_BUCKETS} buckets`, String(names.length));
  }
  const axisCount = sizesOf(names[0] ?? "").length;
  const other = names.find((name) => sizesOf(name).length !== axisCount);
  if (other !== undefined) {
    yield conflict(
      [...path, other],
      `expected ${axisCount} sizes as of "${names[0]}", got ${other}`,
    );
    return;
  }
  const combinations = Array.from({ length: axisCount }, (_, axis) => axis).reduce(
    (all, axis) => all * new Set(names.map((name) => sizesOf(name)[axis])).size,
    1,
  );
  if (combinations !== names.length) {
    const message = `expected all ${combinations} combinations of the sizes, got ${names.length}`;
    yield conflict(path, message);
  }
  for (const [name, rows] of Object.entries(byBucket)) yield* rowMistakes(rows, [...path, name]);
}

function* layerMistakes({ ms, stages }: LayersSpec, path: KeyPath): Generator<Mistake> {
  if (ms.length === 0) yield invalid([...path, "ms"], "at least one layer", "an empty list");
  const wholeMs = ms.reduce((sum, one) => sum + one, 0);
  if (wholeMs > MAX_MS) {
    const found = `times that add up to ${wholeMs.toExponential(2)}`;
    yield invalid([...path, "ms"], `times that add up to ${MAX_MS} ms at most`, found);
  }
  for (const range of Object.keys(stages)) {
    const { from, to } = layerRange(range);
    if (from < to && to <= ms.length) continue;
    const known = `no more than the ${ms.length} of ms`;
    const message = `expected a first layer below the last, and ${known}, got ${range}`;
    yield conflict([...path, "stages", range], message);
  }
  yield* quantileMistakes(stages, [...path, "stages"]);
}

function* rowMistakes(rows: RowsSpec, path: KeyPath): Generator<Mistake> {
  if (Object.keys(rows).length === 0) {
    yield invalid(path, "at least one batch size", "an empty mapping");
  }
  yield* quantileMistakes(rows, path);
}

function* quantileMistakes(rows: RowsSpec, path: KeyPath): Generator<Mistake> {
  for (const [key, row] of Object.entries(rows)) {
    if (typeof row === "number") continue;
    if (row.max === undefined && (row.p95 === undefined || row.p99 === undefined)) {
      yield conflict([...path, key], "expected p95 and p99, or max in place of one, got neither");
      continue;
    }
    const { p50, p95, p99 } = quantilesOf(row);
    if (p50 <= p95 && p95 <= p99 && p99 <= (row.max ?? p99)) continue;
    const found = `p50 = ${p50}, p95 = ${p95}, p99 = ${p99}`;
    yield conflict([...path, key], `expected p50 ≤ p95 ≤ p99, got ${found}`);
  }
}
