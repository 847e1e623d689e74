/** Edges of ordered tasks in the terms of a bundle. */
import type { Feed, ModelFile, StageEdge } from "stratagem-runtime/internal/bundle/schema";
import { type ModelFiles, modelOf } from "../model/model-files.ts";
import type { Edge, Task } from "../spec/application.ts";
import { type OrderedTask, rowsAlong } from "./task-order.ts";

export function taskEdgesOf(
  { task, edges }: OrderedTask,
  tasks: readonly OrderedTask[],
  models: ModelFiles,
): StageEdge[] {
  return edges.map(({ parent, edge }) => ({
    parent,
    share: edge.share,
    feed: parent === null ? null : feedOf(edge, tasks[parent]?.task, task, models),
    ...rowsAlong(tasks, parent, edge),
  }));
}

/**
 * The inputs that an edge brings: those that it names, and those that an output of the task before
 * is called like.
 */
function feedOf(
  { inputs, count }: Edge,
  parent: Task | undefined,
  child: Task,
  models: ModelFiles,
): Feed | null {
  const [before, after] = [firstModel(parent, models), firstModel(child, models)];
  if (before === null || after === null) return null;
  const outputs = new Set(before.outputs.map(({ name }) => name));
  const fed = after.inputs.map(({ name }) => ({ input: name, output: inputs?.[name] ?? name }));
  return { inputs: fed.filter(({ output }) => outputs.has(output)), count };
}

/** Variants of a task are alike, so the first speaks for it. */
function firstModel(task: Task | undefined, models: ModelFiles): ModelFile | null {
  const [variant] = task?.variants ?? [];
  return variant === undefined ? null : modelOf(models, variant);
}
