/** What one task gives the next has to be what that one takes: tensors by name, type and row shape. */
import type { ModelFile, TensorInfo } from "../runtime/bundle/schema.ts";
import type { ModelFiles } from "./solvers/solver.ts";
import type { Application, Edge, Task } from "./spec/application.ts";
import type { KeyPath } from "./spec/document.ts";
import { conflict, type Mistake, show } from "./spec/mistakes.ts";

/** Edges whose models do not fit; variants of a task are alike, so the first that has a model speaks for it. */
export function* feedMistakes({ tasks }: Application, models: ModelFiles): Generator<Mistake> {
  for (const [taskIndex, task] of tasks.entries()) {
    const model = modelOf(task, models);
    for (const [index, edge] of task.to.entries()) {
      const child = tasks.find(({ name }) => name === edge.task);
      const next = child === undefined ? null : modelOf(child, models);
      if (model === null || next === null) continue;
      yield* edgeMistakes(edge, model, next, ["tasks", taskIndex, "to", index]);
    }
  }
}

function modelOf({ variants }: Task, models: ModelFiles): ModelFile | null {
  for (const { model } of variants) {
    const file = model === null ? null : models.get(model);
    if (file) return file;
  }
  return null;
}

function* edgeMistakes(
  { inputs, count }: Edge,
  model: ModelFile,
  next: ModelFile,
  path: KeyPath,
): Generator<Mistake> {
  const known = next.inputs.map(({ name }) => show(name)).join(", ");
  for (const input of Object.keys(inputs ?? {})) {
    if (next.inputs.some(({ name }) => name === input)) continue;
    const message = `${next.file} has no input ${show(input)}; its inputs are ${known}`;
    yield conflict([...path, "inputs", input], message);
  }
  const outputs = model.outputs.map(describe).join(", ");
  for (const input of next.inputs) {
    const name = inputs?.[input.name] ?? input.name;
    const output = model.outputs.find((candidate) => candidate.name === name);
    if (output !== undefined && fits(output, input)) continue;
    const message = `the input ${describe(input)} of ${next.file} needs the output ${show(name)} of ${model.file}, whose outputs are ${outputs}`;
    yield conflict([...path, "inputs"], message);
  }
  if (count === null) return;
  const counts = model.outputs.find(({ name }) => name === count);
  if (counts?.dtype === "int64" && counts.shape.length === 1) return;
  const message = `expected an output of ${model.file} of the form int64[rows], whose outputs are ${outputs}`;
  yield conflict([...path, "count"], message);
}

/** The same type and, axis 0 apart, the same shape as far as both are known. */
function fits(output: TensorInfo, input: TensorInfo): boolean {
  return (
    output.dtype === input.dtype &&
    output.shape.length === input.shape.length &&
    output.shape.every((size, axis) => {
      const other = input.shape[axis] ?? -1;
      return axis === 0 || size === -1 || other === -1 || size === other;
    })
  );
}

function describe({ name, dtype, shape }: TensorInfo): string {
  return `${name} ${dtype}[${shape.join(", ")}]`;
}
