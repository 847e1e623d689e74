/** Checks a Loki bundle so that its plans can be followed without further checks. */

import { MAX_PIPELINE_WORKERS, MAX_QUERIES_PER_REQUEST } from "../../../bundle/limits.ts";
import { checkProfile } from "../../../bundle/profile-semantics.ts";
import type {
  Leaf,
  LokiBundle,
  LokiLevel,
  PipelinePlan,
  PipelineTask,
  PlannedInstance,
  StagePolicy,
} from "../../../bundle/schema.ts";
import { checkMargin } from "../../../bundle/serving-semantics.ts";
import { checkRequests, checkSeats, checkWorkers } from "../../../bundle/size-semantics.ts";
import {
  batchByActionOf,
  checkActions,
  checkAscending,
  checkAscendingPaces,
  checkModel,
  checkServiceTimes,
  checkShape,
  checkSlacks,
  checkTable,
  checkUnique,
  refuse,
} from "../../../bundle/table-semantics.ts";

/** Rounding of sums of shares. */
const TOLERANCE = 1e-6;

/** @throws BundleError BUNDLE_SEMANTICS at the first contradiction. */
export function checkLokiSemantics(bundle: LokiBundle): void {
  const { tasks, leaves, levels, cluster } = bundle;
  const workers = checkWorkers(cluster, MAX_PIPELINE_WORKERS);
  checkMargin(cluster, bundle.slo);
  checkUnique(tasks, "tasks");
  const childCounts = childCountsOf(tasks);
  for (const [index, task] of tasks.entries()) {
    checkTask(task, childCounts[index] ?? 0, cluster.pools.length, `tasks[${index}]`);
  }
  checkSeats(workers, largestBatchOf(tasks), "batches");
  checkFanouts(tasks);
  checkLeaves(leaves, tasks, childCounts);
  checkAscending(levels);
  for (const [index, level] of levels.entries()) {
    const path = `levels[${index}]`;
    if (level.feasible && level.loadQps > level.capacityQps) {
      refuse(`${path}.feasible`, "true", `true only up to ${level.capacityQps} qps`);
    }
    checkRequests(level.loadQps, level.expected.durationMs, `${path}.expected.durationMs`);
    checkPlan(level.plan, bundle, `${path}.plan`);
    checkStages(level, bundle, `${path}.stages`);
  }
  const { paceLevels = [] } = bundle;
  checkAscendingPaces(paceLevels);
  for (const [index, { plan }] of paceLevels.entries()) {
    checkPlan(plan, bundle, `paceLevels[${index}].plan`);
  }
}

function largestBatchOf(tasks: readonly PipelineTask[]): number {
  const variants = tasks.flatMap((task) => task.variants);
  const profiles = variants.flatMap((variant) => variant.profiles);
  return profiles.reduce((most, profile) => Math.max(most, profile?.batches.data.at(-1) ?? 0), 0);
}

/**
 * Checks the queries of one request at all tasks together, with the largest fan-outs of variants.
 */
function checkFanouts(tasks: readonly PipelineTask[]): void {
  const ordinals = tasks.map(() => 0);
  const queries: number[] = [];
  for (const { parent, entryShare } of tasks) {
    if (parent === null) {
      queries.push(entryShare);
      continue;
    }
    const ordinal = ordinals[parent] ?? 0;
    ordinals[parent] = ordinal + 1;
    const fanouts = (tasks[parent]?.variants ?? []).map((variant) => variant.fanouts[ordinal] ?? 0);
    queries.push((queries[parent] ?? 0) * Math.max(...fanouts));
  }
  const sum = queries.reduce((total, each) => total + each, 0);
  if (sum <= MAX_QUERIES_PER_REQUEST) return;
  refuse("tasks", `${sum} queries of a request`, `at most ${MAX_QUERIES_PER_REQUEST} at all tasks`);
}

function childCountsOf(tasks: readonly PipelineTask[]): number[] {
  const counts = tasks.map(() => 0);
  for (const [index, { parent, feed, entryShare }] of tasks.entries()) {
    const path = `tasks[${index}]`;
    if (parent === null) {
      if (feed !== null) refuse(`${path}.feed`, "a feed", "null, since no task is before it");
      continue;
    }
    if (parent >= index) refuse(`${path}.parent`, parent, "the index of an earlier task");
    if (entryShare !== 1) refuse(`${path}.entryShare`, entryShare, "1, since it is no entry");
    counts[parent] = (counts[parent] ?? 0) + 1;
  }
  return counts;
}

function checkTask(
  { variants }: PipelineTask,
  childCount: number,
  poolCount: number,
  path: string,
): void {
  checkUnique(variants, `${path}.variants`);
  for (const [index, { fanouts, profiles, model }] of variants.entries()) {
    const at = `${path}.variants[${index}]`;
    if (fanouts.length !== childCount) {
      refuse(`${at}.fanouts.length`, fanouts.length, `${childCount}, one per task that follows`);
    }
    if (profiles.length !== poolCount) {
      refuse(`${at}.profiles.length`, profiles.length, `${poolCount}, one per pool`);
    }
    checkModel(model, `${at}.model`);
    for (const [pool, profile] of profiles.entries()) {
      if (profile !== null) checkProfile(profile, `${at}.profiles[${pool}]`);
    }
  }
}

