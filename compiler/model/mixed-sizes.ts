/** Service times of variants whose batches may have rows of several sizes. */
import type { Pool, ProfileRow, Variant, VariantProfile } from "../spec/application.ts";
import { profileFor } from "../spec/pool-profiles.ts";
import { hasSizes } from "./buckets.ts";
import { serviceTimesByBatch } from "./service-time.ts";

/**
 * Returns the profile of a variant on a pool; for a variant with lists of sizes an upper bound for
 * batches of any sizes. A server runs the rows of each size on their own, so a batch takes at most
 * as long as the slowest division into as many runs of the largest size as there are sizes.
 */
export function mixedProfileFor(variant: Variant, pool: Pool): VariantProfile | null {
  const profile = profileFor(variant, pool);
  const runs = profile?.buckets?.length ?? 1;
  if (profile === null || runs === 1 || !hasSizes(variant)) return profile;
  const byCores = profile.byCores?.map((own) => ({ ...own, rows: dividedRows(own.rows, runs) }));
  const { fit } = profile;
  const slower = fit && { ...fit, epsilon: runs * fit.epsilon, eta: runs * fit.eta };
  const rows = dividedRows(profile.rows, runs);
  return { ...profile, rows, byCores: byCores ?? null, fit: slower };
}

const QUANTILES = ["p50", "p95", "p99", "mean"] as const;

function dividedRows(rows: readonly ProfileRow[], runs: number): ProfileRow[] {
  const curveOf = (msOf: (row: ProfileRow) => number) =>
    slowestDivisions(
      rows.map((row) => ({ batch: row.batch, ms: msOf(row) })),
      runs,
    );
  const latencyMs = curveOf((row) => row.latencyMs);
  const curves = QUANTILES.map((name) => curveOf(({ quantiles }) => quantiles?.[name] ?? 0));
  return rows.map(({ batch, quantiles }) => {
    const [p50 = 0, p95 = 0, p99 = 0, mean = 0] = curves.map((curve) => curve[batch - 1] ?? 0);
    return {
      batch,
      latencyMs: latencyMs[batch - 1] ?? Number.NaN,
      quantiles: quantiles && { p50, p95, p99, mean },
    };
  });
}

/**
 * Longest time of each batch, divided into at most so many runs of at least one row, ms.
 * @param rows measured, ascending in batch. @returns shape (largest batch,).
 */
function slowestDivisions(
  rows: readonly { readonly batch: number; readonly ms: number }[],
  runs: number,
): Float64Array {
  const mostBatch = rows.at(-1)?.batch ?? 0;
  const alone = serviceTimesByBatch(rows, mostBatch);
  let slowest = alone;
  for (let count = 2; count <= Math.min(runs, mostBatch); count++) {
    const next = Float64Array.from(slowest);
    for (let batch = 2; batch <= mostBatch; batch++) {
      for (let first = 1; first < batch; first++) {
        const ms = (alone[first - 1] ?? 0) + (slowest[batch - first - 1] ?? 0);
        if (ms > (next[batch - 1] ?? 0)) next[batch - 1] = ms;
      }
    }
    slowest = next;
  }
  return slowest;
}
