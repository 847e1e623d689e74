/** Plans every task separately: Proteus as Loki §6.1 compares with it. */
import {
  type Instance,
  type Leaf,
  type PathNode,
  type PipelinePlan,
  type PipelineProblem,
  pathAccuracy,
} from "../../../../model/pipeline.ts";
import { fanoutTo } from "../plan/column-pool.ts";
import { type PlanOptions, searchLimits } from "../plan/plan-options.ts";
import type { SearchLimits } from "../plan/search.ts";
import { slotModel } from "../plan/slots.ts";
import { highestDemand, mostAccuratePlan, planOfStep } from "../plan/step.ts";

/** Enough rounds for the demands of tasks to settle, or to cycle. */
const MAX_ROUNDS = 20;
const NODE_LIMIT = 500;
const DEMAND_TOLERANCE = 1e-9;

/**
 * Proteus as Loki §6.1 compares with it: it scales the accuracy of every task separately, without
 * knowledge of the pipeline.
 *
 * Our reading: one program over all tasks maximises the sum of their accuracies, each per query of
 * the task, with all servers. A task's latency limit is an equal part of the tightest deepest path
 * through it. Its demand is the observed one: the queries that the variants in use before it send,
 * so the plan is iterated from the fan-outs of the most accurate variants, as a periodic controller
 * would. If the demands cannot be served, the plan is for the largest fraction of them that can.
 * Spare servers become replicas of the busiest.
 *
 * Requests are routed at each task by its shares, independently of the tasks before: a path may be
 * later than the pipeline allows, and a task may get more queries than it has capacity for.
 * @returns null if a task has no variant within its part of the SLO.
 */
export function proteusPlan(
  problem: PipelineProblem,
  demandQps: number,
  options: Omit<PlanOptions, "solver">,
): PipelinePlan | null {
  const accurate = problem.tasks.map(({ variants }) => {
    const best = Math.max(...variants.map(({ accuracy }) => accuracy));
    const first = variants.findIndex(({ accuracy }) => accuracy === best);
    return variants.map((_, variant) => (variant === first ? 1 : 0));
  });
  const limits = searchLimits(options, NODE_LIMIT);
  let queries = queriesPerRequest(problem, accurate);
  let plan: PipelinePlan | null = null;
  for (let round = 0; round < MAX_ROUNDS; round++) {
    plan = separatePlan(separated(problem, queries), demandQps, limits);
    if (plan === null) return null;
    const next = queriesPerRequest(problem, sharesByVariant(problem, plan));
    const isSettled = next.every(
      (value, task) => Math.abs(value - (queries[task] ?? 0)) <= DEMAND_TOLERANCE * (1 + value),
    );
    if (isSettled) break;
    queries = next;
  }
  if (plan === null) return null;
  const demands = queries.map((perRequest) => perRequest * demandQps);
  const instances = withSpareServers(problem, plan, demands);
  return routed(problem, plan, instances);
}

/** Every task as a separate pipeline, all on the same servers. */
function separated(problem: PipelineProblem, queries: readonly number[]): PipelineProblem {
  const tasks = problem.tasks.map((task, index) => ({
    ...task,
    parent: null,
    children: [],
    entryShare: queries[index] ?? 0,
    variants: task.variants.map((variant) => ({ ...variant, fanouts: [] })),
  }));
  const leaves = tasks.map(
    ({ variants }, task): Leaf => ({
      task,
      weight: 1 / tasks.length,
      path: [task],
      latencyLimitMs: partOfLimit(problem, task),
      accuracyByPath: Float64Array.from(variants, ({ accuracy }) => accuracy),
    }),
  );
  return { ...problem, tasks, leaves };
}

function partOfLimit({ leaves }: PipelineProblem, task: number): number {
  const through = leaves.filter(({ path }) => path.includes(task));
  const deepest = Math.max(...through.map(({ path }) => path.length));
  const limits = through.map(({ path, latencyLimitMs }) =>
    path.length === deepest ? latencyLimitMs / deepest : Number.POSITIVE_INFINITY,
  );
  return Math.min(...limits);
}

