/** Checks a Themis bundle so that its plans can be followed without further checks. */

import { MAX_MS, MIN_MS } from "../../../bundle/limits.ts";
import {
  followedLevels,
  type LatencyByCores,
  type Pool,
  type RowScopes,
  type ScaledStage,
  type ScaledTask,
  type ScaledVariant,
  type ScalePlan,
  type Table,
  type ThemisBundle,
  type ThemisLevel,
  type ThemisOptions,
} from "../../../bundle/schema.ts";
import { checkMargin } from "../../../bundle/serving-semantics.ts";
import { checkPoolCores, checkSeats, checkWorkers } from "../../../bundle/size-semantics.ts";
import {
  checkBranches,
  checkClose,
  checkEdges,
  checkGathered,
  checkRows,
  TOLERANCE,
} from "../../../bundle/stage-semantics.ts";
import {
  checkAscending,
  checkModel,
  checkNonDecreasing,
  checkShape,
  checkUnique,
  refuse,
} from "../../../bundle/table-semantics.ts";

/** @throws BundleError BUNDLE_SEMANTICS at the first contradiction. */
export function checkThemisSemantics(bundle: ThemisBundle): void {
  const { tasks, levels, policy } = bundle;
  checkWorkers(bundle.cluster);
  checkMargin(bundle.cluster, bundle.slo);
  const cores = checkPoolCores(bundle.cluster);
  const batches = tasks.map(largestBatchOf);
  checkSeats(cores, Math.max(...batches), "batches");
  checkUnique(bundle.cluster.pools, "cluster.pools");
  checkUnique(tasks, "tasks");
  for (const [index, task] of tasks.entries()) {
    const path = `tasks[${index}]`;
    checkEdges(task.edges, index, `${path}.edges`);
    checkVariants(task.variants, bundle.cluster.pools, `${path}.variants`);
    for (const [variant, { model, latency }] of task.variants.entries()) {
      const at = `${path}.variants[${variant}]`;
      checkModel(model, `${at}.model`);
      checkLatency(latency, policy, `${at}.latency`);
      checkGathered(task.edges, latency.ms.shape[1] ?? 0, `${at}.latency`);
    }
  }
  checkBranches(bundle);
  const rows = checkRows(bundle);
  for (const index of tasks.keys()) checkScaleFactor(tasks, index, rows);
  checkAscending(levels);
  for (const [index, level] of levels.entries()) checkLevel(level, bundle, `levels[${index}]`);
  checkPaceLevels(bundle);
  checkTransitions(bundle);
}

function largestBatchOf({ variants }: ScaledTask): number {
  return Math.max(...variants.map(({ latency }) => latency.ms.shape[1] ?? 0));
}

/**
 * Checks that each variant is once in an existing pool, on no more cores than its machines have.
 */
function checkVariants(
  variants: readonly ScaledVariant[],
  pools: readonly Pool[],
  path: string,
): void {
  const seen = new Set<string>();
  for (const [index, { name, pool = 0, latency }] of variants.entries()) {
    const at = `${path}[${index}]`;
    const [maxCores = 0] = latency.ms.shape;
    const found = pools[pool];
    if (found === undefined) refuse(`${at}.pool`, pool, `at most ${pools.length - 1}`);
    const most = pools.length === 1 ? maxCores : (found.cores ?? maxCores);
    if (maxCores > most) refuse(`${at}.latency.ms.shape[0]`, maxCores, `at most ${most}`);
    const key = `${name} ${pool}`;
    const where = pools.length === 1 ? "" : ` in pool ${pool}`;
    if (seen.has(key)) refuse(`${at}.name`, `"${name}" again${where}`, "a name of its own");
    seen.add(key);
  }
}

/**
 * Checks the scale factor. For a join it depends on how often several edges are taken together: at
 * least the most over one edge, at most the sum. A gather passes on anything up to what is
 * gathered.
 */
