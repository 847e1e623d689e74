/** Simulates one load of a bundle, and counts late requests by the time of their arrival. */
import type { Bundle } from "stratagem-runtime/internal/bundle/schema";
import * as z from "zod";
import type { CompilerMethod } from "../methods/method.ts";
import type { LoadRun, SimulatedLoad } from "../processes/level-request.ts";
import { steadyArrivals } from "../simulate/arrivals.ts";
import { LatencySample } from "../simulate/latency-sample.ts";
import type { OnOutcome } from "../simulate/outcomes.ts";
import { AS_PROFILED } from "../simulate/serving/machine-state.ts";

/** Latencies are differences of times, so one that equals the SLO may be above it by rounding. */
const ROUNDING_MS = 1e-6;

/** Results common to every method's simulation. */
const resultSchema = z.object({
  accuracyPerSatisfied: z.number().nullish(),
  servers: z.object({ mean: z.number() }).optional(),
});

/** Gives the same result for the same bundle and run. */
export async function simulatedLoad(
  bundle: Bundle,
  { loadQps, fromMs, windowCount, windowMs, seed, serviceTimes, sloMs, pace, lost }: LoadRun,
  method: CompilerMethod,
): Promise<SimulatedLoad> {
  const windows = Array.from({ length: windowCount }, () => {
    return { queries: 0, late: 0, serverLate: 0, slow: 0 };
  });
  const latencies = new LatencySample();
  const onOutcome: OnOutcome = (arrivalMs, latencyMs, ownSloMs = bundle.slo.latencyMs) => {
    const window = windows[Math.floor((arrivalMs - fromMs) / windowMs)];
    if (window === undefined) return;
    if (!Number.isNaN(latencyMs)) latencies.record(latencyMs);
    const limitMs = (sloMs ?? ownSloMs) + ROUNDING_MS;
    window.queries++;
    if (!(latencyMs <= limitMs)) window.late++;
    if (!(latencyMs <= limitMs / 2)) window.slow++;
  };
  const machine = {
    ...AS_PROFILED,
    pace,
    lost: lost === 0 ? null : { workers: lost, atMs: 0 },
  };
  const { json } = await method.simulate(
    bundle,
    {
      arrivals: steadyArrivals(bundle.arrivals, loadQps),
      durationMs: fromMs + windowCount * windowMs,
      seed,
      serviceTimes,
      fanout: "rounded",
      stations: pace === 1 && lost === 0 ? {} : { machine },
      baseline: null,
      onOutcome,
    },
    { jobs: 1, nowMs: () => 0, onProgress: () => {}, signal: new AbortController().signal },
  );
  const { accuracyPerSatisfied: accuracy = null, servers } = resultSchema.parse(json);
  const { p50 = null, p99 = null } = latencies.summary() ?? {};
  return {
    windows: windows.map((window) => ({ ...window, serverLate: window.late })),
    p50Ms: p50,
    p99Ms: p99,
    accuracy,
    servers: servers?.mean ?? null,
  };
}
