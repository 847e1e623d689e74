/** What batches took in service, relative to their profile. */
import { PaceLooks, type SlowSeen } from "../profile/serving/pace-looks.ts";
import type { ServedRequest } from "./access-lines.ts";

/** Mean time of a batch, ms; ascending in the batch. */
export type BatchMeans = readonly { readonly batch: number; readonly meanMs: number }[];

/**
 * Over batches whose variant and size the profile has: what they took, over the means of the
 * profile. A batch counts for each request in it. Null of none.
 */
export function serviceRatio(
  served: readonly ServedRequest[],
  profile: ReadonlyMap<string, BatchMeans>,
): number | null {
  let took = 0;
  let stated = 0;
  for (const { variant, rows, aroundWorkerMs } of served.flatMap(({ batches }) => batches)) {
    const meanMs = meanAt(profile.get(variant) ?? [], rows);
    if (meanMs === null) continue;
    took += aroundWorkerMs;
    stated += meanMs;
  }
  return stated === 0 ? null : took / stated;
}

/** The slow spells in which batches ran, by what they took over their profile; null of none. */
export function slowBatches(
  served: readonly ServedRequest[],
  profile: ReadonlyMap<string, BatchMeans>,
): SlowSeen | null {
  const looks = new PaceLooks();
  for (const { arrivalEpochMs, queueMs, batches } of served) {
    for (const { variant, rows, aroundWorkerMs } of batches) {
      const meanMs = meanAt(profile.get(variant) ?? [], rows);
      if (meanMs !== null) looks.add(arrivalEpochMs + queueMs, aroundWorkerMs / meanMs);
    }
  }
  return looks.slow(Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY);
}

/** On the line between its neighbours; null outside what was measured. */
function meanAt(means: BatchMeans, batch: number): number | null {
  const above = means.find((one) => one.batch >= batch);
  const below = means.findLast((one) => one.batch <= batch);
  if (above === undefined || below === undefined) return null;
  if (above.batch === below.batch) return above.meanMs;
  const part = (batch - below.batch) / (above.batch - below.batch);
  return below.meanMs + part * (above.meanMs - below.meanMs);
}
