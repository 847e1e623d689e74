/** Solves the two steps of a plan: fewest servers, and highest accuracy. */
import type { PipelinePlan, PipelineProblem } from "../../../../model/pipeline.ts";
import { planOf } from "./build-plan.ts";
import { ColumnPool } from "./column-pool.ts";
import { type NodeBounds, NodeProgram, type NodeSolution, type Objective } from "./node-program.ts";
import { type Point, type SearchGoal, type SearchLimits, search } from "./search.ts";
import type { SlotModel } from "./slots.ts";

/** Result of one search: a plan, and a bound on better ones. */
export interface StepResult {
  readonly model: SlotModel;
  readonly pool: ColumnPool;
  readonly point: Point | null;
  /** Proven upper bound on the worth of any point; -Infinity without points. */
  readonly bound: number;
  readonly nodes: number;
  readonly rows: number;
}

/** Accuracies that differ by less are equal. */
export const ACCURACY_TOLERANCE = 1e-9;
/**
 * The search for the most accurate plan is exact up to this many linear programs; from there on it
 * accepts RELATIVE_GAP.
 */
const EXACT_NODES = 6000;
const RELATIVE_GAP = 1e-3;
/** The plans of large models hardly improve after this many steps, which take a few seconds. */
const LARGE_STEPS = 2e8;
const CAPACITY_GAP = 2e-4;
/** Bound for an unlimited number of servers, as they then only cost. */
const ANY_COUNT = 1e9;

/**
 * Fewest servers that serve the demand, with at least an accuracy.
 * @param above minus the number of servers of a known plan.
 */
export function fewestServers(
  model: SlotModel,
  demandQps: number,
  limits: SearchLimits,
  leastAccuracy: number | null = null,
  above = -ANY_COUNT,
): StepResult {
  const objective = {
    ...noObjective(model),
    serverCost: new Float64Array(model.sets.length).fill(1),
    leastValue: leastAccuracy,
  };
  return run(model, new ColumnPool(model, demandQps), objective, limits, rootOf(model), {
    above,
    isWhole: true,
    isRounded: false,
    isAnyEnough: false,
    gap: () => 0,
    worth: (_, servers) => -(servers[0] ?? 0),
  });
}

/** Highest accuracy at the demand. */
export function mostAccuratePlan(
  model: SlotModel,
  demandQps: number,
  limits: SearchLimits,
): StepResult {
  const objective = { ...noObjective(model), valueScale: 1 };
  const pool = new ColumnPool(model, demandQps);
  return run(model, pool, objective, limits, rootOf(model), {
    above: -1,
    isWhole: false,
    isRounded: true,
    isAnyEnough: false,
    gap: (best, nodes) =>
      nodes > EXACT_NODES ? RELATIVE_GAP * Math.max(0, best) : ACCURACY_TOLERANCE,
    worth: (solution) => accuracyOf(pool, solution),
  });
}

/**
 * Any plan that is more accurate than `above` on at most this many servers.
 * @param pool assignments of earlier searches.
 */
export function planAbove(
  model: SlotModel,
  pool: ColumnPool,
  limits: SearchLimits,
  above: number,
  servers: number,
): StepResult {
  const objective = { ...noObjective(model), valueScale: 1 };
  const root = rootOf(model);
  const bounds = { ...root, upper: new Map(root.upper).set(0, servers) };
  return run(model, pool, objective, limits, bounds, {
    above,
    isWhole: false,
    isRounded: true,
    isAnyEnough: true,
    gap: () => 0,
    worth: (solution) => accuracyOf(pool, solution),
  });
}

/** Highest demand, to 0.02 %. The worth is in units of the demand of the pool. */
export function highestDemand(model: SlotModel, limits: SearchLimits): StepResult {
  const objective = { ...noObjective(model), isDemand: true };
  const pool = new ColumnPool(model, unitQps(model));
  return run(model, pool, objective, limits, rootOf(model), {
    above: 0,
    isWhole: false,
    isRounded: true,
    isAnyEnough: false,
    gap: (best) => CAPACITY_GAP * best,
    worth: (solution) => sharesOfFirstEntry(pool, solution),
  });
}

/**
 * A power of two near the throughput of servers, so that tolerances suit any times: 1 for typical
 * ones.
 */
function unitQps({ slots }: SlotModel): number {
  const most = slots.reduce((rate, { throughputQps }) => Math.max(rate, throughputQps), 0);
  return most > 0 ? 2 ** (20 * Math.round(Math.log2(most) / 20)) : 1;
}

