/** Error of the fit l(b, c), point by point. */
import { fittedMs, type LatencyByCores } from "../../../bundle/schema.ts";

export interface FittedPoint {
  readonly batch: number;
  readonly cores: number;
  readonly measuredMs: number;
  /** Null without a fit. */
  readonly fittedMs: number | null;
  /** (fitted − measured) / measured; null without a fit. */
  readonly error: number | null;
}

export interface FitError {
  /** Statistics of the absolute errors. */
  readonly mean: number;
  readonly worst: number;
}

/** Returns the points in the order of the bundle: ascending cores, then batch. */
export function fittedPoints({ fit, points }: LatencyByCores): FittedPoint[] {
  const [pointCount = 0] = points.shape;
  return Array.from({ length: pointCount }, (_, point) => {
    const [batch = 0, cores = 0, measuredMs = Number.NaN] = points.data.subarray(
      3 * point,
      3 * point + 3,
    );
    const ms = fit === null ? null : fittedMs(fit, batch, cores);
    const error = ms === null ? null : (ms - measuredMs) / measuredMs;
    return { batch, cores, measuredMs, fittedMs: ms, error };
  });
}

/** Returns null without points to compare. */
export function fitError(points: readonly FittedPoint[]): FitError | null {
  const errors = points.flatMap(({ error }) => (error === null ? [] : [Math.abs(error)]));
  if (errors.length === 0) return null;
  const mean = errors.reduce((sum, error) => sum + error, 0) / errors.length;
  return { mean, worst: Math.max(...errors) };
}