function checkScaleFactor(
  tasks: readonly ScaledTask[],
  task: number,
  { byTask, scopes }: RowScopes,
): void {
  const { edges, scaleFactor } = tasks[task] ?? { edges: [], scaleFactor: Number.NaN };
  const path = `tasks[${task}].scaleFactor`;
  const parts = edges.map(({ parent, share, fanout = 1, gather }) => {
    const before = parent === null ? 1 : (tasks[parent]?.scaleFactor ?? 0);
    const most = (share * fanout * before) / (typeof gather === "number" ? gather : 1);
    return { least: gather === undefined ? most : 0, most };
  });
  const [only] = parts;
  if (parts.length === 1 && only !== undefined && only.least > 0) {
    checkClose(scaleFactor, only.most, path, "as the shares of the edges say");
    return;
  }
  const entry = scopes[byTask[task] ?? 0]?.entry ?? -1;
  const rows = entry < 0 || entry === task ? Number.POSITIVE_INFINITY : tasks[entry]?.scaleFactor;
  const cap = byTask[task] === 0 ? 1 : (rows ?? 0);
  const least = Math.max(...parts.map((part) => part.least));
  const most = Math.min(
    parts.reduce((total, part) => total + part.most, 0),
    cap,
  );
  if (scaleFactor >= least * (1 - TOLERANCE) && scaleFactor <= most * (1 + TOLERANCE)) return;
  refuse(path, scaleFactor, `${least} to ${most}, as the shares of the edges say`);
}

function checkLatency(
  { ms, points, quantiles }: LatencyByCores,
  policy: Pick<ThemisOptions, "maxBatch" | "maxCores">,
  path: string,
): void {
  const [maxCores = 0, maxBatch = 0] = ms.shape;
  if (maxCores > policy.maxCores || maxBatch > policy.maxBatch) {
    const allowed = `[at most ${policy.maxCores}, at most ${policy.maxBatch}]`;
    refuse(`${path}.ms.shape`, `[${ms.shape}]`, allowed);
  }
  checkNonDecreasing(ms, maxBatch, `${path}.ms`);
  checkPoints(points, [maxCores, maxBatch], `${path}.points`);
  if (quantiles !== undefined) checkQuantiles(quantiles, points, `${path}.quantiles`);
}

/** Checks the quantiles of each point, in their order. */
function checkQuantiles(quantiles: Table, points: Table, path: string): void {
  checkShape(quantiles, [points.shape[0] ?? 0, 4], path);
  for (let at = 0; at < quantiles.data.length; at += 4) {
    const [p50 = 0, p95 = 0, p99 = 0] = quantiles.data.subarray(at);
    if (p50 <= p95 && p95 <= p99) continue;
    refuse(`${path}.data[${at}]`, `${p50}, ${p95}, ${p99}`, "p50 ≤ p95 ≤ p99");
  }
}

/** Checks that points are unique, by ascending cores and batch, within the table. */
function checkPoints(
  points: Table,
  [maxCores, maxBatch]: readonly [number, number],
  path: string,
): void {
  const [pointCount = 0] = points.shape;
  checkShape(points, [pointCount, 3], path);
  let previous = -1;
  for (let point = 0; point < pointCount; point++) {
    const at = 3 * point;
    const batch = points.data[at] ?? 0;
    const cores = points.data[at + 1] ?? 0;
    const ms = points.data[at + 2] ?? 0;
    checkCount(batch, maxBatch, `${path}.data[${at}]`, "a batch size");
    checkCount(cores, maxCores, `${path}.data[${at + 1}]`, "cores");
    // The comparisons also refuse NaN.
    if (!(ms >= MIN_MS && ms <= MAX_MS)) refuse(`${path}.data[${at + 2}]`, ms, "a time above 0");
    const cell = cores * (maxBatch + 1) + batch;
    if (cell <= previous) {
      const found = `batch ${batch} on ${cores} cores`;
      refuse(`${path}.data[${at}]`, found, "ascending cores, and batches for the same cores");
    }
    previous = cell;
  }
}

function checkCount(count: number, most: number, path: string, what: string): void {
  if (Number.isInteger(count) && count >= 1 && count <= most) return;
  refuse(path, count, `${what} from 1 to ${most}`);
}

