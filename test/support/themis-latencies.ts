import {
  simulateThemis,
  type ThemisSimulationOptions,
  type ThemisSimulationResult,
} from "../../compiler/methods/themis/simulate/simulate.ts";
import type { ThemisBundle } from "../../runtime/bundle/schema.ts";
import { at } from "./inferline-latencies.ts";

/** Serves requests at these times, with the latency of every one. */
export function serveAt(
  bundle: ThemisBundle,
  arrivalMs: readonly number[],
  options: Partial<ThemisSimulationOptions> & { readonly taken?: Record<number, number[]> } = {},
): ThemisSimulationResult & { readonly latencies: readonly number[] } {
  const { taken, ...others } = options;
  const result = simulateThemis(bundle, {
    arrivals: at(arrivalMs, taken),
    durationMs: 10_000,
    seed: 1,
    withLatencies: true,
    ...others,
  });
  return { ...result, latencies: [...(result.latencyMsByRequest ?? [])] };
}
