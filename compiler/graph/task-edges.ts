/** Edges of ordered tasks, as bundles describe them. */
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
 * Returns the inputs that an edge fills: those it names, also if the next task only passes them on,
 * and those with the name of an output of the task before. An input of that task is passed on only
 * if the edge names it.
 */
export function feedOf(
  { inputs, count }: Pick<Edge, "inputs" | "count">,
  parent: Task | undefined,
  child: Task,
  models: ModelFiles,
): Feed | null {
  const [before, after] = [firstModel(parent, models), firstModel(child, models)];
  if (before === null || after === null) return null;
  const outputs = new Set(before.outputs.map(({ name }) => name));
  const names = new Set([...after.inputs.map(({ name }) => name), ...Object.keys(inputs ?? {})]);
  const fed = [...names].map((name) => ({ input: name, output: inputs?.[name] ?? name }));
  const passed = Object.entries(inputs ?? {}).flatMap(([input, name]) => {
    return outputs.has(name) ? [] : [{ input, parentInput: name }];
  });
  return {
    inputs: fed.filter(({ output }) => outputs.has(output)),
    ...(passed.length > 0 && { passed }),
    count,
  };
}

/** Returns the model of the first variant: variants of a task have the same tensors. */
function firstModel(task: Task | undefined, models: ModelFiles): ModelFile | null {
  const [variant] = task?.variants ?? [];
  return variant === undefined ? null : modelOf(models, variant);
}
