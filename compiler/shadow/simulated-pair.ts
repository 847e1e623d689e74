/** Simulates two bundles on the same arrivals. */
import type { Bundle } from "stratagem-runtime/internal/bundle/schema";
import * as z from "zod";
import type { CompilerMethod } from "../methods/method.ts";
import { methodOf } from "../methods/registry.ts";
import type { SimulateWatch } from "../processes/simulate-watch.ts";
import type { ServiceTimeMode } from "../simulate/service-times.ts";
import type { Trace } from "../spec/trace.ts";

/** What the simulations of all methods say. */
const resultSchema = z.object({
  queries: z.number().optional(),
  requests: z.number().optional(),
  violationRate: z.number(),
  accuracyPerSatisfied: z.number().nullish(),
  latencyMs: z.object({ p50: z.number(), p99: z.number() }).nullish(),
  servers: z.object({ mean: z.number() }).nullish(),
  costPerHour: z.number().nullish(),
});

export interface SimulatedPolicy {
  readonly violationRate: number;
  readonly accuracyPerSatisfied: number | null;
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
  /** Workers that were in use, in the mean. */
  readonly servers: number | null;
  readonly costPerHour: number | null;
}

export interface SimulatedPair {
  readonly served: SimulatedPolicy;
  readonly shadow: SimulatedPolicy;
  readonly serviceTimes: ServiceTimeMode;
}

export interface PairRun {
  readonly trace: Extract<Trace, { kind: "arrivals" }>;
  readonly seed: number;
}

/**
 * Both with times that are drawn, where both bundles have their quantiles, or else both with those
 * that decisions reckon with: they are to be compared.
 */
export async function simulatedPair(
  served: Bundle,
  shadow: Bundle,
  run: PairRun,
  watch: SimulateWatch,
): Promise<SimulatedPair> {
  const drawn = await Promise.all([served, shadow].map(hasQuantiles));
  const serviceTimes = drawn.every((has) => has) ? "sampled" : "p95";
  return {
    served: await simulated(served, run, serviceTimes, watch),
    shadow: await simulated(shadow, run, serviceTimes, watch),
    serviceTimes,
  };
}

async function hasQuantiles(bundle: Bundle): Promise<boolean> {
  const method: CompilerMethod = await methodOf(bundle);
  return method.hasServiceTimeQuantiles(bundle);
}

async function simulated(
  bundle: Bundle,
  { trace, seed }: PairRun,
  serviceTimes: ServiceTimeMode,
  watch: SimulateWatch,
): Promise<SimulatedPolicy> {
  const method = await methodOf(bundle);
  const asked = {
    arrivals: { kind: "trace", trace },
    durationMs: (trace.arrivalMs.at(-1) ?? 0) + 1,
    seed,
    serviceTimes,
    fanout: "rounded",
    stations: {},
    baseline: null,
  } as const;
  const { json } = await method.simulate(bundle, asked, watch);
  const found = resultSchema.parse(json);
  const { violationRate, accuracyPerSatisfied, latencyMs, servers, costPerHour } = found;
  return {
    violationRate,
    accuracyPerSatisfied: accuracyPerSatisfied ?? null,
    p50Ms: latencyMs?.p50 ?? null,
    p99Ms: latencyMs?.p99 ?? null,
    servers: servers?.mean ?? null,
    costPerHour: costPerHour ?? null,
  };
}
