/** Selects the measured times that belong to the variants of a profile. */
import type { Bundle, ProfileReference } from "stratagem-runtime/internal/bundle/schema";
import type { ProfileSpec } from "../spec/schema/profile-schema.ts";
import type { ObservedTimes, Quantiles } from "./observed-times.ts";

interface ObservedProfile {
  readonly profile: ProfileSpec;
  /** Name of its file, without folders. */
  readonly file: string;
  /** Bundle that maps pools to hardware, and variants to profiles; or null. */
  readonly bundle: Bundle | null;
  /** The only application to use; null for all. */
  readonly application: string | null;
}

export interface OwnObservations {
  /** Keyed by the variant's name in the profile; one entry per cell. */
  readonly byVariant: ReadonlyMap<string, readonly ObservedTimes[]>;
  /** Pools that were found; if there are several, one must be chosen. */
  readonly pools: readonly string[];
}

export function ownObservations(
  observed: readonly ObservedTimes[],
  whose: ObservedProfile,
): OwnObservations {
  const { profile, application } = whose;
  const byVariant = new Map<string, ObservedTimes[]>();
  const pools = new Set<string>();
  for (const one of observed) {
    if (application !== null && one.application !== application) continue;
    for (const variant of variantsOf(one, whose)) {
      if (profile.variants[variant] === undefined) continue;
      if (one.pool !== null) pools.add(one.pool);
      byVariant.set(variant, merged(byVariant.get(variant) ?? [], one));
    }
  }
  return { byVariant, pools: [...pools] };
}

/** Names in the profile; without a bundle they are those of the spec. */
function variantsOf(one: ObservedTimes, { profile, file, bundle }: ObservedProfile): string[] {
  if (bundle === null) {
    const isOther = profile.task !== undefined && one.task !== null && one.task !== profile.task;
    return isOther ? [] : [one.variant];
  }
  const own = referencesOf(bundle, one).filter(({ hardware }) => hardware === profile.hardware);
  // Copies of a profile have other names; a reference to a file of this name is preferred.
  const ofFile = own.filter((reference) => reference.file === file);
  return (ofFile.length > 0 ? ofFile : own).map(({ variant }) => variant);
}

function referencesOf(bundle: Bundle, { task, variant, pool }: ObservedTimes): ProfileReference[] {
  const poolIndex = bundle.cluster.pools.findIndex(({ name }) => name === pool);
  for (const one of bundle.tasks) {
    if (task !== null && one.name !== task) continue;
    for (const known of one.variants) {
      if (known.name !== variant) continue;
      if ("profile" in known) return [known.profile];
      const of = poolIndex < 0 ? known.profiles : known.profiles.slice(poolIndex, poolIndex + 1);
      return of.flatMap((profile) => {
        if (profile === null) return [];
        return "profile" in profile ? [profile.profile] : [profile];
      });
    }
  }
  return [];
}

/** Weights the times of two pools of the same hardware by their samples. */
function merged(known: readonly ObservedTimes[], one: ObservedTimes): ObservedTimes[] {
  const index = known.findIndex((other) => {
    const isSame = other.batch === one.batch && other.bucket === one.bucket;
    return isSame && other.cores === one.cores && other.stage === one.stage;
  });
  const other = known[index];
  if (other === undefined) return [...known, one];
  const samples = other.samples + one.samples;
  const ms = weighted(other, one);
  return known.with(index, { ...other, samples, ms });
}

function weighted(a: ObservedTimes, b: ObservedTimes): Quantiles | null {
  if (a.ms === null || b.ms === null) return a.ms ?? b.ms;
  const share = a.samples / (a.samples + b.samples);
  const [first, second] = [a.ms, b.ms];
  const mean = (name: keyof Quantiles) => share * first[name] + (1 - share) * second[name];
  return { p50: mean("p50"), p95: mean("p95"), p99: mean("p99"), mean: mean("mean") };
}
