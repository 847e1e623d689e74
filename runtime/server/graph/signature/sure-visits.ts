/** Visits of a task that are known before anything has run. */
import type { Branch, StageEdge, StageTask } from "../../../bundle/schema.ts";

interface TaskVisits {
  /** Whether every row visits the task. */
  readonly isSure: boolean;
  /** Whether the counts in tasks' outputs show which rows visit the task. */
  readonly isDerivable: boolean;
}

interface VisitedTasks {
  readonly tasks: readonly Pick<StageTask, "edges" | "branch">[];
  readonly entryBranch: Branch;
}

/** Returns the visits of each task, in their order. */
export function visitsOf(bundle: VisitedTasks): TaskVisits[] {
  const { tasks, entryBranch } = bundle;
  const visits: TaskVisits[] = [];
  for (const { edges } of tasks) {
    let isSure = false;
    let isDerivable = true;
    for (const edge of edges) {
      const { parent } = edge;
      const before = parent === null ? { isSure: true, isDerivable: true } : visits[parent];
      const branch = parent === null ? entryBranch : (tasks[parent]?.branch ?? "independent");
      const isAlways = isAlwaysTaken(edge, branch, tasks);
      isSure ||= isAlways && before?.isSure === true;
      isDerivable &&=
        (isAlways || isCounted(edge) || isGathered(edge)) && before?.isDerivable === true;
    }
    visits.push({ isSure, isDerivable: isSure || isDerivable });
  }
  return visits;
}

/**
 * Minimum time of a row, through the tasks that every row visits.
 * @param taskMs time of one task.
 */
export function surelyMs(bundle: VisitedTasks, taskMs: (task: number) => number): number {
  const visits = visitsOf(bundle);
  const doneMs: number[] = [];
  for (const [task, { edges }] of bundle.tasks.entries()) {
    // A task that may be skipped may take no time.
    const readyMs = Math.max(0, ...edges.map(({ parent }) => doneMs[parent ?? -1] ?? 0));
    doneMs.push(visits[task]?.isSure === true ? readyMs + taskMs(task) : 0);
  }
  return Math.max(...doneMs);
}

/**
 * Whether every row takes the edge. An exclusive counted edge may take precedence over others,
 * whatever their share.
 */
function isAlwaysTaken(edge: StageEdge, branch: Branch, tasks: VisitedTasks["tasks"]): boolean {
  // A fan-out or a gather may have no rows.
  if (isCounted(edge) || edge.share < 1 || edge.gather !== undefined) return false;
  const siblings = tasks.flatMap(({ edges }) => edges.filter((e) => e.parent === edge.parent));
  return branch === "independent" || !siblings.some(isCounted);
}

/** Whether the rows that are gathered follow from the rows that exist. */
function isGathered({ gather, share }: StageEdge): boolean {
  return gather !== undefined && share === 1;
}

function isCounted({ feed }: StageEdge): boolean {
  return feed !== null && feed.count !== null;
}
