/** What a runtime relies on in a bundle of provisioned stages, and what it does with one. */
import type { InferlineBundle } from "../../runtime/bundle/schema.ts";
import { inspectBundle } from "../../runtime/bundles/inspect.ts";
import { replicaShapeOf } from "../../runtime/core/graph/replica-shape.ts";
import { taskGraphOf } from "../../runtime/core/graph/task-graph.ts";
import { EnvelopeTuner } from "../../runtime/methods/inferline/core/envelope-tuner.ts";
import { taskLimits } from "../../runtime/methods/inferline/describe/task-limits.ts";
import { allFinite } from "./all-finite.ts";

/** Everything that following a plan relies on, spelled out without the validator. */
export function checkStagesInRange(bundle: InferlineBundle): void {
  const { tasks, levels, cluster } = bundle;
  const problems: string[] = [];
  const require = (holds: boolean, what: string): void => {
    if (!holds) problems.push(what);
  };
  for (const [task, { edges }] of tasks.entries()) {
    const sources = edges.map(({ parent }) => parent ?? -1);
    require(sources.length > 0 && sources.every((source) => source < task), "parents first");
    require(new Set(sources).size === sources.length, "edges of their own");
    require(edges.every(({ share }) => share >= 0 && share <= 1), "shares");
  }
  for (const { plan, sample, loadQps } of levels) {
    require(loadQps > 0 && plan.stages.length === tasks.length, "a stage per task");
    const replicas = cluster.pools.map(() => 0);
    for (const [task, stage] of plan.stages.entries()) {
      const profile = tasks[task]?.variants[stage.variant]?.profiles[stage.pool];
      const times = profile?.serviceTimes.decisionMs.data.subarray(0, stage.batch) ?? [];
      require(times.length === stage.batch && times.every((ms) => ms > 0), "service times");
      require(times[stage.batch - 1] === stage.latencyMs, "latency");
      require(stage.replicas >= 1, "replicas");
      replicas[stage.pool] = (replicas[stage.pool] ?? 0) + stage.replicas;
    }
    require(cluster.pools.every(({ workers }, pool) => (replicas[pool] ?? 0) <= workers), "room");
    const { windowMs, requests } = sample.envelope;
    require(windowMs.data.length === requests.data.length, "windows");
    require(requests.data.every((count) => count >= 1), "requests of a window");
  }
  require(allFinite(bundle), "finite numbers");
  if (problems.length > 0) throw new Error(`accepted, but wrong: ${problems}`);
}

/** Reads every level in all ways that there are. */
export function driveStages(bundle: InferlineBundle): void {
  const { edgeCount, parentByEdge, childByEdge } = taskGraphOf(bundle);
  for (let edge = 0; edge < edgeCount; edge++) {
    if ((parentByEdge[edge] ?? 0) >= (childByEdge[edge] ?? 0)) throw new Error(`edge ${edge}`);
  }
  const { levels } = inspectBundle(bundle, { byteCount: 0, sha256: "" });
  replicaShapeOf(bundle);
  for (const level of bundle.levels.keys()) {
    const tuner = new EnvelopeTuner(bundle, "relative", level);
    for (const nowMs of [0, 0, 1, 1500]) tuner.onArrival(nowMs);
    tuner.tick(tuner.wakeMs);
    if (!tuner.targets.every((target) => target >= 1)) throw new Error("a stage without a replica");
  }
  const told = bundle.levels.map((level) => taskLimits(bundle, level));
  if (!allFinite(levels) || !allFinite(told)) throw new Error("a number that is none");
}