function checkLeaves(
  leaves: readonly Leaf[],
  tasks: readonly PipelineTask[],
  childCounts: readonly number[],
): void {
  const leafTasks = childCounts.flatMap((count, task) => (count === 0 ? [task] : []));
  const found = leaves.map(({ task }) => task);
  if (found.join() !== leafTasks.join()) {
    refuse("leaves", `tasks ${found}`, `tasks ${leafTasks}, those that no task follows`);
  }
  const weight = leaves.reduce((sum, leaf) => sum + leaf.weight, 0);
  if (!(Math.abs(weight - 1) <= TOLERANCE)) refuse("leaves", `weights of ${weight}`, "a sum of 1");
  for (const [index, { task, accuracyByPath }] of leaves.entries()) {
    if (accuracyByPath === null) continue;
    const shape: number[] = [];
    for (let at: number | null = task; at !== null; at = tasks[at]?.parent ?? null) {
      shape.unshift(tasks[at]?.variants.length ?? 0);
    }
    const path = `leaves[${index}].accuracyByPath`;
    checkShape(accuracyByPath, shape, path);
    accuracyByPath.data.forEach((accuracy, cell) => {
      if (!(accuracy >= 0 && accuracy <= 1)) {
        refuse(`${path}.data[${cell}]`, accuracy, "an accuracy from 0 to 1");
      }
    });
  }
}

function checkPlan(plan: PipelinePlan, bundle: LokiBundle, path: string): void {
  const { pools } = bundle.cluster;
  const serversByPool = pools.map(() => 0);
  for (const [index, instance] of plan.instances.entries()) {
    checkInstance(instance, bundle, `${path}.instances[${index}]`);
    serversByPool[instance.pool] = (serversByPool[instance.pool] ?? 0) + instance.replicas;
  }
  const servers = serversByPool.reduce((sum, count) => sum + count, 0);
  if (plan.servers !== servers) refuse(`${path}.servers`, plan.servers, `${servers}, the replicas`);
  for (const [pool, count] of serversByPool.entries()) {
    const workers = pools[pool]?.workers ?? 0;
    if (count > workers) {
      refuse(`${path}.instances`, `${count} replicas in pool ${pool}`, `at most ${workers}`);
    }
  }
  checkNodes(plan, bundle, path);
}

function checkInstance(
  { task, variant, pool, batch }: PlannedInstance,
  { tasks }: LokiBundle,
  path: string,
): void {
  const of = tasks[task];
  if (of === undefined) refuse(`${path}.task`, task, "the index of a task");
  const profiles = of.variants[variant]?.profiles;
  if (profiles === undefined) refuse(`${path}.variant`, variant, "the index of a variant");
  const profile = profiles[pool];
  if (profile === undefined || profile === null) {
    refuse(`${path}.pool`, pool, "the index of a pool the variant has a profile for");
  }
  const maxBatch = profile.batches.data[profile.batches.data.length - 1] ?? 0;
  if (batch > maxBatch) refuse(`${path}.batch`, batch, `at most ${maxBatch}, as profiled`);
}

/**
 * Checks that every task's nodes carry all requests, and the children of a node all of its
 * requests.
 */
function checkNodes({ instances, nodes }: PipelinePlan, { tasks }: LokiBundle, at: string): void {
  const path = `${at}.nodes`;
  const shareByTask = tasks.map(() => 0);
  const shareByChild = nodes.map(() => new Map<number, number>());
  for (const [index, { parent, instance, ratio }] of nodes.entries()) {
    const task = instances[instance]?.task;
    if (task === undefined) {
      refuse(`${path}[${index}].instance`, instance, "the index of an instance");
    }
    const before = parent === null ? null : nodes[parent];
    if (before === undefined || (parent !== null && parent >= index)) {
      refuse(`${path}[${index}].parent`, parent ?? "null", "the index of an earlier node");
    }
    const taskBefore = before === null ? null : (instances[before.instance]?.task ?? null);
    if (taskBefore !== tasks[task]?.parent) {
      refuse(`${path}[${index}].parent`, parent ?? "null", "a node of the task before");
    }
    shareByTask[task] = (shareByTask[task] ?? 0) + ratio;
    const shares = parent === null ? undefined : shareByChild[parent];
    shares?.set(task, (shares.get(task) ?? 0) + ratio);
  }
  for (const [task, share] of shareByTask.entries()) {
    if (!(Math.abs(share - 1) <= TOLERANCE)) {
      refuse(path, `${share} of the requests at task ${task}`, "all of them");
    }
  }
  for (const [index, shares] of shareByChild.entries()) {
    for (const [task, share] of shares) {
      const { ratio } = nodes[index] ?? { ratio: Number.NaN };
      if (!(Math.abs(share - ratio) <= TOLERANCE)) {
        refuse(`${path}[${index}]`, `${share} going on to task ${task}`, `${ratio}, its ratio`);
      }
    }
  }
}

function checkStages({ stages }: LokiLevel, { tasks }: LokiBundle, path: string): void {
  if (stages === null) return;
  if (stages.length !== tasks.length) {
    refuse(`${path}.length`, stages.length, `${tasks.length}, one per task`);
  }
  for (const [index, stage] of stages.entries()) {
    const variantCount = tasks[index]?.variants.length ?? 0;
    if (stage !== null) checkStage(stage, variantCount, `${path}[${index}]`);
  }
}

function checkStage(
  { budgetMs, serviceTimes, decisionSpace, actionByState }: StagePolicy,
  variantCount: number,
  path: string,
): void {
  const { slackMs, actions } = decisionSpace;
  checkServiceTimes(serviceTimes, variantCount, `${path}.serviceTimes`);
  checkSlacks(slackMs, budgetMs, `${path}.decisionSpace.slackMs`, `${path}.budgetMs`);
  checkActions(actions, serviceTimes, `${path}.decisionSpace.actions`);
  const rule = { isMaximal: false, mayWait: true };
  const batchByAction = batchByActionOf(actions);
  checkTable(actionByState, decisionSpace, batchByAction, rule, `${path}.actionByState`);
}
