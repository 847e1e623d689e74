import {
  type InferlineSimulationOptions,
  simulateInferline,
} from "../../compiler/methods/inferline/simulate/simulate.ts";
import type { RequestArrivals } from "../../compiler/simulate/graph/arriving-requests.ts";
import type { InferlineBundle } from "../../runtime/bundle/schema.ts";

export const OPTIONS = {
  durationMs: 60_000,
  seed: 1,
  serviceTimes: "p95",
  withLatencies: true,
} as const;

/**
 * Requests at these times; `taken` by edge, one number for each request, left out where all take
 * it.
 */
export function at(
  arrivalMs: readonly number[],
  taken: Record<number, number[]> = {},
): RequestArrivals {
  const takenByEdge = Array.from({ length: 20 }, (_, edge) =>
    taken[edge] === undefined ? null : Uint8Array.from(taken[edge]),
  );
  return { kind: "requests", trace: { arrivalMs: Float64Array.from(arrivalMs), takenByEdge } };
}

/** Of every request, in the order of the arrivals. */
export function latencies(
  bundle: InferlineBundle,
  arrivals: RequestArrivals,
  options: Partial<InferlineSimulationOptions> = {},
): number[] {
  const { latencyMsByRequest } = simulateInferline(bundle, { ...OPTIONS, arrivals, ...options });
  return [...(latencyMsByRequest ?? [])];
}
