/** Plans of a Themis level with tasks by name, and each task's part of the load and of the SLO. */
import type {
  LatencyByCores,
  ScaledStage,
  ScaleExpected,
  ScalePlan,
  ScaleReport,
  ThemisBundle,
  ThemisLevel,
} from "../../../bundle/schema.ts";
import { longestPathMs } from "../../../core/graph/longest-path.ts";
import { hasChoice, planAccuracy } from "../core/plan-accuracy.ts";

/** Each null without a plan of its kind. */
export interface PlansView {
  /** Instances of one core. */
  readonly horizontal: PlanView | null;
  /** One instance for each task. */
  readonly vertical: PlanView | null;
  readonly joint: PlanView | null;
  /** The plan that is followed. */
  readonly steady: PlanView;
}

interface PlanView {
  readonly cores: number;
  /** Latency of the longest path by the model: processing, queueing and hops. */
  readonly latencyMs: number;
  /** Latency of the longest path without queueing, hops included. */
  readonly processingMs: number;
  /** In the order of the tasks. */
  readonly stages: readonly TaskView[];
  /** Accuracy of the answers, by the variants; left out without alternatives. */
  readonly accuracy?: number;
  readonly expected: ScaleExpected;
}

export interface TaskView extends Omit<ScaledStage, "variant"> {
  readonly task: string;
  /** Name of the variant; left out if the task has only one. */
  readonly variant?: string;
  /** Name of the pool; left out if there is only one. */
  readonly pool?: string;
  /** Time of a full batch. */
  readonly latencyMs: number;
  /** Throughput of all instances, with full batches. */
  readonly throughputQps: number;
  readonly loadQps: number;
  /** Load over throughput. */
  readonly utilisation: number;
  /** Share of the SLO for processing a full batch. */
  readonly sloShare: number;
}

interface SolveView extends Omit<ScaleReport, "bindingTask"> {
  /** Name of the task. */
  readonly bindingTask: string | null;
}

type Frame = Pick<ThemisBundle, "tasks" | "cluster" | "slo">;

export function plansView(
  bundle: Frame,
  { loadQps, capacityQps, horizontal, vertical, joint, steady }: Omit<ThemisLevel, "solve">,
): PlansView {
  return {
    horizontal: horizontal && planView(bundle, horizontal, loadQps),
    vertical: vertical && planView(bundle, vertical, loadQps),
    joint: joint && planView(bundle, joint, loadQps),
    steady: planView(bundle, steady, capacityQps),
  };
}

/** @param loadQps load that the plan is for. */
export function planView(
  bundle: Frame,
  { cores, latencyMs, stages, expected }: ScalePlan,
  loadQps: number,
): PlanView {
  const views = stages.map((stage, task) => stageView(bundle, stage, task, loadQps));
  const processingMs = longestPathMs(
    bundle,
    views.map((view) => view.latencyMs),
  );
  const { tasks } = bundle;
  const accuracy = hasChoice(tasks) ? { accuracy: planAccuracy(tasks, stages) } : {};
  return { cores, latencyMs, processingMs, stages: views, ...accuracy, expected };
}

function stageView(
  { tasks, slo, cluster }: Frame,
  stage: ScaledStage,
  task: number,
  loadQps: number,
): TaskView {
  const { batch, cores, instances } = stage;
  const { name = "", scaleFactor = 1, variants = [] } = tasks[task] ?? {};
  const variant = variants[stage.variant ?? 0];
  const latencyMs = latencyAt(variant?.latency, batch, cores);
  const throughputQps = (1000 * batch * instances) / latencyMs;
  return {
    task: name,
    ...chosenOf(variants, stage, cluster.pools),
    batch,
    cores,
    instances,
    latencyMs,
    throughputQps,
    loadQps: loadQps * scaleFactor,
    utilisation: (loadQps * scaleFactor) / throughputQps,
    sloShare: latencyMs / slo.latencyMs,
  };
}

/** Returns the variant of a stage, and its pool, if there are several. */
export function chosenOf(
  variants: ThemisBundle["tasks"][number]["variants"],
  { variant = 0 }: { readonly variant?: number | undefined },
  pools: ThemisBundle["cluster"]["pools"],
): Pick<TaskView, "variant" | "pool"> {
  const { name = "", pool = 0 } = variants[variant] ?? {};
  const names = new Set(variants.map((one) => one.name));
  return {
    ...(names.size > 1 ? { variant: name } : {}),
    ...(pools.length > 1 ? { pool: pools[pool]?.name ?? "" } : {}),
  };
}

/** Returns the same as text: empty if there is only one. */
export function chosenText(
  variants: ThemisBundle["tasks"][number]["variants"],
  stage: Pick<ScaledStage, "variant">,
  pools: ThemisBundle["cluster"]["pools"],
): string {
  const { variant, pool } = chosenOf(variants, stage, pools);
  const parts = [variant ?? [], pool === undefined ? [] : `on ${pool}`].flat();
  return parts.length === 0 ? "" : `${parts.join(" ")} `;
}

/** Returns the time of a batch on so many cores, ms; NaN outside the table. */
export function latencyAt(
  latency: LatencyByCores | undefined,
  batch: number,
  cores: number,
): number {
  const [maxCores = 0, maxBatch = 0] = latency?.ms.shape ?? [];
  if (batch < 1 || batch > maxBatch || cores < 1 || cores > maxCores) return Number.NaN;
  return latency?.ms.data[(cores - 1) * maxBatch + batch - 1] ?? Number.NaN;
}

export function solveView(
  { tasks }: Pick<ThemisBundle, "tasks">,
  { bindingTask, ...solve }: ScaleReport,
): SolveView {
  return { ...solve, bindingTask: bindingTask === null ? null : (tasks[bindingTask]?.name ?? "") };
}
