/** Working tasks in topological order. */
import type { Branch, StageEdge } from "stratagem-runtime/internal/bundle/schema";
import type { Application, Edge, Task } from "../spec/application.ts";

export interface OrderedTask {
  readonly task: Task;
  /** Edges ascend by parent, an index among the ordered tasks; null for the requests. */
  readonly edges: readonly { readonly parent: number | null; readonly edge: Edge }[];
}

interface OrderedTasks {
  readonly tasks: readonly OrderedTask[];
  /** How requests choose among the entries. */
  readonly entryBranch: Branch;
}

/** Returns the root of a valid pipeline. */
export function rootOf(tasks: readonly Task[]): Task {
  const followed = new Set(tasks.flatMap(({ to }) => to.map(({ task }) => task)));
  const root = tasks.find(({ name }) => !followed.has(name));
  if (root === undefined) throw new RangeError("pipeline without a root");
  return root;
}

/**
 * @param application in which every task does work, except that the root may only pass requests on.
 */
export function orderedTasks({ tasks }: Pick<Application, "tasks">): OrderedTasks {
  const root = rootOf(tasks);
  const ordered: Task[] = root.passThrough ? [] : [root];
  const left = tasks.filter((task) => task !== root);
  const before = (name: string): string[] =>
    tasks.filter(({ to }) => to.some(({ task }) => task === name)).map((task) => task.name);
  // Takes the first task, in spec order, whose parents are all placed: a branch is listed to its
  // end if the spec does so.
  while (left.length > 0) {
    const index = left.findIndex(({ name }) =>
      before(name).every((one) => one === root.name || ordered.some((task) => task.name === one)),
    );
    const [next] = left.splice(index, 1);
    if (index < 0 || next === undefined) throw new RangeError("pipeline with a cycle");
    ordered.push(next);
  }
  const names = ordered.map(({ name }) => name);
  return {
    entryBranch: root.passThrough ? root.branch : "independent",
    tasks: ordered.map((task) => ({
      task,
      edges: task === root ? [{ parent: null, edge: ENTRY }] : edgesInto(task, tasks, names),
    })),
  };
}

const ENTRY: Edge = { task: "", share: 1, inputs: null, count: null };

function edgesInto(
  { name }: Task,
  tasks: readonly Task[],
  names: readonly string[],
): OrderedTask["edges"] {
  return tasks
    .flatMap((task) => {
      const parent = names.indexOf(task.name);
      const edges = task.to.filter((edge) => edge.task === name);
      return edges.map((edge) => ({
        parent: parent < 0 ? null : parent,
        edge: chanced(task, edge),
      }));
    })
    .sort((a, b) => (a.parent ?? -1) - (b.parent ?? -1));
}

/** Treats a fan-out of an edge that does not multiply as a probability. */
function chanced({ variants }: Task, edge: Edge): Edge {
  const [variant] = variants;
  if (variant === undefined || edge.multiplies === true) return edge;
  // An observed fan-out may exceed 1.
  return { ...edge, share: Math.min(1, edge.share * fanoutTo(variant, edge.task)) };
}

/** Describes what an edge of an ordered task does with rows, as bundles state it. */
export function rowsAlong(
  tasks: readonly OrderedTask[],
  parent: number | null,
  { task, gather, multiplies }: Edge,
): Pick<StageEdge, "fanout" | "gather"> {
  if (gather !== undefined) return { gather };
  const variant = parent === null ? undefined : tasks[parent]?.task.variants[0];
  if (multiplies !== true || variant === undefined) return {};
  return { fanout: fanoutTo(variant, task) };
}

/** Mean queries that a query of the variant sends along an edge, before the edge's share. */
export function fanoutTo({ fanout }: Task["variants"][number], child: string): number {
  return typeof fanout === "number" ? fanout : (fanout?.[child] ?? 1);
}

/** Returns whether queries of a task have any number of rows, so that no two can share a batch. */
export function runsAlone({ edges }: Pick<OrderedTask, "edges">): boolean {
  return edges.some(({ edge }) => edge.gather === "all");
}