/**
 * Fewest servers of variants beyond those held, at the accuracy and with no more servers than
 * given.
 *
 * @param held servers by group of slots.
 * @param above minus the loads of a known plan.
 */
export function fewestLoads(
  model: SlotModel,
  demandQps: number,
  limits: SearchLimits,
  { accuracy, servers }: { readonly accuracy: number; readonly servers: number },
  held: ReadonlyMap<number, number>,
  above: number,
): StepResult {
  const costOf = (set: number) => {
    const groups = model.sets[set]?.slots.map((id) => model.slots[id]?.group ?? 0) ?? [];
    return groups.every((group) => (held.get(group) ?? 0) === 0) ? 1 : 0;
  };
  const objective = {
    ...noObjective(model),
    serverCost: Float64Array.from(model.sets, (_, set) => costOf(set)),
    leastValue: accuracy - ACCURACY_TOLERANCE,
    held: new Map([...held].filter(([, count]) => count > 0)),
  };
  const root = rootOf(model);
  const bounds = { ...root, upper: new Map(root.upper).set(0, servers) };
  const groups = model.sets.flatMap(({ level }, set) => (level === "group" ? [set] : []));
  return run(model, new ColumnPool(model, demandQps), objective, limits, bounds, {
    above,
    isWhole: true,
    isRounded: false,
    isAnyEnough: false,
    gap: () => 0,
    worth: (_, bySet) =>
      -groups.reduce((sum, set) => sum + Math.max(0, (bySet[set] ?? 0) - (held.get(set) ?? 0)), 0),
  });
}

/** The linear program of a step within bounds, over the assignments of a pool and any others. */
export function flowThrough(
  model: SlotModel,
  pool: ColumnPool,
  kind: "servers" | "accuracy",
  bounds: NodeBounds,
): NodeSolution {
  const serverCost = new Float64Array(model.sets.length).fill(kind === "servers" ? 1 : 0);
  const objective = { ...noObjective(model), serverCost, valueScale: kind === "accuracy" ? 1 : 0 };
  const steps = { left: Number.POSITIVE_INFINITY };
  return new NodeProgram(model, pool, objective, steps).solve(bounds, Number.NEGATIVE_INFINITY);
}

function noObjective(model: SlotModel): Objective {
  const serverCost = new Float64Array(model.sets.length);
  return { valueScale: 0, serverCost, isDemand: false, leastValue: null, held: new Map() };
}

export function rootOf({ problem, slots }: SlotModel): NodeBounds {
  const upper = new Map(problem.servers.map((count, pool) => [1 + pool, count]));
  return { lower: new Map(), upper, isBanned: new Uint8Array(slots.length) };
}

function run(
  model: SlotModel,
  pool: ColumnPool,
  objective: Objective,
  limits: SearchLimits,
  root: NodeBounds,
  goal: SearchGoal,
): StepResult {
  const most = model.isLarge ? Math.min(LARGE_STEPS, limits.steps.left / 2) : limits.steps.left;
  const steps = { left: most };
  const program = new NodeProgram(model, pool, objective, steps);
  const { best, bound, nodes } = search(model, program, root, goal, { ...limits, steps });
  limits.steps.left -= most - steps.left;
  return { model, pool, point: best, bound, nodes, rows: program.rootRowCount };
}

function accuracyOf(pool: ColumnPool, { columns, shares }: NodeSolution): number {
  return columns.reduce(
    (sum, column, at) => sum + (shares[at] ?? 0) * (pool.value[column] ?? 0),
    0,
  );
}

function sharesOfFirstEntry(pool: ColumnPool, { columns, shares }: NodeSolution): number {
  return columns.reduce(
    (sum, column, at) => sum + (pool.entry[column] === 0 ? (shares[at] ?? 0) : 0),
    0,
  );
}

export function planOfStep({ model, pool, point }: StepResult): PipelinePlan | null {
  return point === null ? null : planOf(model, pool, point);
}

/** Whether a variant is among the most accurate of its task. */
export function isMostAccurate({
  tasks,
}: PipelineProblem): (task: number, variant: number) => boolean {
  const best = tasks.map(({ variants }) => Math.max(...variants.map(({ accuracy }) => accuracy)));
  return (task, variant) => tasks[task]?.variants[variant]?.accuracy === best[task];
}
