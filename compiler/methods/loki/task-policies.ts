/**
 * RAMSIS inside Loki: for a task of a plan, a table that chooses the variant of each batch within
 * the task's time and servers.
 */
import type {
  PipelineTask,
  RamsisLevel,
  StagePolicy,
} from "stratagem-runtime/internal/bundle/schema";
import { pathTo } from "../../graph/flat-tasks.ts";
import type { LokiFrame, RamsisFrame } from "../../model/frames.ts";
import type { ModelFiles } from "../../model/model-files.ts";
import type { Application, Pool, RamsisPolicy, Variant } from "../../spec/application.ts";
import type { Mistake } from "../../spec/document/mistakes.ts";
import type { PlannedLevel } from "./solve/loki.ts";
import { pipelineProblem } from "./solve/problem.ts";

/** Largest queue with its own row, if profiles have batches as large. */
const MAX_QUEUE = 32;
const SLACK_STEPS = 100;

/** Makes a table for one task, with another method. */
export interface TaskSolver {
  mistakes(application: Application<RamsisPolicy>): Iterable<Mistake>;
  frame(application: Application<RamsisPolicy>, models: ModelFiles): RamsisFrame;
  solveLevel(frame: RamsisFrame, loadQps: number): RamsisLevel;
}

/**
 * Makes a table for each task that can have one.
 * @returns tables in the order of the tasks, null for a task without; null if no task has one.
 */
export function taskPoliciesOf(
  solver: TaskSolver,
  frame: LokiFrame,
  planned: PlannedLevel,
): (StagePolicy | null)[] | null {
  if (frame.policy.stagePolicy === "fixed") return null;
  const stages = frame.tasks.map((_, task) => stagePolicyOf(solver, frame, planned, task));
  return stages.every((stage) => stage === null) ? null : stages;
}

function stagePolicyOf(
  solver: TaskSolver,
  frame: LokiFrame,
  planned: PlannedLevel,
  index: number,
): StagePolicy | null {
  const task = frame.tasks[index];
  const instances = planned.plan.instances.filter((instance) => instance.task === index);
  const [first] = instances;
  if (task === undefined || first === undefined) return null;
  const isOnePool = instances.every(({ pool }) => pool === first.pool);
  const pool = frame.cluster.pools[first.pool];
  if (!isOnePool || pool === undefined || !mayChoose(task, first.pool)) return null;
  const workers = instances.reduce((sum, { replicas }) => sum + replicas, 0);
  const budgetMs = budgetOf(frame, planned, index);
  const demandQps = demandOf(frame, planned, index);
  const before = task.parent === null ? demandQps : demandOf(frame, planned, task.parent);
  const application = stageApplication(frame, task, {
    pool: { ...pool, workers },
    poolIndex: first.pool,
    budgetMs,
    demandQps,
    burst: Math.max(1, demandQps / before),
  });
  if ([...solver.mistakes(application)].length > 0) return null;
  const stage = solver.frame(application, new Map());
  const level = solver.solveLevel(stage, demandQps);
  const [{ serviceTimes }] = stage.tasks as [(typeof stage.tasks)[number]];
  const { decisionSpace } = stage;
  return { budgetMs, serviceTimes, decisionSpace, actionByState: level.actionByState };
}

/**
 * The plan for the tasks after a task holds for any choice there only if all its variants send on
 * the same number of queries.
 */
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

/**
 * The task's part of the SLO, by its part of the execution time of the slowest path through it, ms.
 */
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
    const path = pathTo(tasks, leaf.task);
    if (!path.includes(task)) continue;
    const availableMs = slo.latencyMs - path.length * cluster.communicationLatencyMs;
    const othersMs = path.reduce((sum, at) => sum + (at === task ? 0 : (latencyMs[at] ?? 0)), 0);
    budgetMs = Math.min(budgetMs, availableMs - othersMs);
  }
  return budgetMs;
}

/** Queries per second that the plan sends to a task. */
function demandOf(frame: LokiFrame, { plan }: PlannedLevel, task: number): number {
  const { tasks } = pipelineProblem(frame);
  const { instances, nodes, demandQps } = plan;
  /** Queries of a request at each node, if it takes the path there. */
  const multiplicity: number[] = [];
  let demand = 0;
  for (const { parent, instance, ratio } of nodes) {
    const own = instances[instance]?.task ?? -1;
    const by = parent === null ? undefined : instances[nodes[parent]?.instance ?? -1];
    const before = by === undefined ? undefined : tasks[by.task];
    const fanouts = before?.variants[by?.variant ?? -1]?.fanouts;
    const perQuery = fanouts?.[before?.children.indexOf(own) ?? -1] ?? tasks[own]?.entryShare ?? 0;
    const count = (parent === null ? 1 : (multiplicity[parent] ?? 0)) * perQuery;
    multiplicity.push(count);
    if (own === task) demand += demandQps * ratio * count;
  }
  return demand;
}

interface StageSetting {
  /** Its workers are the servers of the task. */
  readonly pool: Pool;
  readonly poolIndex: number;
  readonly budgetMs: number;
  readonly demandQps: number;
  /** Queries that arrive together: those of one batch of the task before. */
  readonly burst: number;
}

function stageApplication(
  { slo }: LokiFrame,
  { name, variants }: PipelineTask,
  { pool, poolIndex, budgetMs, demandQps, burst }: StageSetting,
): Application<RamsisPolicy> {
  const profiles = variants.map((variant) => variant.profiles[poolIndex]);
  const largest = profiles.map((profile) => profile?.serviceTimes.decisionMs.shape[1] ?? 1);
  return {
    name,
    // One table per stage: a separate ceiling would need two.
    slo: { ...slo, latencyMs: budgetMs, maxViolationRate: null },
    // Queries in bursts vary like gamma arrivals with a squared coefficient of variation of the
    // burst size.
    arrivals: burst > 1 ? { process: "gamma", cv2: burst } : { process: "poisson" },
    loads: { kind: "list", qps: [demandQps] },
    cluster: { communicationLatencyMs: 0, pools: [pool] },
    tasks: [
      {
        name,
        passThrough: false,
        variants: variants.map((variant) => stageVariant(variant, poolIndex)),
        to: [],
        branch: "independent",
      },
    ],
    policy: {
      method: "ramsis",
      objective: "per-query",
      discretization: { kind: "fixed", steps: SLACK_STEPS },
      batching: "maximal",
      maxQueue: Math.min(MAX_QUEUE, ...largest),
      extrapolate: false,
      balancer: "pooled",
      serviceTimes: "p95",
      drop: false,
      lateWithinSlos: null,
    },
  };
}

function stageVariant(
  { name, accuracy, profiles }: PipelineTask["variants"][number],
  pool: number,
): Variant {
  const measured = profiles[pool];
  if (measured == null) throw new RangeError("variant without a profile for the pool");
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
    layers: null,
    speedups: null,
  };
  return { name, accuracy, profile, profiles: [profile], model: null, fanout: null };
}
