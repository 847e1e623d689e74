/** Maps outputs and inputs of a task to inputs of the next; checked before serving starts. */
import type { BucketAxis, Feed, StageEdge } from "../../../bundle/schema.ts";
import {
  type ModelTensor,
  type ModelVariant,
  modelOf,
  namesOf,
  type TaskTensors,
  textOf,
  unfit,
} from "../../tensors/signature.ts";
import { elementCountOf } from "../../tensors/tensors.ts";
import type { LinkedTask } from "./linked-tasks.ts";

export interface LinkedTensors extends TaskTensors {
  /** Axes of inputs with several sizes. */
  readonly axes: readonly BucketAxis[];
}

export interface ServedFeed {
  /**
   * Index among the outputs of the parent for each input of the child; null where this edge
   * provides none.
   */
  readonly outputByInput: readonly (number | null)[];
  /**
   * Index among the inputs of the parent for each input of the child; null where the parent does
   * not pass one on.
   */
  readonly passedByInput: readonly (number | null)[];
  /**
   * Index among the outputs of the parent of the number of rows for each of its rows; null without
   * one.
   */
  readonly count: number | null;
}

/** An edge between two tasks, as the bundle has it. */
interface FedEdge extends Pick<StageEdge, "gather"> {
  readonly parent: FedTask;
  readonly child: FedTask;
  readonly feed: Feed | null;
}

interface FedTask {
  readonly name: string;
  readonly variants: readonly ModelVariant[];
}

/**
 * @throws RuntimeError RUNTIME_MODEL if a variant of the parent lacks an output that is sent on.
 */
export function checkFedOutputs({ parent, child, feed }: FedEdge): void {
  const wanted = [...(feed?.inputs.map(({ output }) => output) ?? []), feed?.count ?? null];
  for (const variant of parent.variants) {
    const { outputs } = modelOf({ ...variant, name: `${parent.name}/${variant.name}` });
    for (const name of wanted) {
      if (name === null || outputs.some((output) => output.name === name)) continue;
      const found = outputs.map((output) => `"${output.name}"`).join(", ") || "none";
      const at = `variant "${parent.name}/${variant.name}" outputs`;
      throw unfit(at, found, `"${name}", which task "${child.name}" is fed`);
    }
  }
}

/**
 * @throws RuntimeError RUNTIME_MODEL if an input of the child has a tensor that it cannot take.
 */
export function servedFeed(
  { parent, child, feed, gather }: FedEdge,
  before: TaskTensors,
  { inputs }: TaskTensors,
): ServedFeed {
  const at = `task "${child.name}"`;
  const fed = feed?.inputs ?? [];
  const passed = feed?.passed ?? [];
  const unknown = [...fed, ...passed].find(({ input }) => {
    return !inputs.some(({ name }) => name === input);
  });
  if (unknown !== undefined) {
    const allowed = "an input of its variants, or one that it passes on";
    throw unfit(`${at} feed "${unknown.input}"`, namesOf(inputs), allowed);
  }
  const lost = passed.find(({ parentInput }) => {
    return !before.inputs.some(({ name }) => name === parentInput);
  });
  if (lost !== undefined) {
    const allowed = `"${lost.parentInput}", which task "${child.name}" is passed`;
    throw unfit(`task "${parent.name}" inputs`, namesOf(before.inputs), allowed);
  }
  const indexIn = (tensors: readonly ModelTensor[], name: string | undefined, to: ModelTensor) => {
    const index = tensors.findIndex((tensor) => tensor.name === name);
    const tensor = tensors[index];
    if (tensor === undefined) return null;
    const given = gatheredTensor(tensor, gather);
    // The size of an open axis is known of outputs only.
    const isOpen = tensors === before.inputs && tensor.rowShape.includes(-1);
    if (isOpen || !canTake(to, given)) {
      const allowed = `what it can take, ${textOf({ ...to, name: tensor.name })}`;
      throw unfit(`${at} input "${to.name}" from "${parent.name}"`, textOf(given), allowed);
    }
    return index;
  };
  return {
    outputByInput: inputs.map((input) => {
      const output = fed.find((one) => one.input === input.name)?.output;
      return indexIn(before.outputs, output, input);
    }),
    passedByInput: inputs.map((input) => {
      const name = passed.find((one) => one.input === input.name)?.parentInput;
      return indexIn(before.inputs, name, input);
    }),
    count: countOf(feed, child.name, parent.name, before.outputs),
  };
}

/**
 * Completes the inputs of each task: open axes have the sizes that earlier tasks give them, and
 * tensors follow that no variant takes and an edge of the task passes on.
 * @throws RuntimeError RUNTIME_MODEL if an axis stays open.
 */