function checkLevel(level: ThemisLevel, bundle: ThemisBundle, path: string): void {
  const { loadQps, capacityQps, horizontal, vertical, joint, steady } = level;
  checkFeasible(level, bundle, path);
  if (horizontal !== null) checkPlan(horizontal, loadQps, bundle, `${path}.horizontal`);
  if (vertical !== null) checkPlan(vertical, loadQps, bundle, `${path}.vertical`);
  if (joint !== null) checkPlan(joint, loadQps, bundle, `${path}.joint`);
  checkPlan(steady, capacityQps, bundle, `${path}.steady`);
  for (const [index, { cores }] of horizontal?.stages.entries() ?? []) {
    if (cores !== 1) refuse(`${path}.horizontal.stages[${index}].cores`, cores, "1");
  }
  for (const [index, { instances }] of vertical?.stages.entries() ?? []) {
    if (instances !== 1) refuse(`${path}.vertical.stages[${index}].instances`, instances, "1");
  }
  if (bundle.cluster.pools.length === 1) checkJoint(level, bundle.policy, path);
}

/**
 * Checks that each pace level is for a higher load than the one before, relative to the profile.
 */
function checkPaceLevels(bundle: ThemisBundle): void {
  let beforeQps = bundle.levels.at(-1)?.loadQps ?? 0;
  for (const [index, level] of (bundle.paceLevels ?? []).entries()) {
    const { pace, loadQps, capacityQps, steady } = level;
    const path = `paceLevels[${index}]`;
    const profiledQps = loadQps * pace;
    if (!(profiledQps > beforeQps)) {
      refuse(`${path}.loadQps`, loadQps, `more than ${beforeQps / pace}, the level before`);
    }
    if (capacityQps > loadQps) refuse(`${path}.capacityQps`, capacityQps, `at most ${loadQps}`);
    checkPlan(steady, capacityQps * pace, bundle, `${path}.steady`);
    beforeQps = profiledQps;
  }
}

function checkFeasible(level: ThemisLevel, { tasks, policy }: ThemisBundle, path: string): void {
  const { feasible, loadQps, capacityQps, horizontal, vertical, joint, solve } = level;
  if (feasible ? capacityQps !== loadQps : capacityQps >= loadQps) {
    const allowed = `${feasible ? "" : "less than "}${loadQps}, the load`;
    refuse(`${path}.capacityQps`, capacityQps, allowed);
  }
  if (feasible && solve.status === "infeasible") {
    refuse(`${path}.feasible`, "true", "false, as solve.status");
  }
  if (feasible && horizontal === null && vertical === null && joint === null) {
    refuse(`${path}.feasible`, "true", "false, since there is no plan");
  }
  if (policy.queueing === "paper" && solve.quantile !== null) {
    refuse(`${path}.solve.quantile`, solve.quantile, "null with the paper's queueing");
  }
  if (solve.bindingTask !== null && solve.bindingTask >= tasks.length) {
    refuse(`${path}.solve.bindingTask`, solve.bindingTask, "the index of a task");
  }
}

/**
 * Checks that each stage is within its table and fast enough for its load, and all within the pool.
 */
function checkPlan(
  { cores, stages }: ScalePlan,
  loadQps: number,
  { tasks, cluster }: ThemisBundle,
  path: string,
): void {
  if (stages.length !== tasks.length) {
    refuse(`${path}.stages.length`, stages.length, `${tasks.length}, one per task`);
  }
  let sum = 0;
  const byPool = cluster.pools.map(() => 0);
  for (const [index, task] of tasks.entries()) {
    const stage = stages[index];
    if (stage === undefined) continue;
    checkStage(stage, task, loadQps, `${path}.stages[${index}]`);
    const { pool = 0 } = task.variants[stage.variant ?? 0] ?? {};
    sum += stage.cores * stage.instances;
    byPool[pool] = (byPool[pool] ?? 0) + stage.cores * stage.instances;
  }
  if (cores !== sum) refuse(`${path}.cores`, cores, `${sum}, those of the stages`);
  for (const [index, pool] of cluster.pools.entries()) {
    const held = byPool[index] ?? 0;
    const most = poolCores([pool]);
    const whose = cluster.pools.length === 1 ? "those of the pool" : `those of pool ${index}`;
    if (held > most) refuse(`${path}.cores`, held, `at most ${most}, ${whose}`);
  }
}