function separatePlan(
  problem: PipelineProblem,
  demandQps: number,
  limits: SearchLimits,
): PipelinePlan | null {
  const model = slotModel(problem);
  return (
    planOfStep(mostAccuratePlan(model, demandQps, limits)) ??
    planOfStep(highestDemand(model, limits))
  );
}

/**
 * Mean queries of each task per request if every task splits its queries among its variants in this
 * way.
 */
function queriesPerRequest(
  problem: PipelineProblem,
  shares: readonly (readonly number[])[],
): number[] {
  const queries: number[] = [];
  for (const [index, { parent, entryShare }] of problem.tasks.entries()) {
    const fanouts = shares[parent ?? -1]?.map(
      (share, variant) => share * fanoutTo(problem, parent ?? 0, index, variant),
    );
    const before = queries[parent ?? -1] ?? 0;
    queries.push(fanouts === undefined ? entryShare : before * fanouts.reduce((a, b) => a + b, 0));
  }
  return queries;
}

function sharesByVariant(
  { tasks }: PipelineProblem,
  { instances, nodes }: PipelinePlan,
): number[][] {
  const shares = tasks.map(({ variants }) => variants.map(() => 0));
  for (const { instance, ratio } of nodes) {
    const { task, variant } = instances[instance] ?? { task: 0, variant: 0 };
    const own = shares[task];
    if (own !== undefined) own[variant] = (own[variant] ?? 0) + ratio;
  }
  return shares;
}

/**
 * Gives each idle server of a pool to the instance that is busiest at its demand; ties to the
 * first.
 */
function withSpareServers(
  { tasks, servers }: PipelineProblem,
  { instances, nodes }: PipelinePlan,
  demands: readonly number[],
): Instance[] {
  const configurationOf = ({ task, variant, configuration }: Instance) =>
    tasks[task]?.variants[variant]?.configurations[configuration];
  const grown = instances.map((instance) => ({ ...instance }));
  const oneServer = instances.map((instance, index) => {
    const ratio = nodes.reduce((sum, node) => sum + (node.instance === index ? node.ratio : 0), 0);
    const demand = ratio * (demands[instance.task] ?? 0);
    return demand / (configurationOf(instance)?.throughputQps ?? 1);
  });
  for (const [pool, count] of servers.entries()) {
    const members = grown.flatMap((instance, index) =>
      configurationOf(instance)?.pool === pool ? [{ instance, load: oneServer[index] ?? 0 }] : [],
    );
    const used = members.reduce((sum, { instance }) => sum + instance.replicas, 0);
    for (let spare = count - used; spare > 0 && members.length > 0; spare--) {
      const busiest = members.reduce((most, one) =>
        one.load / one.instance.replicas > most.load / most.instance.replicas ? one : most,
      );
      busiest.instance.replicas++;
    }
  }
  return grown;
}

/** The plan in which every task routes by its own shares. */
function routed(
  problem: PipelineProblem,
  { nodes: shares }: PipelinePlan,
  instances: readonly Instance[],
): PipelinePlan {
  const { tasks, leaves } = problem;
  const nodes: PathNode[] = [];
  const pathOf: { readonly task: number; readonly variants: readonly number[] }[] = [];
  let accuracy = 0;
  for (const [task, { parent }] of tasks.entries()) {
    const own = shares.filter(({ instance }) => instances[instance]?.task === task);
    const befores = parent === null ? [null] : indicesOf(pathOf, parent);
    const leaf = leaves.find((one) => one.task === task);
    for (const before of befores) {
      for (const { instance, ratio } of own) {
        const variantsBefore = pathOf[before ?? -1]?.variants ?? [];
        const variants = [...variantsBefore, instances[instance]?.variant ?? 0];
        const node = {
          parent: before,
          instance,
          ratio: ratio * (before === null ? 1 : (nodes[before]?.ratio ?? 0)),
        };
        nodes.push(node);
        pathOf.push({ task, variants });
        if (leaf === undefined) continue;
        accuracy += node.ratio * leaf.weight * pathAccuracy(problem, leaf, variants);
      }
    }
  }
  const servers = instances.reduce((sum, { replicas }) => sum + replicas, 0);
  return { instances, nodes, accuracy, servers };
}

function indicesOf(steps: readonly { readonly task: number }[], task: number): number[] {
  return steps.flatMap((step, index) => (step.task === task ? [index] : []));
}
