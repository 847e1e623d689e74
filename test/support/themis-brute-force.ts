import type {
  ScalingPlan,
  ScalingProblem,
  TaskScale,
} from "../../compiler/methods/themis/solve/problem.ts";
import type { ScalingMode } from "../../compiler/methods/themis/solve/task-options.ts";
import { isStable, ROUNDING, stageMs } from "./themis-check.ts";

export interface BruteAnswer {
  /** Fewest cores, then least latency; null if nothing meets the SLO. */
  readonly best: Pick<ScalingPlan, "cores" | "latencyMs"> | null;
  /** Of all plans, within the SLO or not; Infinity if a stage carries the load in no way. */
  readonly leastLatencyMs: number;
}

/** Every combination of every way to run every stage, one after the other. */
export function bruteForce(problem: ScalingProblem, mode: ScalingMode): BruteAnswer {
  const choices = problem.stages.map((_, at) =>
    waysOf(problem, mode, at).map((scale) => {
      return { cores: scale.cores * scale.instances, latencyMs: stageMs(problem, at, scale) };
    }),
  );
  const allowedMs = problem.sloMs * (1 + ROUNDING);
  const endMs = problem.stages.map(() => 0);
  let leastLatencyMs = Number.POSITIVE_INFINITY;
  let bestCores = Number.POSITIVE_INFINITY;
  let bestMs = Number.POSITIVE_INFINITY;
  const total = choices.reduce((product, { length }) => product * length, 1);
  for (let number = 0; number < total; number++) {
    let left = number;
    let cores = 0;
    let longestMs = 0;
    for (const [at, { parents }] of problem.stages.entries()) {
      const ways = choices[at] ?? [];
      const way = ways[left % ways.length];
      left = Math.floor(left / ways.length);
      if (way === undefined) throw new RangeError("a stage has ways");
      let startMs = 0;
      for (const parent of parents) startMs = Math.max(startMs, endMs[parent] ?? Number.NaN);
      const stageEndMs = startMs + way.latencyMs;
      endMs[at] = stageEndMs;
      longestMs = Math.max(longestMs, stageEndMs);
      cores += way.cores;
    }
    leastLatencyMs = Math.min(leastLatencyMs, longestMs);
    if (longestMs > allowedMs || cores > bestCores) continue;
    if (cores === bestCores && longestMs >= bestMs) continue;
    bestCores = cores;
    bestMs = longestMs;
  }
  const best =
    bestCores < Number.POSITIVE_INFINITY ? { cores: bestCores, latencyMs: bestMs } : null;
  return { best, leastLatencyMs };
}

/** With a free number of instances one more than carry the load, too: it never helps. */
function waysOf(problem: ScalingProblem, mode: ScalingMode, at: number): TaskScale[] {
  const { maxBatch, maxCores, latencyMs } = problem.stages[at] ?? {
    maxBatch: 0,
    maxCores: 0,
    latencyMs: [],
  };
  const ways: TaskScale[] = [];
  for (let cores = 1; cores <= maxCores; cores++) {
    if (mode.kind === "horizontal" && cores > 1) continue;
    if (mode.kind === "sized" && cores !== mode.cores[at]) continue;
    if (mode.kind === "vertical" && cores < (mode.leastCores?.[at] ?? 1)) continue;
    for (let batch = 1; batch <= maxBatch; batch++) {
      if (latencyMs[(cores - 1) * maxBatch + batch - 1] === Number.POSITIVE_INFINITY) continue;
      if (mode.kind === "vertical") {
        const scale = { batch, cores, instances: mode.instances[at] ?? 0 };
        if (isStable(problem, at, scale)) ways.push(scale);
        continue;
      }
      let instances = 1;
      while (!isStable(problem, at, { batch, cores, instances })) instances++;
      ways.push({ batch, cores, instances });
      if (problem.stages.length <= 2) ways.push({ batch, cores, instances: instances + 1 });
    }
  }
  return ways;
}