/** Rates may differ in their last bits, depending on how they were computed. */
function checkStage(
  { batch, cores, instances, variant: index = 0 }: ScaledStage,
  { variants, scaleFactor }: ScaledTask,
  loadQps: number,
  path: string,
): void {
  const variant = variants[index];
  if (variant === undefined) refuse(`${path}.variant`, index, `at most ${variants.length - 1}`);
  const { ms } = variant.latency;
  const [maxCores = 0, maxBatch = 0] = ms.shape;
  checkCount(batch, maxBatch, `${path}.batch`, "a batch size");
  checkCount(cores, maxCores, `${path}.cores`, "cores");
  const latencyMs = ms.data[(cores - 1) * maxBatch + batch - 1] ?? Number.NaN;
  const throughputQps = (1000 * batch * instances) / latencyMs;
  const neededQps = loadQps * scaleFactor;
  const isFastEnough = throughputQps >= neededQps * (1 - TOLERANCE);
  // An infinite one would carry everything.
  if (isFastEnough && Number.isFinite(throughputQps)) return;
  refuse(path, `${throughputQps} qps`, `at least ${neededQps} qps, the load of the task`);
}

/**
 * The exact solver's plan of any kind is the cheapest if waiting is not random; with quantiles
 * chosen by simulations each kind has a quantile of its own.
 */
function checkJoint(
  { horizontal, vertical, joint }: ThemisLevel,
  { solver, queueing }: ThemisOptions,
  path: string,
): void {
  if (solver !== "exact" || queueing !== "paper") return;
  for (const [name, plan] of Object.entries({ horizontal, vertical })) {
    if (plan === null) continue;
    if (joint === null) {
      refuse(`${path}.joint`, "null", `a plan, since the ${name} one is of its kind`);
    }
    if (joint.cores > plan.cores) {
      refuse(`${path}.joint.cores`, joint.cores, `at most ${plan.cores}, as the ${name} plan`);
    }
  }
}

function checkTransitions(bundle: ThemisBundle): void {
  const { tasks, transitions, cluster } = bundle;
  const levels = followedLevels(bundle);
  const path = "transitions";
  checkShape(transitions, [levels.length, levels.length, tasks.length, 3], path);
  const places = poolCores(cluster.pools);
  for (const [row, { steady }] of levels.entries()) {
    const most = tasks.map(({ variants }, task) => {
      const { variant = 0 } = steady.stages[task] ?? {};
      const [cores = 0, batch = 0] = variants[variant]?.latency.ms.shape ?? [];
      return { cores, batch };
    });
    for (let column = 0; column < levels.length; column++) {
      const at = (row * levels.length + column) * tasks.length * 3;
      const taken = checkRow(transitions.data, at, steady.stages, column > row ? most : null);
      if (taken <= places) continue;
      const found = `${taken} instances from level ${row} to ${column}`;
      refuse(path, found, `at most ${places}, one for each core of the pool`);
    }
  }
}

/**
 * Checks a row of transitions.
 * @param most limit for each task; null if the row repeats its plan.
 * @returns instances of all tasks; a number, since there are as many rows as pairs of levels.
 */
function checkRow(
  cells: Table["data"],
  first: number,
  stages: readonly ScaledStage[],
  most: readonly Pick<ScaledStage, "batch" | "cores">[] | null,
): number {
  let taken = 0;
  for (let task = 0; task < stages.length; task++) {
    const stage = stages[task];
    if (stage === undefined) continue;
    const at = first + 3 * task;
    const { batch, cores } = most?.[task] ?? stage;
    checkCell(cells, at, most === null ? stage.batch : 1, batch, "a batch size");
    checkCell(cells, at + 1, stage.cores, cores, "cores");
    if (most === null) checkCell(cells, at + 2, 0, 0, "instances to add");
    taken += stage.instances + (cells[at + 2] ?? 0);
  }
  return taken;
}

function checkCell(
  cells: Table["data"],
  at: number,
  least: number,
  most: number,
  what: string,
): void {
  const value = cells[at] ?? 0;
  if (value >= least && value <= most) return;
  const range = least === most ? `${least}` : `from ${least} to ${most}`;
  refuse(`transitions.data[${at}]`, value, `${what} ${range}`);
}

/** Returns the cores of all workers; a worker without stated cores counts as one. */
function poolCores(pools: readonly Pool[]): number {
  return pools.reduce((sum, { workers, cores }) => sum + workers * (cores ?? 1), 0);
}
