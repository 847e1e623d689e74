/**
 * Batch latencies for any number of cores: measured ones where available, otherwise from the fit,
 * and never far from measurements.
 */
import {
  fittedMs,
  type LatencyByCores,
  type LatencyFit,
  type Table,
} from "stratagem-runtime/internal/bundle/schema";
import type { CoreProfile, ProfileRow, VariantProfile } from "../../../spec/application.ts";
import { fitLatency, type LatencyPoint, worstCell } from "./latency-fit.ts";

/**
 * Why a profile has no latencies that can be planned with, followed by "; " and what is allowed.
 */
interface UnusableLatency {
  readonly found: string;
  readonly allowed: string;
}

/**
 * Latencies for batches up to `maxBatch` on up to `maxCores` cores, or fewer of both if no more was
 * measured: nothing is extrapolated beyond the largest batch and most cores of measured rows.
 * Between measured batches latencies are linear; cores that were not measured are fitted, or,
 * without a fit, take as long as the next fewer that were. A fit that was given without rows is
 * used up to both limits.
 */
export function latencyByCores(
  { fit, byCores }: Pick<VariantProfile, "fit" | "byCores">,
  maxBatch: number,
  maxCores: number,
): LatencyByCores | UnusableLatency {
  if (byCores === null) return fit === null ? NOTHING : fromFit(fit, maxBatch, maxCores);
  if (byCores[0]?.cores !== 1) {
    const found = `byCores measured on ${byCores.map(({ cores }) => cores).join(", ")} cores`;
    return { found, allowed: "rows for 1 core among them, since plans start with one" };
  }
  const measured = byCores.filter(({ cores }) => cores <= maxCores);
  const points = byCores.flatMap(({ cores, rows }) =>
    rows.map(({ batch, latencyMs }): LatencyPoint => ({ batch, cores, ms: latencyMs })),
  );
  const mostBatch = Math.min(maxBatch, Math.max(...points.map(({ batch }) => batch)));
  const mostCores = Math.min(maxCores, byCores.at(-1)?.cores ?? 1);
  const fitted = fit ?? fitLatency(points, mostBatch, mostCores);
  const kept = points.filter(({ batch, cores }) => batch <= mostBatch && cores <= mostCores);
  const ms = new Float64Array(mostCores * mostBatch);
  let row = measured[0];
  for (let cores = 1; cores <= mostCores; cores++) {
    const next = measured.find((one) => one.cores === cores);
    row = next ?? row;
    const isMeasured = next !== undefined;
    let floorMs = 0;
    for (let batch = 1; batch <= mostBatch; batch++) {
      const estimateMs = fitted === null ? Number.NaN : fittedMs(fitted, batch, cores);
      const knownMs = isMeasured || !(estimateMs > 0) ? interpolated(row, batch) : null;
      floorMs = Math.max(floorMs, knownMs ?? estimateMs);
      ms[(cores - 1) * mostBatch + batch - 1] = floorMs;
    }
  }
  return {
    ms: { dtype: "float64", shape: [mostCores, mostBatch], data: ms },
    fit: fitted,
    points: {
      dtype: "float64",
      shape: [kept.length, 3],
      data: Float64Array.from(kept.flatMap((point) => [point.batch, point.cores, point.ms])),
    },
  };
}

/**
 * Quantiles of the points of a table, [pointCount, 4]: p50, p95, p99 and mean; undefined without
 * points, or if one was measured without quantiles.
 */
export function pointQuantiles(
  { byCores }: Pick<VariantProfile, "byCores">,
  { ms: { shape } }: Pick<LatencyByCores, "ms">,
): Table | undefined {
  const [mostCores = 0, mostBatch = 0] = shape;
  const rows = (byCores ?? [])
    .filter(({ cores }) => cores <= mostCores)
    .flatMap((one) => one.rows.filter(({ batch }) => batch <= mostBatch));
  const known = rows.flatMap(({ quantiles }) => (quantiles === null ? [] : [quantiles]));
  if (known.length === 0 || known.length < rows.length) return undefined;
  const data = Float64Array.from(known.flatMap(({ p50, p95, p99, mean }) => [p50, p95, p99, mean]));
  return { dtype: "float64", shape: [known.length, 4], data };
}

const NOTHING: UnusableLatency = {
  found: "neither fit nor byCores",
  allowed: "one of them, since latencies are needed for any number of cores",
};

export function isUsable(latency: LatencyByCores | UnusableLatency): latency is LatencyByCores {
  return "ms" in latency;
}

function fromFit(
  fit: LatencyFit,
  maxBatch: number,
  maxCores: number,
): LatencyByCores | UnusableLatency {
  const worst = worstCell(fit, maxBatch, maxCores);
  if (worst !== null) {
    const { batch, cores, ms } = worst;
    const on = cores === 1 ? "1 core" : `${cores} cores`;
    const found = `a fit with ${Number(ms.toFixed(3))} ms for a batch of ${batch} on ${on}`;
    const allowed =
      `latencies above 0 that do not fall with the batch, up to batch ${maxBatch} and ` +
      `${maxCores} cores (policy.maxBatch, policy.maxCores)`;
    return { found, allowed };
  }
  const data = Float64Array.from({ length: maxCores * maxBatch }, (_, index) =>
    fittedMs(fit, (index % maxBatch) + 1, Math.floor(index / maxBatch) + 1),
  );
  return {
    ms: { dtype: "float64", shape: [maxCores, maxBatch], data },
    fit,
    points: { dtype: "float64", shape: [0, 3], data: new Float64Array(0) },
  };
}

/** Linear between measured batches; constant below the first, proportional beyond the last. */
function interpolated(profile: CoreProfile | undefined, batch: number): number {
  const rows = profile?.rows ?? [];
  const after = rows.findIndex((row) => row.batch >= batch);
  const last = rows.at(-1);
  if (after < 0) return last === undefined ? Number.NaN : (last.latencyMs * batch) / last.batch;
  const right = rows[after] as ProfileRow;
  const left = rows[after - 1];
  if (left === undefined || right.batch === batch) return right.latencyMs;
  const part = (batch - left.batch) / (right.batch - left.batch);
  return left.latencyMs + part * (right.latencyMs - left.latencyMs);
}
