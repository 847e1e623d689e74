/** How outputs of a task become inputs of the next, checked before anything is served. */
import type { PipelineTask } from "../../bundle/schema.ts";
import { elementCountOf } from "../datatypes.ts";
import {
  type ModelTensor,
  modelOf,
  namesOf,
  type TaskTensors,
  textOf,
  unfit,
} from "../signature.ts";

export interface ServedFeed {
  /** Of each input of the child, index among the outputs of the parent. */
  readonly outputByInput: readonly number[];
  /** Index among the outputs of the parent of the number of rows for each of its rows; null for one each. */
  readonly count: number | null;
}

/** @throws RuntimeError RUNTIME_MODEL if a variant of the parent lacks an output that is sent on. */
export function checkFedOutputs(parent: PipelineTask, child: PipelineTask): void {
  const { feed } = child;
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

/** @throws RuntimeError RUNTIME_MODEL if an input of the child has no output, or one that it cannot take. */
export function servedFeed(
  child: PipelineTask,
  { inputs }: TaskTensors,
  parentName: string,
  { outputs }: TaskTensors,
): ServedFeed {
  const at = `task "${child.name}"`;
  const fed = child.feed?.inputs ?? [];
  const unknown = fed.find(({ input }) => !inputs.some(({ name }) => name === input));
  if (unknown !== undefined) {
    throw unfit(`${at} feed "${unknown.input}"`, namesOf(inputs), "an input of its variants");
  }
  const outputByInput = inputs.map((input) => {
    const output = fed.find((one) => one.input === input.name)?.output;
    const index = outputs.findIndex(({ name }) => name === output);
    const tensor = outputs[index];
    if (tensor === undefined) {
      throw unfit(`${at} input "${input.name}"`, "nothing", `an output of task "${parentName}"`);
    }
    if (!canTake(input, tensor)) {
      const allowed = `what it can take, ${textOf({ ...input, name: tensor.name })}`;
      throw unfit(`${at} input "${input.name}" from "${parentName}"`, textOf(tensor), allowed);
    }
    return index;
  });
  return { outputByInput, count: countOf(child, parentName, outputs) };
}

/** A dimension that is open before is checked at every batch. */
function canTake(input: ModelTensor, output: ModelTensor): boolean {
  const { rowShape } = input;
  return (
    input.datatype === output.datatype &&
    rowShape.length === output.rowShape.length &&
    output.rowShape.every((size, axis) => size < 0 || size === rowShape[axis])
  );
}

function countOf(
  { name, feed }: PipelineTask,
  parentName: string,
  outputs: readonly ModelTensor[],
): number | null {
  if (feed === null || feed.count === null) return null;
  const index = outputs.findIndex((output) => output.name === feed.count);
  const tensor = outputs[index];
  const isCount = tensor?.datatype === "INT64" && elementCountOf(tensor.rowShape) === 1;
  if (tensor !== undefined && isCount) return index;
  const found = tensor === undefined ? "nothing" : textOf(tensor);
  throw unfit(`task "${name}" count from "${parentName}"`, found, "INT64 [rows]");
}