export function wholeInputs(
  tasks: readonly LinkedTask[],
  tensorsByTask: readonly LinkedTensors[],
): LinkedTensors[] {
  const whole: LinkedTensors[] = [];
  for (const [index, tensors] of tensorsByTask.entries()) {
    const task = tasks[index];
    const given = new Map<string, { readonly tensor: ModelTensor; readonly isAll: boolean }>();
    for (const { parent, feed, gather } of task?.edges ?? []) {
      const before = parent === null ? undefined : whole[parent];
      const take = (input: string, name: string, sources: readonly ModelTensor[] = []) => {
        const source = sources.find((one) => one.name === name);
        if (source === undefined || given.has(input)) return;
        const tensor = { ...gatheredTensor(source, gather), name: input };
        given.set(input, { tensor, isAll: gather === "all" });
      };
      for (const { input, output } of feed?.inputs ?? []) take(input, output, before?.outputs);
      for (const { input, parentInput } of feed?.passed ?? []) {
        take(input, parentInput, before?.inputs);
      }
    }
    const inputs = tensors.inputs.map((input, place): ModelTensor => {
      const { tensor, isAll = false } = given.get(input.name) ?? {};
      given.delete(input.name);
      const isSized = (axis: number) =>
        tensors.axes.some((sized) =>
          sized.inputs.some((one) => one.input === place && one.axis === axis + 1),
        );
      const rowShape = input.rowShape.map((size, axis) => {
        return size === -1 && !isSized(axis) ? (tensor?.rowShape[axis] ?? -1) : size;
      });
      // Gathered rows run in a batch of their own, so their number may vary.
      const isOpen = (size: number, axis: number) =>
        size === -1 && !isSized(axis) && !(isAll && axis === 0);
      if (!rowShape.some(isOpen)) return { ...input, rowShape };
      const at = `task "${task?.name}" input "${input.name}"`;
      throw unfit(at, textOf(input), "only axis 0 dynamic, or sizes that an earlier task gives");
    });
    const passed = tasks.flatMap(({ edges }) =>
      edges.flatMap(({ parent, feed }) => (parent === index ? (feed?.passed ?? []) : [])),
    );
    for (const [name, { tensor }] of given) {
      if (passed.some(({ parentInput }) => parentInput === name)) inputs.push(tensor);
    }
    whole.push({ ...tensors, inputs });
  }
  return whole;
}

/** Returns whether an edge provides an input of its child. */
export function provides({ outputByInput, passedByInput }: ServedFeed, input: number): boolean {
  return (outputByInput[input] ?? passedByInput[input] ?? null) !== null;
}

/** @throws RuntimeError RUNTIME_MODEL if no earlier task provides an input of a task. */
export function checkFedInputs(
  child: string,
  { inputs }: TaskTensors,
  edges: readonly { readonly parent: string; readonly feed: ServedFeed }[],
): void {
  const parents = edges.map(({ parent }) => `"${parent}"`).join(" or ");
  for (const [index, { name }] of inputs.entries()) {
    if (edges.some(({ feed }) => provides(feed, index))) continue;
    throw unfit(`task "${child}" input "${name}"`, "nothing", `an output of task ${parents}`);
  }
}

/** A row is made of the rows that are gathered, along a first axis of its own. */
function gatheredTensor(output: ModelTensor, gather: StageEdge["gather"]): ModelTensor {
  if (gather === undefined) return output;
  return { ...output, rowShape: [gather === "all" ? -1 : gather, ...output.rowShape] };
}

/** A dimension that is open before is checked at every batch. */
function canTake(input: ModelTensor, output: ModelTensor): boolean {
  const { rowShape } = input;
  return (
    input.datatype === output.datatype &&
    rowShape.length === output.rowShape.length &&
    output.rowShape.every((size, axis) => {
      return size < 0 || size === rowShape[axis] || rowShape[axis] === -1;
    })
  );
}

function countOf(
  feed: Feed | null,
  childName: string,
  parentName: string,
  outputs: readonly ModelTensor[],
): number | null {
  if (feed === null || feed.count === null) return null;
  const index = outputs.findIndex((output) => output.name === feed.count);
  const tensor = outputs[index];
  const isCount = tensor?.datatype === "INT64" && elementCountOf(tensor.rowShape) === 1;
  if (tensor !== undefined && isCount) return index;
  const found = tensor === undefined ? "nothing" : textOf(tensor);
  throw unfit(`task "${childName}" count from "${parentName}"`, found, "INT64 [rows]");
}
