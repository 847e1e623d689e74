/** States a step as one mixed-integer program over assignments, for HiGHS or GLPK. */
import { summedUp, wholeServers } from "./branching.ts";
import { ColumnPool } from "./column-pool.ts";
import { type MixedProgram, solveMixed, type Term } from "./mixed-program.ts";
import { entriesOf, type NodeBounds } from "./node-program.ts";
import { type PlanOptions, searchLimits } from "./plan-options.ts";
import type { Point } from "./search.ts";
import { LATENCY_ROUNDING, type SlotModel } from "./slots.ts";
import { fewestServers, flowThrough, mostAccuratePlan, rootOf, type StepResult } from "./step.ts";

/**
 * Most assignments that are used all; of more, only those that the first nodes of branch and price
 * generate are.
 */
const MAX_COLUMNS = 3000;
const FIRST_NODES = 60;

/**
 * A step as one mixed-integer program over assignments: a share for each, an integer number of
 * servers for each slot, and whether a batch size is used. It is exact if it has all assignments;
 * otherwise, the gap is to the bound of the first nodes of branch and price.
 */
export async function planByColumns(
  model: SlotModel,
  demandQps: number,
  kind: "servers" | "accuracy",
  options: PlanOptions,
  solver: "glpk" | "highs",
): Promise<StepResult> {
  const limits = searchLimits(options, FIRST_NODES);
  const first =
    kind === "servers"
      ? fewestServers(model, demandQps, limits)
      : mostAccuratePlan(model, demandQps, limits);
  const all = new ColumnPool(model, demandQps);
  const isComplete = enumerateAssignments(model, all, MAX_COLUMNS);
  const pool = isComplete ? all : first.pool;
  const none = { ...first, pool, point: null, bound: Number.NEGATIVE_INFINITY };
  if (!hasEveryEntry(model, pool)) return isComplete ? none : first;
  const program = programOf(model, pool, kind);
  const { status, values } = await solveMixed(program, solver, options.timeLimitMs);
  if (status === "infeasible" && isComplete) return none;
  if (values === null) return first;
  const servers = model.slots.map((_, id) => Math.round(values.get(`x${id}`) ?? 0));
  const point = pointOf(model, pool, kind, servers);
  if (point === null || (first.point !== null && first.point.worth > point.worth)) return first;
  const bound = isComplete && status === "optimal" ? point.worth : first.bound;
  return { ...first, pool, point, bound: Math.max(bound, point.worth) };
}

/** Whether requests of every entry have an assignment: solvers refuse a program without columns. */
function hasEveryEntry(model: SlotModel, pool: ColumnPool): boolean {
  return new Set(pool.entry.subarray(0, pool.count)).size === entriesOf(model).length;
}

/**
 * The best flow through integer servers, by exact linear programming: the solvers keep to their
 * rows only to 1e-7 or so.
 */
function pointOf(
  model: SlotModel,
  pool: ColumnPool,
  kind: "servers" | "accuracy",
  serversBySlot: readonly number[],
): Point | null {
  const root = rootOf(model);
  const upper = new Map(root.upper);
  const isBanned = Uint8Array.from(serversBySlot, (count) => (count > 0 ? 0 : 1));
  for (const [id, { set }] of model.slots.entries()) {
    const count = serversBySlot[id] ?? 0;
    if (count > 0) upper.set(set, count);
  }
  const bounds: NodeBounds = { lower: new Map(), upper, isBanned };
  const solution = flowThrough(model, pool, kind, bounds);
  if (solution.status !== "optimal") return null;
  const servers = wholeServers(model, solution);
  if (servers === null) return null;
  const serversBySet = summedUp(model, servers);
  const worth = kind === "servers" ? -(serversBySet[0] ?? 0) : solution.bound;
  return { columns: solution.columns, shares: solution.shares, serversBySet, worth };
}

