/** RAMSIS inside Loki: for a task of a plan, a table that chooses the variant of each batch within the task's time and servers. */
import type { PipelineTask, PlannedInstance, StagePolicy } from "../runtime/bundle/schema.ts";
import { SOLVERS } from "./solvers/registry.ts";
import type { LokiFrame, PlannedLevel } from "./solvers/solver.ts";
import type { Application, Pool, Variant } from "./spec/application.ts";

/** Largest batch a table decides about. */
const MAX_BATCH = 32;
const SLACK_STEPS = 100;

/** In the order of the tasks, null for one that gets none; null if none does. */
export function stagePoliciesOf(
  frame: LokiFrame,
  planned: PlannedLevel,
): (StagePolicy | null)[] | null {
  if (frame.policy.stagePolicy === "fixed") return null;
  const stages = frame.tasks.map((_, task) => stagePolicyOf(frame, planned, task));
  return stages.every((stage) => stage === null) ? null : stages;
}

function stagePolicyOf(frame: LokiFrame, planned: PlannedLevel, index: number): StagePolicy | null {
  const task = frame.tasks[index];
  const instances = planned.plan.instances.filter((instance) => instance.task === index);
  const [first] = instances;
  if (task === undefined || first === undefined) return null;
  const isOnePool = instances.every(({ pool }) => pool === first.pool);
  const pool = frame.cluster.pools[first.pool];
  if (!isOnePool || pool === undefined || !mayChoose(task, first.pool)) return null;
  const workers = instances.reduce((sum, { replicas }) => sum + replicas, 0);
  const budgetMs = budgetOf(frame, planned, index);
  const application = stageApplication(frame, task, { ...pool, workers }, first.pool, budgetMs);
  if ([...SOLVERS.ramsis.mistakes(application)].length > 0) return null;
  const stage = SOLVERS.ramsis.frame(application, new Map());
  const level = SOLVERS.ramsis.solveLevel(stage, demandOf(frame, planned, index));
  const [{ serviceTimes }] = stage.tasks as [(typeof stage.tasks)[number]];
  const { decisionSpace } = stage;
  return { budgetMs, serviceTimes, decisionSpace, actionByState: level.actionByState };
}

/** The plan of what comes after a task holds for any choice there only if all its variants send on the same number of queries. */
function mayChoose({ variants }: PipelineTask, pool: number): boolean {
  const [first] = variants;
  return (
    variants.length > 1 &&
    variants.every(
      ({ fanouts, profiles }) =>
        profiles[pool] != null &&
        fanouts.every((fanout, child) => fanout === first?.fanouts[child]),
    )
  );
}

/** The task's part of the SLO, by its part of the execution time of the slowest path through it, ms. */
function budgetOf(
  { tasks, slo, cluster, leaves }: LokiFrame,
  { plan }: PlannedLevel,
  task: number,
) {
  const latencyMs = tasks.map((_, at) =>
    Math.max(...plan.instances.filter((own) => own.task === at).map((own) => own.latencyMs)),
  );
  let budgetMs = Number.POSITIVE_INFINITY;
  for (const leaf of leaves) {
    const path: number[] = [];
    for (let at: number | null = leaf.task; at !== null; at = tasks[at]?.parent ?? null)
      path.push(at);
    if (!path.includes(task)) continue;
    const availableMs = slo.latencyMs - path.length * cluster.communicationLatencyMs;
    const wholeMs = path.reduce((sum, at) => sum + (latencyMs[at] ?? 0), 0);
    budgetMs = Math.min(budgetMs, (availableMs * (latencyMs[task] ?? 0)) / wholeMs);
  }
  return budgetMs;
}

/** Queries per second that the plan sends to a task. */
function demandOf({ tasks }: LokiFrame, { plan }: PlannedLevel, task: number): number {
  const { instances, nodes, demandQps } = plan;
  const multiplicity: number[] = [];
  let demand = 0;
  for (const { parent, instance, ratio } of nodes) {
    const own = instances[instance] as PlannedInstance;
    const before = parent === null ? undefined : nodes[parent];
    const by = before === undefined ? undefined : instances[before.instance];
    const siblings = tasks.flatMap((candidate, at) =>
      candidate.parent === tasks[own.task]?.parent ? [at] : [],
    );
    const fanout =
      by === undefined
        ? (tasks[own.task]?.entryShare ?? 1)
        : (tasks[by.task]?.variants[by.variant]?.fanouts[siblings.indexOf(own.task)] ?? 0);
    multiplicity.push((parent === null ? 1 : (multiplicity[parent] ?? 0)) * fanout);
    if (own.task === task) demand += demandQps * ratio * (multiplicity.at(-1) ?? 0);
  }
  return demand;
}

function stageApplication(
  { slo }: LokiFrame,
  { name, variants }: PipelineTask,
  pool: Pool,
  poolIndex: number,
  budgetMs: number,
): Application {
  return {
    name,
    slo: { ...slo, latencyMs: budgetMs },
    arrivals: { process: "poisson" },
    loads: { kind: "list", qps: [1] },
    cluster: { communicationLatencyMs: 0, pools: [pool] },
    tasks: [
      {
        name,
        passThrough: false,
        variants: variants.map((variant) => stageVariant(variant, poolIndex)),
        to: [],
      },
    ],
    policy: {
      method: "ramsis",
      objective: "per-query",
      discretization: { kind: "fixed", steps: SLACK_STEPS },
      batching: "maximal",
      maxQueue: MAX_BATCH,
      balancer: "pooled",
      serviceTimes: "p95",
      drop: false,
    },
  };
}

function stageVariant(
  { name, accuracy, profiles }: PipelineTask["variants"][number],
  pool: number,
): Variant {
  const measured = profiles[pool];
  if (measured == null) throw new RangeError("every variant has a profile for the pool");
  const profile = {
    ...measured.profile,
    task: null,
    percentile: measured.serviceTimes.percentile,
    rows: Array.from(measured.batches.data, (batch, row) => ({
      batch,
      latencyMs: measured.latencyMs.data[row] ?? Number.NaN,
      quantiles: null,
    })),
    fit: null,
    byCores: null,
  };
  return { name, accuracy, profile, profiles: [profile], model: null, fanout: null };
}
