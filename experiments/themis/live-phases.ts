/** The phases of the live burst, and what they come to on a virtual clock, in one run. */
import {
  type ScaleSimulationResult,
  simulateScales,
} from "../../compiler/methods/themis/simulate/simulate-scales.ts";
import { drawArrivals } from "../../compiler/simulate/graph/drawn-requests.ts";
import { tossVisits } from "../../compiler/simulate/graph/visits.ts";
import type { ThemisBundle } from "../../runtime/bundle/schema.ts";
import { stageGraphOf } from "../../runtime/core/graph/stage-graph.ts";
import { mean, quantile } from "../harness/numbers.ts";

export interface Phase {
  readonly name: string;
  readonly seconds: number;
  readonly qps: number;
}

export const SEED = 7;

/** A server begins with the plan of its highest level: the first phase is for it to come down. */
export function phasesAt(steadyQps: number, burstQps: number): Phase[] {
  return [
    { name: "start", seconds: 30, qps: steadyQps },
    { name: "steady", seconds: 20, qps: steadyQps },
    { name: "burst", seconds: 25, qps: burstQps },
    { name: "after", seconds: 45, qps: steadyQps },
  ];
}

export interface PhaseOutcome {
  readonly violationRate: number;
  readonly p50: number;
  readonly p99: number;
  readonly cores: number;
  readonly mostCores: number;
}

export interface SimulatedPhases {
  readonly phases: readonly PhaseOutcome[];
  readonly scaling: ScaleSimulationResult["scaling"];
}

/** Which way each request goes is drawn by the shares of the edges. */
export function simulatedPhases(bundle: ThemisBundle, phases: readonly Phase[]): SimulatedPhases {
  const arrivalMs: number[] = [];
  const counts: number[] = [];
  let beginMs = 0;
  for (const [index, { seconds, qps }] of phases.entries()) {
    const drawn = drawArrivals({ kind: "poisson", qps }, 1000 * seconds, SEED + index);
    for (const ms of drawn) arrivalMs.push(beginMs + ms);
    counts.push(drawn.length);
    beginMs += 1000 * seconds;
  }
  const trace = {
    arrivalMs: Float64Array.from(arrivalMs),
    takenByEdge: tossVisits(stageGraphOf(bundle), arrivalMs.length, SEED),
  };
  const result = simulateScales(bundle, {
    arrivals: { kind: "requests", trace },
    durationMs: beginMs,
    seed: SEED,
    startLevel: bundle.levels.length - 1,
    timeline: true,
    withLatencies: true,
  });
  const sloMs = bundle.slo.latencyMs;
  return { phases: outcomesOf(result, phases, counts, sloMs), scaling: result.scaling };
}

/** @param counts of requests, by phase. */
function outcomesOf(
  { timeline, latencyMsByRequest }: ScaleSimulationResult,
  phases: readonly Phase[],
  counts: readonly number[],
  sloMs: number,
): PhaseOutcome[] {
  const latencies = latencyMsByRequest ?? new Float64Array();
  let request = 0;
  let second = 0;
  return phases.map(({ seconds }, index) => {
    const end = request + (counts[index] ?? 0);
    const latencyMs = latencies.slice(request, end);
    const held = (timeline ?? []).slice(second, second + seconds).map(({ cores }) => cores ?? 0);
    request = end;
    second += seconds;
    const served = latencyMs.filter((ms) => !Number.isNaN(ms)).sort();
    return {
      violationRate: latencyMs.filter((ms) => !(ms <= sloMs)).length / latencyMs.length,
      p50: quantile(served, 0.5),
      p99: quantile(served, 0.99),
      cores: mean(held),
      mostCores: Math.max(...held),
    };
  });
}
