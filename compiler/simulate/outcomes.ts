/** What became of each request of a simulation, for who looks at more than sums. */
import type { ArrivalProcess } from "./arrivals.ts";
import { drawArrivals } from "./graph/drawn-requests.ts";

/** Told once of every request. @param latencyMs NaN for one that was dropped. */
export type OnOutcome = (arrivalMs: number, latencyMs: number) => void;

/**
 * Tells of requests whose latencies are known.
 * @param latencyMs in the order of the arrivals, NaN where dropped.
 */
export function tellOutcomes(
  onOutcome: OnOutcome,
  drawn: {
    readonly arrivals: ArrivalProcess;
    readonly durationMs: number;
    readonly seed: number;
  },
  latencyMs: Float64Array,
): void {
  const arrivalMs = drawArrivals(drawn.arrivals, drawn.durationMs, drawn.seed);
  for (const [index, atMs] of arrivalMs.entries()) onOutcome(atMs, latencyMs[index] ?? Number.NaN);
}
