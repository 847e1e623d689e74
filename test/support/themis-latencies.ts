import {
  type ScaleSimulationOptions,
  type ScaleSimulationResult,
  simulateScales,
} from "../../compiler/methods/themis/simulate/simulate.ts";
import type { ThemisBundle } from "../../runtime/bundle/schema.ts";
import { at } from "./inferline-latencies.ts";

/** Serves requests at these times, with the latency of every one. */
export function serveAt(
  bundle: ThemisBundle,
  arrivalMs: readonly number[],
  options: Partial<ScaleSimulationOptions> & { readonly taken?: Record<number, number[]> } = {},
): ScaleSimulationResult & { readonly latencies: readonly number[] } {
  const { taken, ...others } = options;
  const result = simulateScales(bundle, {
    arrivals: at(arrivalMs, taken),
    durationMs: 10_000,
    seed: 1,
    withLatencies: true,
    ...others,
  });
  return { ...result, latencies: [...(result.latencyMsByRequest ?? [])] };
}
