/**
 * Checks that the outputs of a task, and the inputs that it passes on, match the inputs of the
 * next: tensors by name, type and row shape.
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
  const inputsByTask = givenInputs(tasks, models);
  for (const [taskIndex, task] of tasks.entries()) {
    const model = firstModel(task, models);
    for (const [index, edge] of task.to.entries()) {
      const child = tasks.find(({ name }) => name === edge.task);
      if (child === undefined) continue;
      const next = firstModel(child, models);
      if (model === null || next === null) continue;
      const path = ["tasks", taskIndex, "to", index];
      const parent = { models: modelsOf(task, models), inputs: inputsByTask.get(task.name) ?? [] };
      yield* unknownInputs(edge, parent, child, next, path);
      for (const input of next.inputs) {
        if (isJoined && !gives(edge, model, input)) continue;
        yield* inputMistakes(edge, parent, next, input, path);
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
        "one of the same name, or an output or input named under inputs of the edge";
      yield conflict(["tasks", taskIndex, "variants"], message);
    }
  }
}

/** Returns whether the edge names an output for the input, or the model has one of that name. */
function gives({ inputs }: Edge, { outputs }: ModelFile, { name }: TensorInfo): boolean {
  return inputs?.[name] !== undefined || outputs.some((output) => output.name === name);
}

/** An input of a task; of a shape that is not known where a task before has no model. */
interface GivenInput {
  readonly name: string;
  readonly tensor: TensorInfo | null;
}

interface ParentTask {
  /** Models of its variants; at least one. */
  readonly models: readonly ModelFile[];
  readonly inputs: readonly GivenInput[];
}

/**
 * Returns the inputs of each task: those of its models, and those that edges give it only to be
 * passed on.
 */
function givenInputs(
  tasks: readonly ModelledTask[],
  models: ModelFiles,
): ReadonlyMap<string, readonly GivenInput[]> {
  const known = new Map<string, GivenInput[]>();
  const inputsOf = (task: ModelledTask): readonly GivenInput[] => {
    const found = known.get(task.name);
    if (found !== undefined) return found;
    const model = firstModel(task, models);
    const own: GivenInput[] = (model?.inputs ?? []).map((tensor) => {
      return { name: tensor.name, tensor };
    });
    // Also ends where edges make a circle, which is a mistake of its own.
    known.set(task.name, own);
    for (const parent of tasks) {
      for (const { task: child, inputs, gather } of parent.to) {
        if (child !== task.name) continue;
        for (const [name, source] of Object.entries(inputs ?? {})) {
          if (named(own, name) || !passesOn(task, model, name)) continue;
          const output = outputOf(modelsOf(parent, models), source);
          const given = output === undefined ? named(inputsOf(parent), source)?.tensor : output;
          if (given === undefined && firstModel(parent, models) !== null) continue;
          own.push({ name, tensor: given == null ? null : { ...gathered(given, gather), name } });
        }
      }
    }
    return own;
  };
  for (const task of tasks) inputsOf(task);
  return known;
}

/** Returns whether an edge passes on what is no output of the task's model. */
function passesOn({ to }: ModelledTask, model: ModelFile | null, name: string): boolean {
  const isNamed = to.some(({ inputs }) => Object.values(inputs ?? {}).includes(name));
  return isNamed && named(model?.outputs ?? [], name) === undefined;
}

/** Returns an output of a task, open where its variants have different sizes. */
function outputOf(models: readonly ModelFile[], name: string): TensorInfo | undefined {
  const [first, ...others] = models.map(({ outputs }) => named(outputs, name));
  if (first === undefined) return undefined;
  const shape = first.shape.map((size, axis) => {
    return others.every((other) => other?.shape[axis] === size) ? size : -1;
  });
  return { ...first, shape };
}

function named<T extends { readonly name: string }>(list: readonly T[], name: string) {
  return list.find((one) => one.name === name);
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
  parent: ParentTask,
  child: ModelledTask,
  next: ModelFile,
  path: KeyPath,
): Generator<Mistake> {
  const known = next.inputs.map(({ name }) => show(name)).join(", ");
  const sources = [...parent.inputs, ...(parent.models[0]?.outputs ?? [])];
  for (const [input, output] of Object.entries(inputs ?? {})) {
    if (named(next.inputs, input) !== undefined) continue;
    const isPassed = passesOn(child, next, input);
    if (isPassed && named(sources, output) !== undefined) continue;
    const isReversed = named(sources, input) && named(next.inputs, output);
    const message = isReversed
      ? `the map is the wrong way round: write ${show(output)}: ${show(input)}, ` +
        "the input of the next task first"
      : isPassed
        ? `${parent.models[0]?.file} has no output or input ${show(output)}; it has ` +
          sources.map(({ name }) => show(name)).join(", ")
        : `${next.file} has no input ${show(input)}; its inputs are ${known}, and none of that ` +
          `name is passed on by an edge of ${show(child.name)}`;
    yield conflict([...path, "inputs", input], message);
  }
}

function* inputMistakes(
  { inputs, gather }: Edge,
  parent: ParentTask,
  next: ModelFile,
  input: TensorInfo,
  path: KeyPath,
): Generator<Mistake> {
  const name = inputs?.[input.name] ?? input.name;
  const largest = largestShape(next, input);
  const isNamed = inputs?.[input.name] !== undefined;
  const passed = isNamed ? named(parent.inputs, name) : undefined;
  // Outputs of variants differ at most in their sizes, but any variant may answer.
  const model = parent.models.find(({ outputs }) => {
    const output = named(outputs, name);
    if (output !== undefined) return !fits(gathered(output, gather), input, largest);
    if (passed?.tensor === null) return false;
    // Rows of an input that is passed on have one size.
    const isOpen = passed?.tensor.shape.slice(1).includes(-1) !== false;
    return isOpen || !fits(gathered(passed.tensor, gather), input, largest);
  });
  if (model === undefined) {
    if (gather !== "all" || input.shape[1] === -1) return;
    const message =
      `gather: all gives the input ${describe(input)} of ${next.file} any number of rows; ` +
      "expected its axis 1 to be open, or gather: with the number of rows that it takes";
    return yield conflict([...path, "gather"], message);
  }
  const outputs = model.outputs.map(describe).join(", ");
  const own = parent.inputs.map(({ name: given, tensor }) => (tensor ? describe(tensor) : given));
  const gathers = gather === undefined ? "" : `, gathered (${gather}) along a new axis 1`;
  const message =
    `the input ${describe(input)} of ${next.file} needs the output ${show(name)} of ` +
    `${model.file}, whose outputs are ${outputs}${gathers}; under inputs, the edge may also name ` +
    `an input of ${model.file} to pass on: ${own.join(", ")}`;
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