function programOf(model: SlotModel, pool: ColumnPool, kind: "servers" | "accuracy"): MixedProgram {
  const { slots, problem } = model;
  const columns = Array.from({ length: pool.count }, (_, column) => column);
  const shares = columns.map((column) => ({ name: `f${column}`, entry: pool.entry[column] ?? 0 }));
  const objective: Term[] =
    kind === "servers"
      ? slots.map((_, id) => [`x${id}`, -1])
      : columns.map((column) => [`f${column}`, pool.value[column] ?? 0]);
  const rows: { terms: Term[]; kind: "equal" | "at-most"; bound: number }[] = [];
  for (const entry of new Set(shares.map((share) => share.entry))) {
    const terms = shares
      .filter((share) => share.entry === entry)
      .map(({ name }): Term => [name, 1]);
    rows.push({ terms, kind: "equal", bound: 1 });
  }
  for (const [index, bound] of problem.servers.entries()) {
    const own = slots.flatMap(({ pool: of }, id): Term[] => (of === index ? [[`x${id}`, 1]] : []));
    if (own.length > 0) rows.push({ terms: own, kind: "at-most", bound });
  }
  const uses: Term[][] = slots.map((_, id) => [[`x${id}`, -1]]);
  const members: Term[][] = slots.map(() => []);
  for (const column of columns) {
    const use = pool.usesOf(column);
    for (const [at, id] of pool.slotsOf(column).entries()) {
      uses[id]?.push([`f${column}`, use[at] ?? 0]);
      members[id]?.push([`f${column}`, 1]);
    }
  }
  for (const [id, terms] of uses.entries()) {
    rows.push({ terms, kind: "at-most", bound: 0 });
    const share = members[id] ?? [];
    rows.push({ terms: [[`x${id}`, -1], ...share], kind: "at-most", bound: 0 });
  }
  const binary = addBatchRows(model, members, rows);
  return { objective, rows, whole: slots.map((_, id) => `x${id}`), binary };
}

/**
 * Adds rows for at most one batch size of each set of slots that share a batch size.
 * @returns the names of the choices.
 */
function addBatchRows(
  { sets, slots, problem }: SlotModel,
  members: readonly (readonly Term[])[],
  rows: { terms: Term[]; kind: "equal" | "at-most"; bound: number }[],
): string[] {
  if (!problem.oneBatchPerVariant) return [];
  const binary: string[] = [];
  for (const { level, slots: ids } of sets) {
    if (level !== "group" || ids.length < 2) continue;
    rows.push({ terms: ids.map((id): Term => [`z${id}`, 1]), kind: "at-most", bound: 1 });
    for (const id of ids) {
      const most = problem.servers[slots[id]?.pool ?? 0] ?? 0;
      binary.push(`z${id}`);
      rows.push({
        terms: [
          [`x${id}`, 1],
          [`z${id}`, -most],
        ],
        kind: "at-most",
        bound: 0,
      });
      rows.push({ terms: [[`z${id}`, -1], ...(members[id] ?? [])], kind: "at-most", bound: 0 });
    }
  }
  return binary;
}

/**
 * Adds all assignments of all entries to a pool.
 * @returns false if there are more than `limit`; the pool then has some of them.
 */
function enumerateAssignments(model: SlotModel, pool: ColumnPool, limit: number): boolean {
  const { tasks } = model.problem;
  const rootOf = tasks.map((_, task) => root(model, task));
  const entries = tasks.flatMap(({ parent }, task) => (parent === null ? [task] : []));
  return entries.every((entry, index) => {
    const members = tasks.flatMap((_, task) => (rootOf[task] === entry ? [task] : []));
    const choice = new Int32Array(tasks.length).fill(-1);
    return extend(model, pool, index, members, choice, limit);
  });
}

function root({ problem }: SlotModel, task: number): number {
  let at = task;
  for (
    let up = problem.tasks[at]?.parent ?? null;
    up !== null;
    up = problem.tasks[at]?.parent ?? null
  ) {
    at = up;
  }
  return at;
}

/**
 * An odometer over the slots of the tree's tasks, parents first; a choice that is too slow is not
 * continued.
 */
function extend(
  model: SlotModel,
  pool: ColumnPool,
  entry: number,
  members: readonly number[],
  choice: Int32Array,
  limit: number,
): boolean {
  const options = members.map((task) => (model.slotsOf[task] ?? []).flat());
  const at = new Int32Array(members.length).fill(-1);
  let depth = 0;
  while (depth >= 0) {
    const task = members[depth] ?? 0;
    at[depth] = (at[depth] ?? -1) + 1;
    const id = options[depth]?.[at[depth] ?? 0];
    if (id === undefined) {
      choice[task] = -1;
      at[depth] = -1;
      depth--;
      continue;
    }
    choice[task] = id;
    if (!isInTime(model, task, choice)) continue;
    if (depth + 1 < members.length) {
      depth++;
      continue;
    }
    pool.add(entry, choice);
    if (pool.count > limit) return false;
  }
  return true;
}

/** Whether the path up to a task is within the limit of every leaf after it. */
function isInTime({ problem, slots }: SlotModel, task: number, choice: Int32Array): boolean {
  return problem.leaves.every(({ path, latencyLimitMs }) => {
    const depth = path.indexOf(task);
    if (depth < 0) return true;
    const steps = path.slice(0, depth + 1);
    const latency = steps.reduce(
      (sum, step) => sum + (slots[choice[step] ?? -1]?.latencyMs ?? 0),
      0,
    );
    return latency <= latencyLimitMs * LATENCY_ROUNDING;
  });
}
