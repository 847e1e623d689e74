/**
 * Working tasks, each with the working task before it; tasks that only pass requests on are left
 * out.
 */
import type { Edge, Task } from "../spec/application.ts";

export interface FlatTask {
  readonly task: Task;
  /** Index among the flat tasks; null for an entry, which receives the requests themselves. */
  readonly parent: number | null;
  /** Indices of the next tasks. */
  readonly children: readonly number[];
  /** Share of the requests that reach an entry; 1 for other tasks. */
  readonly entryShare: number;
  /** Edge from the parent; null for an entry. */
  readonly edge: FlatEdge | null;
}

/** Combines the edges from one working task to the next. */
interface FlatEdge {
  /** Task that the first of these edges leads to; fan-outs are keyed by it. */
  readonly first: string;
  /** Product of the edges' shares. */
  readonly share: number;
  readonly inputs: Edge["inputs"];
  readonly count: Edge["count"];
}

/**
 * @param tasks a valid pipeline that is a tree.
 * @returns parents before their children, siblings in edge order.
 */
export function flatTasks(tasks: readonly Task[]): FlatTask[] {
  const byName = new Map(tasks.map((task) => [task.name, task]));
  const followed = new Set(tasks.flatMap(({ to }) => to.map((edge) => edge.task)));
  const flat: (FlatTask & { children: number[] })[] = [];
  const visit = (task: Task, parent: number | null, edge: FlatEdge | null): void => {
    let before = parent;
    if (!task.passThrough) {
      before = flat.length;
      if (parent !== null) flat[parent]?.children.push(before);
      const entryShare = parent === null ? (edge?.share ?? 1) : 1;
      flat.push({ task, parent, children: [], entryShare, edge: parent === null ? null : edge });
    }
    for (const { task: name, share, inputs, count } of task.to) {
      const next = byName.get(name);
      if (next === undefined) throw new RangeError("edge to an unknown task");
      const passed = task.passThrough && edge !== null ? edge : null;
      visit(next, before, {
        first: passed?.first ?? name,
        share: (passed?.share ?? 1) * share,
        inputs,
        count,
      });
    }
  };
  for (const task of tasks) if (!followed.has(task.name)) visit(task, null, null);
  return flat;
}

/** Indices of the tasks from an entry to a task, both included. */
export function pathTo(
  tasks: readonly { readonly parent: number | null }[],
  task: number,
): number[] {
  const path: number[] = [];
  for (let at: number | null = task; at !== null; at = tasks[at]?.parent ?? null) path.unshift(at);
  return path;
}
