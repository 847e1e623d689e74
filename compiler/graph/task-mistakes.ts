/** Mistakes in pipelines that no planner of one model per task can handle. */
import { MAX_QUERIES_PER_REQUEST } from "stratagem-runtime/internal/bundle/limits";
import {
  isScopeProblem,
  meanQueriesOf,
  meanRowsOf,
  type RowScopes,
  rowScopesOf,
  type ScopeProblem,
} from "stratagem-runtime/internal/bundle/schema";
import { about, MAX_SIMULATED_REQUESTS } from "../model/solve-size.ts";
import type { Application, Task } from "../spec/application.ts";
import { conflict, invalid, type Mistake, show } from "../spec/document/mistakes.ts";
import {
  fanoutTo,
  type OrderedTask,
  orderedTasks,
  rootOf,
  rowsAlong,
  runsAlone,
} from "./task-order.ts";
import { MAX_TASKS } from "./visit-plan.ts";

/** @param method name for messages. */
export function* shapeMistakes(tasks: readonly Task[], method: string): Generator<Mistake> {
  if (tasks.length > MAX_TASKS) {
    yield invalid(["tasks"], `at most ${MAX_TASKS} tasks`, String(tasks.length));
  }
  const root = rootOf(tasks);
  for (const [index, task] of tasks.entries()) {
    if (!task.passThrough || task === root) continue;
    yield {
      code: "INPUT_UNSUPPORTED",
      path: ["tasks", index, "passThrough"],
      message:
        `${method} lets only the root, ${show(root.name)}, pass requests on; ` +
        `leave ${show(task.name)} out, and lead edges to the tasks after it`,
    };
  }
}

/**
 * @param index of the task.
 * @param method name for messages.
 */
export function* fanoutMistakes(
  { name, variants, to }: Task,
  index: number,
  method: string,
): Generator<Mistake> {
  for (const [position, variant] of variants.entries()) {
    for (const { task, gather } of to) {
      const fanout = fanoutTo(variant, task);
      const path = ["tasks", index, "variants", position, "fanout"];
      if (gather !== undefined && fanout > 1) {
        const message =
          `the rows of ${show(name)} are gathered for ${show(task)}, so each goes there once at ` +
          `most, got a fan-out of ${fanout}; expected a mapping from other tasks to their fan-outs`;
        yield conflict(path, message);
      }
      const first = variants[0] === undefined ? fanout : fanoutTo(variants[0], task);
      if (fanout === first) continue;
      const message =
        `${method} runs one model for a task, whatever the hardware, ` +
        `so all its fan-outs must be the same, got ${fanout} and ${first}`;
      yield conflict(path, message);
    }
  }
}

/**
 * Finds edges that make or gather rows where they cannot, and requests with too many rows.
 * @param application whose tasks pass `shapeMistakes`.
 * @param simulatedRequests in the largest simulation of a compile, all held in memory.
 */
export function* rowMistakes(
  application: Pick<Application, "tasks">,
  simulatedRequests: number,
): Generator<Mistake> {
  const { tasks } = orderedTasks(application);
  const found = rowScopesOf(
    tasks.map(({ edges }) => ({
      edges: edges.map(({ parent, edge }) => ({ parent, ...rowsAlong(tasks, parent, edge) })),
    })),
  );
  if (!isScopeProblem(found)) {
    yield* queryMistakes(application, tasks, found, simulatedRequests);
    return yield* aloneMistakes(application, tasks);
  }
  const { task, edges } = tasks[found.task] ?? {};
  const { parent = null, edge } = edges?.[found.edge] ?? {};
  const before = parent === null ? rootOf(application.tasks) : tasks[parent]?.task;
  const names = { to: show(task?.name), from: show(before?.name) };
  const index = positionOf(application, before);
  const position = before?.to.findIndex((one) => one.task === edge?.task) ?? 0;
  const key = edge?.gather === undefined ? "task" : "gather";
  yield conflict(["tasks", index, "to", position, key], scopeText(found.kind, names));
}

function* aloneMistakes(
  application: Pick<Application, "tasks">,
  tasks: readonly OrderedTask[],
): Generator<Mistake> {
  for (const ordered of tasks) {
    if (!runsAlone(ordered)) continue;
    const index = positionOf(application, ordered.task);
    for (const [position, { profiles }] of ordered.task.variants.entries()) {
      const without = profiles.find(
        ({ rows }) => rows.length > 0 && !rows.some(({ batch }) => batch === 1),
      );
      if (without === undefined) continue;
      const sizes = without.rows.map(({ batch }) => batch).join(", ");
      const message =
        `queries of ${show(ordered.task.name)} have any number of gathered rows, so ` +
        `each runs alone; expected a profile with batch 1, got ${sizes}`;
      yield conflict(["tasks", index, "variants", position, "profile"], message);
    }
  }
}

function scopeText(
  kind: ScopeProblem["kind"],
  { to, from }: { readonly to: string; readonly from: string },
): string {
  switch (kind) {
    case "mixed":
      return (
        `edges to ${to} carry rows of different origins, among them those from ${from}; ` +
        "expected rows of one fan-out, or of none; join the others first with gather: all"
      );
    case "not alone":
      return (
        `the edge from ${from} to ${to} makes rows of its own, and other edges lead there too; ` +
        "expected one edge"
      );
    default:
      return (
        `no fan-out made the rows that reach ${to} from ${from}, so there is nothing to ` +
        "gather; expected a task before it with a fan-out"
      );
  }
}

function* queryMistakes(
  application: Pick<Application, "tasks">,
  tasks: readonly OrderedTask[],
  found: RowScopes,
  simulatedRequests: number,
): Generator<Mistake> {
  const { scopes } = found;
  const queries = meanQueriesOf(found);
  const limit = Math.floor(MAX_SIMULATED_REQUESTS / simulatedRequests);
  const allowedQueries = Math.min(MAX_QUERIES_PER_REQUEST, Math.max(limit, tasks.length));
  if (queries <= allowedQueries) return;
  const rows = meanRowsOf(scopes);
  const most = rows.indexOf(Math.max(...rows));
  const maker = tasks[scopes[most]?.maker ?? -1]?.task;
  const index = positionOf(application, maker);
  const allowed = `fan-outs of at most ${allowedQueries} queries per request together`;
  yield invalid(["tasks", index, "variants", 0, "fanout"], allowed, about(queries));
}

function positionOf({ tasks }: Pick<Application, "tasks">, task: Task | undefined): number {
  return task === undefined ? -1 : tasks.indexOf(task);
}
