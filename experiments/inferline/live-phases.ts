/** The phases of the live cascade, and what they come to on a virtual clock, in one run. */
import { simulateStages } from "../../compiler/methods/inferline/simulate/simulate-stages.ts";
import { drawRequests } from "../../compiler/simulate/graph/drawn-requests.ts";
import type { InferlineBundle } from "../../runtime/bundle/schema.ts";
import { stageGraphOf } from "../../runtime/core/graph/stage-graph.ts";
import { present, quantile, sum } from "../harness/numbers.ts";

export interface Rate {
  readonly seconds: number;
  readonly qps: number;
}

export type Phase = Rate & { readonly name: string };

/**
 * After the burst the last minute's envelope has to forget it, and 15 s have to be quiet, before
 * replicas go.
 */
export const PHASES: readonly Phase[] = [
  { name: "steady", seconds: 30, qps: 250 },
  { name: "burst", seconds: 20, qps: 450 },
  { name: "after", seconds: 100, qps: 125 },
];
/**
 * Each phase has a load generator of its own, which is slow until its code is compiled: a rate that
 * it can bear, counted to the phase.
 */
const RAMP: Rate = { seconds: 3, qps: 100 };
export const SEED = 7;

export function ratesOf({ seconds, qps }: Rate): Rate[] {
  return [RAMP, { seconds: seconds - RAMP.seconds, qps }];
}

export function simulatedPhases(bundle: InferlineBundle) {
  const rates = PHASES.flatMap(ratesOf);
  let endMs = 0;
  const startMs = Float64Array.from(rates, ({ seconds }) => {
    endMs += 1000 * seconds;
    return endMs - 1000 * seconds;
  });
  const qps = Float64Array.from(rates, (rate) => rate.qps);
  const trace = { kind: "rates", startMs, qps, endMs } as const;
  const requests = drawRequests(stageGraphOf(bundle), { kind: "trace", trace }, endMs, SEED);
  const { timeline, latencyMsByRequest, byTask } = simulateStages(bundle, {
    // Of requests as they are no rate is known beforehand, so that it begins with the highest
    // level, as the server does.
    arrivals: { kind: "requests", trace: requests },
    durationMs: endMs,
    seed: SEED,
    serviceTimes: "p95",
    timeline: true,
    withLatencies: true,
  });
  const latencies = latencyMsByRequest ?? new Float64Array();
  let first = 0;
  let second = 0;
  const phases = PHASES.map(({ seconds }) => {
    const inPhase = (timeline ?? []).slice(second, second + seconds);
    const count = sum(inPhase.map((one) => one.requests));
    const latencyMs = latencies.slice(first, first + count).sort();
    first += count;
    second += seconds;
    return {
      p99: quantile(latencyMs, 0.99),
      violationRate: latencyMs.filter((ms) => ms > bundle.slo.latencyMs).length / count,
      mostReplicas: Math.max(...inPhase.map(({ servers }) => servers)),
      lastReplicas: present(inPhase.at(-1)).servers,
    };
  });
  const [gate, accurate] = Object.values(byTask);
  return { phases, escalated: present(accurate).queries / present(gate).queries };
}
