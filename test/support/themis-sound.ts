import type { ScalePlan, ThemisBundle } from "../../runtime/bundle/schema.ts";
import { inspectBundle } from "../../runtime/bundles/inspect.ts";
import { burstsFrom } from "../../runtime/methods/themis/describe/burst-view.ts";

/**
 * Everything that following plans of cores and instances relies on, spelled out without the
 * validator.
 * @throws Error naming what does not hold.
 */
export function checkScalesInRange(bundle: ThemisBundle): void {
  const { tasks, levels, cluster, transitions } = bundle;
  const problems: string[] = [];
  const require = (holds: boolean, what: string): void => {
    if (!holds) problems.push(what);
  };
  require(cluster.pools.length === 1, "one pool");
  const poolCores = cluster.pools.reduce((sum, one) => sum + one.workers * (one.cores ?? 1), 0);
  for (const [task, { edges, variants, scaleFactor }] of tasks.entries()) {
    const sources = edges.map(({ parent }) => parent ?? -1);
    require(sources.length > 0 && sources.every((source) => source < task), "parents first");
    require(scaleFactor > 0 && scaleFactor <= 1, "a scale factor");
    require(variants.length === 1, "one variant");
    const ms = variants[0]?.latency.ms;
    require(ms?.data.every((time) => time > 0 && time < 1e10) ?? false, "times");
    require(ms?.data.length === (ms?.shape[0] ?? 0) * (ms?.shape[1] ?? 0), "a whole table");
  }
  const limitsOf = (task: number): readonly number[] =>
    tasks[task]?.variants[0]?.latency.ms.shape ?? [0, 0];
  const checkPlan = ({ stages, cores }: ScalePlan): void => {
    require(stages.length === tasks.length && cores <= poolCores, "a plan within the pool");
    for (const [task, stage] of stages.entries()) {
      const [maxCores = 0, maxBatch = 0] = limitsOf(task);
      require(stage.batch >= 1 && stage.batch <= maxBatch, "a batch");
      require(stage.cores >= 1 && stage.cores <= maxCores && stage.instances >= 1, "cores");
    }
  };
  for (const { horizontal, vertical, joint, steady } of levels) {
    for (const plan of [horizontal, vertical, joint, steady]) if (plan !== null) checkPlan(plan);
  }
  require(transitions.data.length === levels.length ** 2 * tasks.length * 3, "transitions");
  for (let at = 0; at < transitions.data.length; at += 3) {
    const [maxCores = 0, maxBatch = 0] = limitsOf((at / 3) % tasks.length);
    const [batch = 0, cores = 0, extras = 0] = transitions.data.subarray(at, at + 3);
    require(batch >= 1 && batch <= maxBatch && cores >= 1 && cores <= maxCores, "a cell");
    require(extras <= poolCores, "extras");
  }
  if (problems.length > 0) throw new Error(`accepted, but wrong: ${problems}`);
}

/**
 * What readers make of the levels and bursts of a bundle; shares of an SLO of next to nothing are
 * no numbers, and left out.
 */
export function readScales(bundle: ThemisBundle): unknown[] {
  const slo = { ...bundle.slo, latencyMs: Math.max(bundle.slo.latencyMs, 1e-3) };
  const { levels } = inspectBundle({ ...bundle, slo }, { byteCount: 0, sha256: "" });
  return [levels, ...bundle.levels.map((_, level) => burstsFrom(bundle, level))];
}
