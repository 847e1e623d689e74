/** Figures of each class at a level, as data, and the bundle whose table decides for a class. */

import { RuntimeError } from "../../../base/errors.ts";
import type { ClassExpected, RamsisBundle, RamsisLevel, SloClass } from "../../../bundle/schema.ts";
import { kindBundle, withPaceLevels } from "../bundle/kind-views.ts";

export interface ClassView extends SloClass {
  /** Null if one queue serves all classes. */
  readonly workers: number | null;
  readonly expected: ClassExpected | null;
}

/** Returns each class or bucket, in the order of the bundle; empty without classes and buckets. */
export function classViews(
  { slo, buckets = [] }: Pick<RamsisBundle, "slo" | "buckets">,
  { classTables, expected }: RamsisLevel,
): ClassView[] {
  const padded = buckets.map(({ name, share }) => ({ name, share, latencyMs: slo.latencyMs }));
  return (slo.classes ?? padded).map((kind, index) => ({
    ...kind,
    workers: classTables?.[index]?.workers ?? null,
    expected: expected.byClass?.[kind.name] ?? expected.byBucket?.[index] ?? null,
  }));
}

export interface DecidingTable {
  /** A bundle without classes of its own at the level, whose table decides. */
  readonly bundle: RamsisBundle;
  /** Index of the level in that bundle. */
  readonly level: number;
  /** Class of the table; left out for the table of all queries. */
  readonly sloClass?: string;
  /** Bucket of the table, likewise. */
  readonly bucket?: string;
}

/** Requested class or bucket; by default the first class, or the largest bucket. */
export interface AskedKind {
  readonly sloClass?: string | undefined;
  readonly bucket?: string | undefined;
}

/** Returns the kind that a log names; undefined for an unknown class or bucket. */
export function kindNamed(
  { slo, buckets }: RamsisBundle,
  kind: string,
): { readonly sloClass?: string; readonly bucket?: string } | undefined {
  if (kind === "") return {};
  if (slo.classes?.some(({ name }) => name === kind) === true) return { sloClass: kind };
  return buckets?.some(({ name }) => name === kind) === true ? { bucket: kind } : undefined;
}

/**
 * Returns the table that decides for a class or a bucket at a level, which may be a pace level: its
 * own, or that of all.
 * @throws RuntimeError RUNTIME_USAGE for an unknown class or bucket.
 */
export function decidingTable(
  whole: RamsisBundle,
  level: number,
  asked: AskedKind = {},
): DecidingTable {
  const bundle = level < whole.levels.length ? whole : withPaceLevels(whole);
  const { slo, buckets = [] } = bundle;
  const decides = bundle.levels[level];
  const padded = indexIn(buckets, "bucket", "requests are of one size", asked.bucket, -1);
  const bucket = buckets[padded]?.name;
  if (bucket !== undefined && asked.sloClass === undefined) {
    if (decides === undefined) throw new RangeError("there is such a level");
    return { bundle: kindBundle(bundle, decides, padded), level: 0, bucket };
  }
  const classes = slo.classes ?? [];
  const index = indexIn(classes, "class", "all queries have the same SLO", asked.sloClass, 0);
  if (decides?.classTables === undefined) return { bundle, level };
  const sloClass = classes[index]?.name ?? "";
  return { bundle: kindBundle(bundle, decides, index), level: 0, sloClass };
}

/** @param usual default index, -1 for the last. */
function indexIn(
  kinds: readonly { readonly name: string }[],
  field: "class" | "bucket",
  why: string,
  asked: string | undefined,
  usual: 0 | -1,
): number {
  if (asked === undefined) return usual === 0 ? 0 : kinds.length - 1;
  const index = kinds.findIndex(({ name }) => name === asked);
  if (index >= 0) return index;
  const names = kinds.map(({ name }) => name).join(" or ");
  const expected = names === "" ? `no ${field}, since ${why}` : `${field} to be ${names}`;
  throw new RuntimeError("RUNTIME_USAGE", `--state: expected ${expected}, got "${asked}"`);
}
