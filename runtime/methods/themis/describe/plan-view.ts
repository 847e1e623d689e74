/**
 * The plans of a Themis level in the words of its application: tasks by name, and what each task
 * does with its part of the load and of the SLO.
 */
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

/** Each null where there is no plan of the kind. */
export interface PlansView {
  /** Instances of one core. */
  readonly horizontal: PlanView | null;
  /** One instance for each task. */
  readonly vertical: PlanView | null;
  readonly joint: PlanView | null;
  /** The one that is followed. */
  readonly steady: PlanView;
}

interface PlanView {
  readonly cores: number;
  /** Of the longest path by the model: processing, queueing and hops. */
  readonly latencyMs: number;
  /** Of the longest path if nothing waits, hops included. */
  readonly processingMs: number;
  /** In the order of the tasks. */
  readonly stages: readonly TaskView[];
  /** Of the answers, by the variants; left out where there are none to choose among. */
  readonly accuracy?: number;
  readonly expected: ScaleExpected;
}

export interface TaskView extends Omit<ScaledStage, "variant"> {
  readonly task: string;
  /** By name; left out where the task has one. */
  readonly variant?: string;
  /** By name; left out where there is one. */
  readonly pool?: string;
  /** Of a whole batch. */
  readonly latencyMs: number;
  /** Of all instances, with whole batches. */
  readonly throughputQps: number;
  /** Of the load, what reaches the task. */
  readonly loadQps: number;
  /** Load over throughput. */
  readonly utilisation: number;
  /** Of a whole batch's processing, in the SLO. */
  readonly sloShare: number;
}

interface SolveView extends Omit<ScaleReport, "bindingTask"> {
  /** By name. */
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

/** @param loadQps what the plan is for. */
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

/** The variant of a stage, and its pool, where there are others. */
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

/** The same in one text: nothing where there are no others. */
export function chosenText(
  variants: ThemisBundle["tasks"][number]["variants"],
  stage: Pick<ScaledStage, "variant">,
  pools: ThemisBundle["cluster"]["pools"],
): string {
  const { variant, pool } = chosenOf(variants, stage, pools);
  const parts = [variant ?? [], pool === undefined ? [] : `on ${pool}`].flat();
  return parts.length === 0 ? "" : `${parts.join(" ")} `;
}

/** Of a batch on so many cores, ms; NaN outside the table. */
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
