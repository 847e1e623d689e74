/** What became of each request of a simulation, for who looks at more than sums. */
import type { ArrivalProcess } from "./arrivals.ts";
import { drawArrivals } from "./graph/drawn-requests.ts";

/** Told once of every request. @param latencyMs NaN for one that was dropped. */
export type OnOutcome = (arrivalMs: number, latencyMs: number) => void;

/**
 * Tells of requests whose latencies are known, where that is asked for.
 * @param latencyMs in the order of the arrivals, NaN where dropped; null where none were kept.
 */
export function tellOutcomes(
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
