/** A load that changes from phase to phase: sent to a live server, and drawn for a simulation. */
import { setTimeout as pause } from "node:timers/promises";
import { type LoadOptions, type LoadResult, runLoad } from "stratagem/internal/load/run-load";
import { drawArrivals } from "stratagem/internal/simulate/graph/drawn-requests";
import { type RequestTrace, tossVisits } from "stratagem/internal/simulate/graph/visits";
import type { TaskGraph } from "stratagem-runtime/internal/core/graph/task-graph";
import { ms, percent, quantile, sum } from "./numbers.ts";

/** A steady Poisson load. */
export interface Phase {
  readonly name: string;
  readonly seconds: number;
  readonly qps: number;
}

/** Of the first phase; the others follow. */
export const PHASE_SEED = 7;

const LOAD_OPTIONS = {
  model: null,
  maxOutstanding: 4096,
  warmUpQueries: 0,
  timeoutMs: 10_000,
  nowMs: () => performance.now(),
  onProgress: () => {},
};

/** Every phase begins when it is due, whatever is still on its way. */
export async function sendPhases(
  to: Pick<LoadOptions, "url" | "sloMs" | "inputs">,
  phases: readonly Phase[],
  startMs: number,
): Promise<LoadResult[]> {
  const results: Promise<LoadResult>[] = [];
  let beginMs = startMs;
  for (const [index, { seconds, qps }] of phases.entries()) {
    await pause(Math.max(0, beginMs - performance.now()));
    const durationMs = 1000 * seconds;
    const own = {
      arrivals: { kind: "poisson", qps },
      durationMs,
      seed: PHASE_SEED + index,
      signal: AbortSignal.timeout(durationMs + 60_000),
    } as const;
    results.push(runLoad({ ...LOAD_OPTIONS, ...to, ...own }));
    beginMs += durationMs;
  }
  return Promise.all(results);
}

/** The same arrivals; which way each request goes is drawn by the shares of the edges. */
interface DrawnPhases {
  readonly trace: RequestTrace;
  readonly durationMs: number;
  /** Requests of each phase. */
  readonly counts: readonly number[];
}

export function drawnPhases(graph: TaskGraph, phases: readonly Phase[]): DrawnPhases {
  const arrivals: number[] = [];
  const counts: number[] = [];
  let durationMs = 0;
  for (const [index, { seconds, qps }] of phases.entries()) {
    const process = { kind: "poisson", qps } as const;
    const drawn = drawArrivals(process, 1000 * seconds, PHASE_SEED + index);
    for (const atMs of drawn) arrivals.push(durationMs + atMs);
    counts.push(drawn.length);
    durationMs += 1000 * seconds;
  }
  const arrivalMs = Float64Array.from(arrivals);
  const takenByEdge = tossVisits(graph, arrivalMs.length, PHASE_SEED);
  return { trace: { arrivalMs, takenByEdge }, durationMs, counts };
}

/** What a simulation says of one phase. */
interface PhaseOutcome<Second> {
  readonly violationRate: number;
  readonly p50: number;
  readonly p99: number;
  readonly seconds: readonly Second[];
}

/** @param latencyMs of all requests, NaN for those that were dropped. */
export function outcomesByPhase<Second>(
  phases: readonly Phase[],
  { counts }: DrawnPhases,
  latencyMs: Float64Array | null,
  timeline: readonly Second[] | null,
  sloMs: number,
): PhaseOutcome<Second>[] {
  return phases.map(({ seconds }, index) => {
    const first = sum(counts.slice(0, index));
    const own = (latencyMs ?? new Float64Array()).slice(first, first + (counts[index] ?? 0));
    const served = own.filter((one) => !Number.isNaN(one)).sort();
    const second = sum(phases.slice(0, index).map((phase) => phase.seconds));
    return {
      violationRate: own.filter((one) => !(one <= sloMs)).length / own.length,
      p50: quantile(served, 0.5),
      p99: quantile(served, 0.99),
      seconds: (timeline ?? []).slice(second, second + seconds),
    };
  });
}

/** What the client saw, in words. @param more of the phase, after its latencies. */
export function phaseText(
  { name, seconds, qps }: Phase,
  { queries, late, violationRate, latencyMs, sendLagMs, errors }: LoadResult,
  expected: PhaseOutcome<unknown>,
  more: string,
): string {
  const { dropped, failed, lost } = fatesOf(errors);
  const reasons = Object.keys(errors).length === 0 ? [] : [JSON.stringify(errors)];
  return [
    `${name}, ${qps} requests/s for ${seconds} s: ${queries} requests, ${late} late`,
    `${dropped} given up, ${failed} failed, ${lost} lost`,
    `violations ${percent(violationRate)} measured, ${percent(expected.violationRate)} simulated`,
    `p50 ${ms(latencyMs?.p50 ?? Number.NaN)}, ${ms(expected.p50)}`,
    `p99 ${ms(latencyMs?.p99 ?? Number.NaN)}, ${ms(expected.p99)}`,
    `max ${ms(latencyMs?.max ?? Number.NaN)}`,
    more,
    `send lag p99 ${ms(sendLagMs?.p99 ?? Number.NaN)}`,
    ...reasons,
  ].join("; ");
}

/** The server answers 503 for what it gives up; whatever has no HTTP status was lost. */
export function fatesOf(errors: LoadResult["errors"]) {
  const fates = { dropped: 0, failed: 0, lost: 0 };
  for (const [reason, count] of Object.entries(errors)) {
    if (reason === "503") fates.dropped += count;
    else if (/^\d+$/.test(reason)) fates.failed += count;
    else fates.lost += count;
  }
  return fates;
}
