/** Outcome of each request of a simulation. */
import type { ArrivalProcess } from "./arrivals.ts";
import { drawArrivals } from "./graph/drawn-requests.ts";

/**
 * Called once per request.
 * @param latencyMs NaN for a dropped request.
 * @param sloMs of its class; left out without classes.
 */
export type OnOutcome = (arrivalMs: number, latencyMs: number, sloMs?: number) => void;

/**
 * Reports requests with known latencies, if requested.
 * @param latencyMs in arrival order, NaN for dropped ones; null if none were kept.
 */
export function reportOutcomes(
  {
    onOutcome,
    arrivals,
    durationMs,
    seed,
  }: {
    readonly arrivals: ArrivalProcess;
    readonly durationMs: number;
    readonly seed: number;
    readonly onOutcome?: OnOutcome;
  },
  latencyMs: Float64Array | null,
): void {
  if (onOutcome === undefined || latencyMs === null) return;
  const arrivalMs = drawArrivals(arrivals, durationMs, seed);
  for (const [index, atMs] of arrivalMs.entries()) onOutcome(atMs, latencyMs[index] ?? Number.NaN);
}
