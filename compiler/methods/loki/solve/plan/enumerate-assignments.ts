/** Lists all assignments of variants to the tasks of a tree. */
import type { ColumnPool } from "./column-pool.ts";
import { LATENCY_ROUNDING, type SlotModel } from "./slots.ts";

/**
 * Adds all assignments of all entries to a pool.
 * @returns false where there are more than `limit`; the pool then has some of them.
 */
export function enumerateAssignments(model: SlotModel, pool: ColumnPool, limit: number): boolean {
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
