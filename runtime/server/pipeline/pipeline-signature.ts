/** What a client sees of a pipeline, how each variant orders its tensors, and what goes from task to task. */
import type { LokiBundle, PipelineTask } from "../../bundle/schema.ts";
import { assert } from "../../core/assert.ts";
import {
  type ClientOutput,
  type ClientSignature,
  type ModelTensor,
  type ServedVariant,
  type TaskTensors,
  taskTensors,
  textOf,
  unfit,
} from "../signature.ts";
import { checkFedOutputs, type ServedFeed, servedFeed } from "./feeds.ts";
import { type AxisNames, groupsOf } from "./output-groups.ts";

export interface PipelineSignature extends ClientSignature {
  /** Parents before their children. */
  readonly tasks: readonly TaskSignature[];
  /** Those of all tasks, in the order of the tasks. */
  readonly variants: readonly PipelineServedVariant[];
}

export interface TaskSignature {
  readonly name: string;
  readonly parent: number | null;
  readonly entryShare: number;
  readonly children: readonly number[];
  readonly inputs: readonly ModelTensor[];
  /** Of each input, index in `PipelineSignature.inputs`; empty unless the task is an entry. */
  readonly requestInputs: readonly number[];
  /** Null for an entry. */
  readonly feed: ServedFeed | null;
  readonly outputs: readonly ModelTensor[];
  /** Index in `PipelineSignature.outputs` of the first of them. */
  readonly firstOutput: number;
}

export interface PipelineServedVariant extends ServedVariant {
  readonly task: number;
  /** Index among the variants of its task. */
  readonly index: number;
  /** Of each output of the task, index of the output that counts its rows; null for a row each. */
  readonly countByOutput: readonly (number | null)[];
}

/**
 * @param axisNames of each variant of all tasks. Without them every output that is not sent on has to be a row each.
 * @throws RuntimeError RUNTIME_MODEL if a variant has no model, models of a task cannot stand in for one another, or do not fit those before.
 */
export function pipelineSignatureOf(
  bundle: LokiBundle,
  axisNames: readonly AxisNames[] = [],
): PipelineSignature {
  const { application, tasks } = bundle;
  for (const child of tasks) {
    const parent = child.parent === null ? undefined : tasks[child.parent];
    if (parent !== undefined) checkFedOutputs(parent, child);
  }
  const tensorsByTask = tasks.map(tensorsOf);
  const inputs = requestInputsOf(tasks, tensorsByTask);
  const served: TaskSignature[] = [];
  let firstOutput = 0;
  for (const [index, task] of tasks.entries()) {
    const tensors = at(tensorsByTask, index);
    const parent = task.parent === null ? null : at(tasks, task.parent).name;
    served.push({
      name: task.name,
      parent: task.parent,
      entryShare: task.entryShare,
      children: [...tasks.keys()].filter((child) => tasks[child]?.parent === index),
      inputs: tensors.inputs,
      requestInputs: tensors.inputs.map(({ name }) => inputs.findIndex((i) => i.name === name)),
      feed:
        parent === null || task.parent === null
          ? null
          : servedFeed(task, tensors, parent, at(tensorsByTask, task.parent)),
      outputs: tensors.outputs,
      firstOutput,
    });
    firstOutput += tensors.outputs.length;
  }
  const isOne = tasks.length === 1;
  return {
    names: isOne ? [...new Set([application, ...tasks.map(({ name }) => name)])] : [application],
    inputs,
    outputs: served.flatMap((task) => clientOutputs(task, served, isOne)),
    tasks: served,
    variants: servedVariants(tasks, tensorsByTask, axisNames),
  };
}

/** Errors name a variant with its task. */
function tensorsOf({ name, variants }: PipelineTask): TaskTensors {
  return taskTensors(variants.map((variant) => ({ ...variant, name: `${name}/${variant.name}` })));
}

/** Entries with an input of the same name share it. */
function requestInputsOf(
  tasks: readonly PipelineTask[],
  tensorsByTask: readonly TaskTensors[],
): ModelTensor[] {
  const inputs: ModelTensor[] = [];
  for (const [index, task] of tasks.entries()) {
    if (task.parent !== null) continue;
    for (const input of at(tensorsByTask, index).inputs) {
      const known = inputs.find(({ name }) => name === input.name);
      if (known === undefined) inputs.push(input);
      else if (textOf(known) !== textOf(input)) {
        const allowed = `${textOf(known)}, as an entry task before has it`;
        throw unfit(`task "${task.name}" input`, textOf(input), allowed);
      }
    }
  }
  return inputs;
}

/** What is sent on is the client's only if it asks for it. */
function clientOutputs(
  task: TaskSignature,
  tasks: readonly TaskSignature[],
  isOne: boolean,
): ClientOutput[] {
  const feeds = task.children.map((child) => at(tasks, child).feed);
  return task.outputs.map((output, index) => ({
    ...output,
    name: isOne ? output.name : `${task.name}.${output.name}`,
    isInternal: feeds.some((feed) => feed?.outputByInput.includes(index) === true),
  }));
}

function servedVariants(
  tasks: readonly PipelineTask[],
  tensorsByTask: readonly TaskTensors[],
  axisNames: readonly AxisNames[],
): PipelineServedVariant[] {
  const served: PipelineServedVariant[] = [];
  for (const [task, { name: taskName, variants }] of tasks.entries()) {
    const { outputs, variants: tensorOrders } = at(tensorsByTask, task);
    const children = tasks.filter(({ parent }) => parent === task);
    for (const [index, variant] of variants.entries()) {
      const place = `variant "${taskName}/${variant.name}"`;
      const groups = groupsOf(variant, place, children, axisNames[served.length] ?? {});
      const countByOutput = outputs.map(({ name }) => {
        const count = groups.get(name) ?? null;
        return count === null ? null : outputs.findIndex((output) => output.name === count);
      });
      served.push({ ...at(tensorOrders, index), name: variant.name, task, index, countByOutput });
    }
  }
  return served;
}

/** An element that is known to be there. */
export function at<T>(list: readonly T[], index: number): T {
  const element = list[index];
  assert(element !== undefined, "an index of the pipeline is in range");
  return element;
}
