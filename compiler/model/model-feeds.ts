/**
 * Checks that the outputs of a task match the inputs of the next: tensors by name, type and row
 * shape.
 */
import type { ModelFile, TensorInfo } from "stratagem-runtime/internal/bundle/schema";
import type { Edge } from "../spec/application.ts";
import type { KeyPath } from "../spec/document/document.ts";
import { conflict, type Mistake, show } from "../spec/document/mistakes.ts";
import { type ModelFiles, type ModelledTask, modelOf } from "./model-files.ts";

/** Edges that must provide all inputs of a task: every single edge into it, or all together. */
export type FeedKind = "every edge" | "all edges together";

/**
 * Yields edges whose models do not fit; the first variant with a model stands for its task, since
 * variants are alike.
 */
export function* feedMistakes(
  { tasks }: { readonly tasks: readonly ModelledTask[] },
  models: ModelFiles,
  feeds: FeedKind,
): Generator<Mistake> {
  const isJoined = feeds === "all edges together";
  for (const [taskIndex, task] of tasks.entries()) {
    const model = firstModel(task, models);
    for (const [index, edge] of task.to.entries()) {
      const child = tasks.find(({ name }) => name === edge.task);
      const next = child === undefined ? null : firstModel(child, models);
      if (model === null || next === null) continue;
      const path = ["tasks", taskIndex, "to", index];
      yield* unknownInputs(edge, model, next, path);
      for (const input of next.inputs) {
        if (isJoined && !gives(edge, model, input)) continue;
        yield* inputMistakes(edge, modelsOf(task, models), next, input, path);
      }
      yield* countMistakes(edge, model, path);
    }
  }
  if (isJoined) yield* missingInputs(tasks, models);
}

/**
 * Yields inputs that no edge provides for a task that may receive several rows; for other tasks the
 * request provides them.
 */
function* missingInputs(tasks: readonly ModelledTask[], models: ModelFiles): Generator<Mistake> {
  for (const [taskIndex, task] of tasks.entries()) {
    const next = firstModel(task, models);
    const edges = tasks.flatMap((parent) =>
      parent.to
        .filter((edge) => edge.task === task.name)
        .map((edge) => ({ edge, parent, model: firstModel(parent, models) })),
    );
    if (next === null || edges.length === 0) continue;
    if (edges.some(({ model }) => model === null)) continue;
    for (const input of next.inputs) {
      if (edges.some(({ edge, model }) => model !== null && gives(edge, model, input))) continue;
      const parents = edges.map(({ parent }) => show(parent.name)).join(" or ");
      const message =
        `the input ${describe(input)} of ${next.file} needs an output of ${parents}: ` +
        "one of the same name, or one named under inputs of the edge";
      yield conflict(["tasks", taskIndex, "variants"], message);
    }
  }
}

/** Returns whether the edge names an output for the input, or the model has one of that name. */
function gives({ inputs }: Edge, { outputs }: ModelFile, { name }: TensorInfo): boolean {
  return inputs?.[name] !== undefined || outputs.some((output) => output.name === name);
}

function modelsOf({ variants }: ModelledTask, models: ModelFiles): ModelFile[] {
  return variants.flatMap((variant) => modelOf(models, variant) ?? []);
}

function firstModel(task: ModelledTask, models: ModelFiles): ModelFile | null {
  return modelsOf(task, models)[0] ?? null;
}

/**
 * Yields unknown input names. The map has the input of the next task first; the message says so if
 * it is reversed.
 */
function* unknownInputs(
  { inputs }: Edge,
  { outputs }: ModelFile,
  next: ModelFile,
  path: KeyPath,
): Generator<Mistake> {
  const has = (tensors: readonly TensorInfo[], name: string) => {
    return tensors.some((tensor) => tensor.name === name);
  };
  const known = next.inputs.map(({ name }) => show(name)).join(", ");
  for (const [input, output] of Object.entries(inputs ?? {})) {
    if (has(next.inputs, input)) continue;
    const isReversed = has(outputs, input) && has(next.inputs, output);
    const message = isReversed
      ? `the map is the wrong way round: write ${show(output)}: ${show(input)}, ` +
        "the input of the next task first"
      : `${next.file} has no input ${show(input)}; its inputs are ${known}`;
    yield conflict([...path, "inputs", input], message);
  }
}

function* inputMistakes(
  { inputs, gather }: Edge,
  models: readonly ModelFile[],
  next: ModelFile,
  input: TensorInfo,
  path: KeyPath,
): Generator<Mistake> {
  const name = inputs?.[input.name] ?? input.name;
  const largest = largestShape(next, input);
  // Outputs of variants differ at most in their sizes, but any variant may answer.
  const model = models.find(({ outputs }) => {
    const output = outputs.find((candidate) => candidate.name === name);
    return output === undefined || !fits(gathered(output, gather), input, largest);
  });
  if (model === undefined) {
    if (gather !== "all" || input.shape[1] === -1) return;
    const message =
      `gather: all gives the input ${describe(input)} of ${next.file} any number of rows; ` +
      "expected its axis 1 to be open, or gather: with the number of rows that it takes";
    return yield conflict([...path, "gather"], message);
  }
  const outputs = model.outputs.map(describe).join(", ");
  const gathers = gather === undefined ? "" : `, gathered (${gather}) along a new axis 1`;
  const message =
    `the input ${describe(input)} of ${next.file} needs the output ${show(name)} of ` +
    `${model.file}, whose outputs are ${outputs}${gathers}`;
  yield conflict([...path, "inputs"], message);
}

function* countMistakes({ count }: Edge, model: ModelFile, path: KeyPath): Generator<Mistake> {
  if (count === null) return;
  const counts = model.outputs.find(({ name }) => name === count);
  if (counts?.dtype === "int64" && counts.shape.length === 1) return;
  const outputs = model.outputs.map(describe).join(", ");
  const message =
    `expected an output of ${model.file} of the form int64[rows], ` +
    `whose outputs are ${outputs}`;
  yield conflict([...path, "count"], message);
}

/**
 * Returns an output as a gather delivers it: the rows made from a row become an axis of that row.
 */
function gathered({ shape: [rows = -1, ...row], ...tensor }: TensorInfo, gather: Edge["gather"]) {
  const shape = [rows, ...(gather === undefined ? [] : [gather === "all" ? -1 : gather]), ...row];
  return { ...tensor, shape };
}

/** Returns the largest sizes of an input whose axes have several; its own shape otherwise. */
function largestShape({ inputs, buckets = [] }: ModelFile, input: TensorInfo): readonly number[] {
  const shape = [...input.shape];
  for (const { inputs: places, sizes } of buckets) {
    for (const { input: index, axis } of places) {
      if (inputs[index] === input) shape[axis] = sizes.at(-1) ?? -1;
    }
  }
  return shape;
}

/**
 * Returns whether the types, and the known sizes of all axes but 0, agree.
 * @param largest sizes that the input can be padded to.
 */
function fits(output: TensorInfo, input: TensorInfo, largest: readonly number[]): boolean {
  return (
    output.dtype === input.dtype &&
    output.shape.length === input.shape.length &&
    output.shape.every((size, axis) => {
      const other = input.shape[axis] ?? -1;
      const most = largest[axis] ?? -1;
      const isPadded = other === -1 && (most === -1 || size <= most);
      return axis === 0 || size === -1 || isPadded || size === other;
    })
  );
}

function describe({ name, dtype, shape }: TensorInfo): string {
  return `${name} ${dtype}[${shape.join(", ")}]`;
}
