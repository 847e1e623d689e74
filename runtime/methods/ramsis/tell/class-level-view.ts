/**
 * What a level of a bundle with classes says of each class, as data, and the bundle whose table
 * answers for a class.
 */
import type { ClassExpected, RamsisBundle, RamsisLevel, SloClass } from "../../../bundle/schema.ts";
import { RuntimeError } from "../../../errors.ts";
import { bucketBundle } from "../bundle/bucket-views.ts";
import { classBundle } from "../bundle/class-views.ts";
import { withPaceLevels } from "../bundle/pace-views.ts";

export interface ClassView extends SloClass {
  /** Null where one queue is followed. */
  readonly workers: number | null;
  readonly expected: ClassExpected | null;
}

/** In the order of the bundle; none without classes. */
export function classViews(
  { slo }: Pick<RamsisBundle, "slo">,
  { classTables, expected }: RamsisLevel,
): ClassView[] {
  return (slo.classes ?? []).map((sloClass, index) => ({
    ...sloClass,
    workers: classTables?.[index]?.workers ?? null,
    expected: expected.byClass?.[sloClass.name] ?? null,
  }));
}

/** Each bucket as a class by itself, which all workers serve; none without buckets. */
export function bucketViews(
  { slo, buckets = [] }: Pick<RamsisBundle, "slo" | "buckets">,
  { expected }: RamsisLevel,
): ClassView[] {
  return buckets.map(({ name, share }, index) => ({
    name,
    share,
    latencyMs: slo.latencyMs,
    workers: null,
    expected: expected.byBucket?.[index] ?? null,
  }));
}

export interface DecidingTable {
  /** A bundle without classes of its own at the level, whose table decides. */
  readonly bundle: RamsisBundle;
  /** Index of the level in that bundle. */
  readonly level: number;
  /** Whose table it is; left out where it is that of all queries. */
  readonly sloClass?: string;
  /** Likewise. */
  readonly bucket?: string;
}

/** Whose table is asked for; of neither the first class, or the largest bucket. */
export interface AskedKind {
  readonly sloClass?: string | undefined;
  readonly bucket?: string | undefined;
}

/**
 * The table that decides for a class or a bucket at a level, which may be one of a pace: its own,
 * or that of all.
 * @throws RuntimeError RUNTIME_USAGE if there is no such class or bucket.
 */
export function decidingTable(
  whole: RamsisBundle,
  level: number,
  asked: AskedKind = {},
): DecidingTable {
  const bundle = level < whole.levels.length ? whole : withPaceLevels(whole);
  const { sloClass: name } = asked;
  const own = bucketTableOf(bundle, level, asked.bucket);
  if (own !== null && name === undefined) return own;
  const names = (bundle.slo.classes ?? []).map((sloClass) => sloClass.name);
  const index = name === undefined ? 0 : names.indexOf(name);
  if (index < 0) {
    const expected =
      names.length === 0
        ? "expected no class, since all queries have the same SLO"
        : `expected class to be ${names.join(" or ")}`;
    throw new RuntimeError("RUNTIME_USAGE", `--state: ${expected}, got "${name}"`);
  }
  const decides = bundle.levels[level];
  if (decides?.classTables === undefined) return { bundle, level };
  const alone = classBundle(bundle, decides, index);
  return { bundle: alone, level: 0, sloClass: names[index] ?? "" };
}

/** @returns null where there are no buckets and none is asked for. */
function bucketTableOf(
  bundle: RamsisBundle,
  level: number,
  name: string | undefined,
): DecidingTable | null {
  const names = (bundle.buckets ?? []).map((bucket) => bucket.name);
  const index = name === undefined ? names.length - 1 : names.indexOf(name);
  const bucket = names[index];
  if (bucket !== undefined) return { bundle: bucketBundle(bundle, index), level, bucket };
  if (name === undefined) return null;
  const expected =
    names.length === 0
      ? "expected no bucket, since requests are of one size"
      : `expected bucket to be ${names.join(" or ")}`;
  throw new RuntimeError("RUNTIME_USAGE", `--state: ${expected}, got "${name}"`);
}
