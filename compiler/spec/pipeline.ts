/** Checks the tasks of a pipeline and their edges. */

import { suggestion } from "stratagem-runtime/internal/base/nearest";
import { bindingMistakes } from "./binding.ts";
import type { KeyPath } from "./document/document.ts";
import { conflict, invalid, type Mistake, missing, show } from "./document/mistakes.ts";
import { kindMistakes } from "./host-tasks.ts";
import type { TaskSpec } from "./schema/application-schema.ts";

/**
 * Finds mistakes in the tasks of a spec beyond their structure: names, variants, and edges that do
 * not form a rooted DAG.
 */
export function* pipelineMistakes(tasks: readonly TaskSpec[]): Generator<Mistake> {
  if (tasks.length === 0) yield invalid(["tasks"], "at least one task", "an empty list");
  const taskNames = tasks.map((task) => task.name);
  if (new Set(taskNames).size < tasks.length) {
    yield* duplicateNames(tasks, ["tasks"], "task");
    return;
  }
  let edgesAreSound = true;
  for (const [index, task] of tasks.entries()) {
    yield* variantMistakes(task, ["tasks", index]);
    for (const mistake of edgeMistakes(task, ["tasks", index], taskNames)) {
      edgesAreSound = false;
      yield mistake;
    }
  }
  // Cycles and roots are only defined if every edge leads to a task.
  if (edgesAreSound) yield* shapeMistakes(tasks);
}

/** Finds items that have the name of an earlier one. */
export function* duplicateNames(
  items: readonly { readonly name: string }[],
  path: KeyPath,
  noun: string,
  plural = `${noun}s`,
): Generator<Mistake> {
  const seen = new Set<string>();
  for (const [index, { name }] of items.entries()) {
    if (seen.has(name)) {
      yield conflict(
        [...path, index, "name"],
        `two ${plural} are named ${show(name)}; expected different names`,
      );
    }
    seen.add(name);
  }
}

function* variantMistakes(task: TaskSpec, path: KeyPath): Generator<Mistake> {
  const { passThrough, variants, to } = task;
  if (passThrough && variants.length > 0) {
    yield conflict(
      [...path, "variants"],
      "expected no variants because passThrough is true, got some",
    );
  }
  if (passThrough && to.length === 0) {
    yield conflict(
      [...path, "passThrough"],
      "expected edges under to, since the task does nothing else",
    );
  }
  if (!passThrough && variants.length === 0) {
    yield missing([...path, "variants"], "at least one variant, or passThrough: true");
  }
  yield* duplicateNames(variants, [...path, "variants"], "variant");
  const children = to.map((edge) => edge.task);
  for (const [index, variant] of variants.entries()) {
    const { fanout } = variant;
    yield* kindMistakes(variant, [...path, "variants", index]);
    yield* bindingMistakes(variant, [...path, "variants", index]);
    const fanoutPath = [...path, "variants", index, "fanout"];
    if (fanout !== undefined && children.length === 0) {
      yield conflict(
        fanoutPath,
        `expected none, since the task ${show(task.name)} has no successor`,
      );
    } else if (typeof fanout === "object") {
      for (const child of Object.keys(fanout)) {
        if (children.includes(child)) continue;
        const message =
          `no edge leads from ${show(task.name)} to ` +
          `${show(child)}${suggestion(child, children)}`;
        yield conflict([...fanoutPath, child], message);
      }
    }
  }
}

function* edgeMistakes(
  task: TaskSpec,
  path: KeyPath,
  taskNames: readonly string[],
): Generator<Mistake> {
  const seen = new Set<string>();
  for (const [index, { task: child }] of task.to.entries()) {
    const edgePath = [...path, "to", index, "task"];
    if (!taskNames.includes(child)) {
      yield conflict(edgePath, `no task is named ${show(child)}${suggestion(child, taskNames)}`);
    } else if (seen.has(child)) {
      yield conflict(edgePath, `two edges lead to ${show(child)}; expected one`);
    }
    seen.add(child);
  }
  const total = task.to.reduce((sum, { share }) => sum + share, 0);
  // Shares such as thirds do not add up to 1 exactly.
  if (task.branch === "exclusive" && total > 1 + 1e-9) {
    const found = `${task.to.map(({ share }) => share).join(" + ")} = ${Number(total.toFixed(6))}`;
    yield conflict(
      [...path, "to"],
      `branch is exclusive, so shares of the edges add up to at most 1, got ${found}`,
    );
  }
}

function* shapeMistakes(tasks: readonly TaskSpec[]): Generator<Mistake> {
  const parents = new Map<string, string[]>(tasks.map((task) => [task.name, []]));
  for (const task of tasks) {
    for (const edge of task.to) parents.get(edge.task)?.push(task.name);
  }
  const cycle = findCycle(parents);
  if (cycle !== null) {
    const index = tasks.findIndex((task) => task.name === cycle[0]);
    yield conflict(["tasks", index, "to"], `expected no cycle, got ${cycle.join(" → ")}`);
    return;
  }
  const roots = tasks.filter((task) => parents.get(task.name)?.length === 0);
  const second = roots[1];
  if (second === undefined) return;
  const message =
    "expected one root, but no edge leads to " +
    `${roots.map((task) => show(task.name)).join(" and ")}`;
  yield conflict(["tasks", tasks.indexOf(second), "name"], message);
}

/**
 * Returns the tasks of a cycle in the order of its edges, the first again at the end, or null.
 * @param parents of every task.
 */
function findCycle(parents: ReadonlyMap<string, readonly string[]>): readonly string[] | null {
  // Removes tasks whose parents are all removed until none is left to remove; every remaining task
  // has a remaining parent.
  const left = new Set(parents.keys());
  for (let size = -1; size !== left.size; ) {
    size = left.size;
    for (const task of left) {
      if (!parents.get(task)?.some((parent) => left.has(parent))) left.delete(task);
    }
  }
  const backwards: string[] = [];
  let task = [...left][0];
  while (task !== undefined && !backwards.includes(task)) {
    backwards.push(task);
    task = parents.get(task)?.find((parent) => left.has(parent));
  }
  if (task === undefined) return null;
  return [task, ...backwards.slice(backwards.indexOf(task)).reverse()];
}

/** Names of the tasks without successors. */
export function leafTasks(tasks: readonly TaskSpec[]): string[] {
  return tasks.filter((task) => task.to.length === 0).map((task) => task.name);
}

/**
 * Yields every path of a valid pipeline: the variant names from root to a leaf joined by `|`,
 * without pass-through tasks. The number of paths is exponential in the depth, so callers stop
 * early.
 */
export function* variantPaths(tasks: readonly TaskSpec[]): Generator<string> {
  const byName = new Map(tasks.map((task) => [task.name, task]));
  const children = new Set(tasks.flatMap((task) => task.to.map((edge) => edge.task)));
  const open = tasks
    .filter((task) => !children.has(task.name))
    .map((task) => ({ task, before: [] as readonly string[] }));
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { task, before } = next;
    const paths = task.passThrough
      ? [before]
      : task.variants.map((variant) => [...before, variant.name]);
    if (task.to.length === 0) yield* paths.map((names) => names.join("|"));
    // The last path pushed is the next one walked.
    for (const names of paths.reverse()) {
      for (const edge of task.to.toReversed()) {
        const child = byName.get(edge.task);
        if (child !== undefined) open.push({ task: child, before: names });
      }
    }
  }
}
