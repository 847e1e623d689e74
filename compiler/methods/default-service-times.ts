/** Default of --service-times in simulations. */
import type { Bundle } from "stratagem-runtime/internal/bundle/schema";
import type { ServiceTimeMode } from "../simulate/service-times.ts";
import type { CompilerMethod } from "./method.ts";

/**
 * Samples service times for bundles with a serving path, whose latencies are compared with measured
 * ones; uses percentiles for other bundles, as their promises do.
 */
export function defaultServiceTimes(bundle: Bundle, method: CompilerMethod): ServiceTimeMode {
  const isServed = bundle.cluster.serving !== undefined;
  return isServed && method.hasServiceTimeQuantiles(bundle) ? "sampled" : "p95";
}
