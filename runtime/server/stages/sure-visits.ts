/** What is known of the way of a row before anything has run. */
import type { Branch, InferlineBundle, StageEdge } from "../../bundle/schema.ts";

export interface TaskVisits {
  /** Whether every row comes here. */
  readonly isSure: boolean;
  /** Whether the counts that tasks answer tell which rows come here. */
  readonly isTold: boolean;
}

/** Of each task, in their order. */
export function visitsOf(bundle: Pick<InferlineBundle, "tasks" | "entryBranch">): TaskVisits[] {
  const { tasks, entryBranch } = bundle;
  const visits: TaskVisits[] = [];
  for (const { edges } of tasks) {
    let isSure = false;
    let isTold = true;
    for (const edge of edges) {
      const { parent } = edge;
      const before = parent === null ? { isSure: true, isTold: true } : visits[parent];
      const branch = parent === null ? entryBranch : (tasks[parent]?.branch ?? "independent");
      const isAlways = isAlwaysTaken(edge, branch, tasks);
      isSure ||= isAlways && before?.isSure === true;
      isTold &&= (isAlways || isCounted(edge)) && before?.isTold === true;
    }
    visits.push({ isSure, isTold: isSure || isTold });
  }
  return visits;
}

/** Of exclusive edges one that is counted may come before one that is not, whatever its share. */
function isAlwaysTaken(
  edge: StageEdge,
  branch: Branch,
  tasks: Pick<InferlineBundle, "tasks">["tasks"],
): boolean {
  if (isCounted(edge) || edge.share < 1) return false;
  const siblings = tasks.flatMap(({ edges }) => edges.filter((e) => e.parent === edge.parent));
  return branch === "independent" || !siblings.some(isCounted);
}

function isCounted({ feed }: StageEdge): boolean {
  return feed !== null && feed.count !== null;
}
