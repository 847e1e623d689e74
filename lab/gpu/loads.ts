/** Deadlines and loads that suit a profile: what a device carries decides what it is asked. */
import { present } from "../experiments/harness/numbers.ts";
import type { Profiled } from "./applications.ts";

/** What the load generator and the server carry beside each other on one machine, queries/s. */
const MOST_QPS = 4000;
const MOST_SCENES_QPS = 500;

export interface Asked {
  readonly sloMs: number;
  readonly loadsQps: readonly number[];
}

/** Latency at p95 of a batch, ms. */
function p95(profile: Profiled, variant: string, batch: number): number {
  const times = present(profile[variant], `a profile of ${variant}`).latencyMs[batch];
  return present(times, `a profile of ${variant} at batch ${batch}`).p95;
}

/** Queries/s of one worker in the batches that take half of the deadline at most. */
function capacityQps(profile: Profiled, variant: string, sloMs: number): number {
  const { latencyMs } = present(profile[variant], `a profile of ${variant}`);
  const rates = Object.entries(latencyMs)
    .filter(([, times]) => times.p95 <= sloMs / 2)
    .map(([batch, times]) => (1000 * Number(batch)) / times.p95);
  return Math.max(0, ...rates);
}

/** The deadline of the spec, or as many times what takes longest. */
function deadlineMs(wantedMs: number, times: number, longestMs: number): number {
  return Math.max(wantedMs, Math.ceil((times * longestMs) / 10) * 10);
}

/** From a load without batches to one that takes the faster models. @param names ascending. */
export function lettersLoads(profile: Profiled, names: readonly string[]): Asked {
  const best = present(names.at(-1));
  const sloMs = deadlineMs(100, 8, Math.max(...names.map((name) => p95(profile, name, 1))));
  const alone = 1000 / p95(profile, best, 1);
  const most = capacityQps(profile, best, sloMs);
  const fastest = Math.max(...names.map((name) => capacityQps(profile, name, sloMs)));
  const loads = [0.3 * alone, 0.9 * alone, 0.5 * most, 0.9 * most, 0.45 * (most + fastest)];
  return { sloMs, loadsQps: ascendingLoads(loads, MOST_QPS) };
}

/** Shares of what three workers carry with the most accurate models. */
export function scenesLoads(
  profile: Profiled,
  detector: { readonly name: string; readonly fanout?: number },
  classifier: string,
  workers: number,
): Asked {
  const { name, fanout = 1 } = detector;
  const sloMs = deadlineMs(100, 10, p95(profile, name, 1) + p95(profile, classifier, 1));
  const busy = [capacityQps(profile, name, sloMs / 2), capacityQps(profile, classifier, sloMs / 2)];
  const [detected = 0, classified = 0] = busy;
  const most = workers / (1 / detected + fanout / classified);
  return { sloMs, loadsQps: ascendingLoads([0.2 * most, 0.4 * most, 0.6 * most], MOST_SCENES_QPS) };
}

/** Shares of what the places carry of queries of so many instances in the mean. */
export function malleableLoads(
  profile: Profiled,
  names: readonly string[],
  { places, meanBatch }: { readonly places: number; readonly meanBatch: number },
): Asked {
  const times = names.map((name) => meanBatch * p95(profile, name, 1));
  const meanMs = times.reduce((sum, time) => sum + time, 0) / times.length;
  const most = (1000 * places) / meanMs;
  const loads = ascendingLoads([0.2 * most, 0.4 * most, 0.6 * most], MOST_SCENES_QPS);
  return { sloMs: deadlineMs(250, 4, Math.max(...times)), loadsQps: loads };
}

/** Two digits each, none of them twice. */
function ascendingLoads(loads: readonly number[], mostQps: number): number[] {
  const rounded = loads.map((load) => Number(Math.min(mostQps, load).toPrecision(2)));
  return [...new Set(rounded)].filter((load) => load > 0).sort((one, other) => one - other);
}
