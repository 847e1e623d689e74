/** How long batches take in a simulation unless somebody says otherwise. */
import type { Bundle } from "stratagem-runtime/internal/bundle/schema";
import type { ServiceTimeMode } from "../simulate/service-times.ts";
import type { CompilerMethod } from "./method.ts";

/**
 * Latencies of a bundle that says what serving takes are compared with measured ones, so batches
 * take what they take there; those of any other with promises, which know percentiles.
 */
export function usualServiceTimes(bundle: Bundle, method: CompilerMethod): ServiceTimeMode {
  const isServed = bundle.cluster.serving !== undefined;
  return isServed && method.hasServiceTimeQuantiles(bundle) ? "sampled" : "p95";
}
