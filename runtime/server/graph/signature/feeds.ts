/** Maps outputs of a task to inputs of the next; checked before serving starts. */
import type { Feed, StageEdge } from "../../../bundle/schema.ts";
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

export interface ServedFeed {
  /**
   * Index among the outputs of the parent for each input of the child; null where this edge
   * provides none.
   */
  readonly outputByInput: readonly (number | null)[];
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
 * @throws RuntimeError RUNTIME_MODEL if an input of the child has an output that it cannot take.
 */
export function servedFeed(
  { parent, child, feed, gather }: FedEdge,
  { outputs }: TaskTensors,
  { inputs }: TaskTensors,
): ServedFeed {
  const at = `task "${child.name}"`;
  const fed = feed?.inputs ?? [];
  const unknown = fed.find(({ input }) => !inputs.some(({ name }) => name === input));
  if (unknown !== undefined) {
    throw unfit(`${at} feed "${unknown.input}"`, namesOf(inputs), "an input of its variants");
  }
  const outputByInput = inputs.map((input) => {
    const output = fed.find((one) => one.input === input.name)?.output;
    const index = outputs.findIndex(({ name }) => name === output);
    const tensor = outputs[index];
    if (tensor === undefined) return null;
    const given = gatheredTensor(tensor, gather);
    if (!canTake(input, given)) {
      const allowed = `what it can take, ${textOf({ ...input, name: tensor.name })}`;
      throw unfit(`${at} input "${input.name}" from "${parent.name}"`, textOf(given), allowed);
    }
    return index;
  });
  return { outputByInput, count: countOf(feed, child.name, parent.name, outputs) };
}

/** @throws RuntimeError RUNTIME_MODEL if no earlier task provides an input of a task. */
export function checkFedInputs(
  child: string,
  { inputs }: TaskTensors,
  edges: readonly { readonly parent: string; readonly feed: ServedFeed }[],
): void {
  const parents = edges.map(({ parent }) => `"${parent}"`).join(" or ");
  for (const [index, { name }] of inputs.entries()) {
    if (edges.some(({ feed }) => feed.outputByInput[index] !== null)) continue;
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
