/**
 * A pipeline as one model: the client sees the inputs of the entry tasks and the outputs of all
 * tasks.
 */
import { type BucketAxis, bucketCount } from "../../../bundle/schema.ts";
import { assert } from "../../../core/assert.ts";
import {
  type ClientOutput,
  type ClientSignature,
  type ModelTensor,
  namesOf,
  paddingText,
  type ServedVariant,
  sharedAxes,
  sizedSignature,
  type TaskTensors,
  taskTensors,
  textOf,
  unfit,
} from "../../tensors/signature.ts";
import {
  checkFedInputs,
  checkFedOutputs,
  type LinkedTensors,
  provides,
  type ServedFeed,
  servedFeed,
  wholeInputs,
} from "./feeds.ts";
import { type LinkedTask, linkedTasks, type PipelineBundle } from "./linked-tasks.ts";
import { type AxisNames, gatedGroupsOf, groupsOf } from "./output-groups.ts";

export interface PipelineSignature extends ClientSignature {
  /** Parents before their children. */
  readonly tasks: readonly TaskSignature[];
  /** Variants of all tasks, in the order of the tasks. */
  readonly variants: readonly PipelineServedVariant[];
  /** Edges from the requests, by ascending child. */
  readonly entryEdges: readonly ServedEdge[];
}

export interface TaskSignature {
  readonly name: string;
  /** Edges that lead here, by ascending parent; in a tree one. */
  readonly edges: readonly ServedEdge[];
  /** Edges that lead away, by ascending child. */
  readonly edgesAway: readonly ServedEdge[];
  /** Whether an edge passes an input on, so that queries keep theirs when they are done. */
  readonly passesOn: boolean;
  /** Inputs of its models, then those that it only passes on. */
  readonly inputs: readonly ModelTensor[];
  /** Axes of its inputs with several sizes; a row is padded to the smallest that hold it. */
  readonly axes: readonly BucketAxis[];
  /** Index of the largest sizes; 0 without such axes. */
  readonly largestBucket: number;
  /** Index in `PipelineSignature.inputs` for each input; −1 where the request does not give it. */
  readonly requestInputs: readonly number[];
  readonly outputs: readonly ModelTensor[];
  /**
   * Outputs that count 0 or 1 for each row: what they count may have a row for each row
   * nevertheless.
   */
  readonly gates: readonly number[];
  /**
   * Whether the client has an additional output of the task with the rows of its request that
   * reached it.
   */
  readonly tellsRows: boolean;
}

export interface ServedEdge {
  /** Null for the requests. */
  readonly parent: number | null;
  readonly child: number;
  /**
   * Chance of a query of the parent, or of a row of a request, to take the edge; in a tree, of an
   * entry.
   */
  readonly share: number;
  /** Null for an edge from the requests. */
  readonly feed: ServedFeed | null;
  /** Whether it makes rows, as many as its count. */
  readonly isFanout: boolean;
  readonly isGather: boolean;
}

export interface PipelineServedVariant extends ServedVariant {
  readonly task: number;
  /** Index among the variants of its task. */
  readonly index: number;
  /**
   * Index of the output that counts its rows, for each output of the task; null if each row has
   * one.
   */
  readonly countByOutput: readonly (number | null)[];
}

/** Name of the output with the row numbers of the request. */
const ROWS_OUTPUT = "request_row";

/**
 * @param axisNames of each variant of all tasks. Without them every output of a tree that is not
 * sent on must have one row each.
 * @throws RuntimeError RUNTIME_MODEL if a variant has no model, or models of a task cannot replace
 * one another or do not fit earlier tasks.
 */
export function pipelineSignatureOf(
  bundle: PipelineBundle,
  axisNames: readonly AxisNames[] = [],
): PipelineSignature {
  const linked = linkedTasks(bundle);
  const tensorsByTask = wholeInputs(linked, checkedTensors(linked));
  const edgesByTask = linked.map((_, child) => servedEdges(linked, tensorsByTask, child));
  const edges = edgesByTask.flat();
  const givenByTask = edgesByTask.map((own, task) => givenInputs(own, at(tensorsByTask, task)));
  const inputs = requestInputsOf(linked, givenByTask);
  const tasks = linked.map(({ name, isVisited, rowsOutput }, task): TaskSignature => {
    const tensors = at(tensorsByTask, task);
    const given = at(givenByTask, task);
    const edgesAway = edges.filter(({ parent }) => parent === task);
    return {
      name,
      edges: at(edgesByTask, task),
      edgesAway,
      passesOn: edgesAway.some(({ feed }) => feed?.passedByInput.some((one) => one !== null)),
      inputs: tensors.inputs,
      axes: tensors.axes,
      largestBucket: bucketCount(tensors.axes) - 1,
      requestInputs: tensors.inputs.map((input) =>
        given.includes(input) ? inputs.findIndex((one) => one.name === input.name) : -1,
      ),
      outputs: tensors.outputs,
      gates: isVisited ? gatesOf(edgesAway) : [],
      tellsRows: rowsOutput !== "none",
    };
  });
  const { application } = bundle;
  const isOne = linked.length === 1;
  const variants = servedVariants(linked, tensorsByTask, axisNames);
  return {
    outputsAreRows: linked.every(keepsRows) && variants.every(isUncounted),
    names: isOne ? [...new Set([application, ...linked.map(({ name }) => name)])] : [application],
    ...sizedSignature(inputs, requestAxes(tasks)),
    outputs: tasks.flatMap((task, index) => clientOutputs(task, at(linked, index), isOne)),
    tasks,
    variants,
    entryEdges: edges.filter(({ parent }) => parent === null),
  };
}

/** Whether each row of a request certainly becomes one query of the task. */
function keepsRows({ isVisited, rowsOutput, edges }: LinkedTask): boolean {
  if (isVisited) return rowsOutput === "none";
  return edges.every(({ parent, share, feed }) => {
    return parent === null ? share === 1 : (feed?.count ?? null) === null;
  });
}

function isUncounted({ countByOutput }: PipelineServedVariant): boolean {
  return countByOutput.every((count) => count === null);
}

function checkedTensors(tasks: readonly LinkedTask[]): LinkedTensors[] {
  for (const child of tasks) {
    for (const { parent, feed } of child.edges) {
      if (parent !== null) checkFedOutputs({ parent: at(tasks, parent), child, feed });
    }
  }
  // Errors name a variant with its task.
  return tasks.map(({ name, variants, edges }) => {
    const named = variants.map((variant) => ({ ...variant, name: `${name}/${variant.name}` }));
    const tensors = taskTensors(named, { hasBuckets: true, fed: fedInputs(edges) });
    return { ...tensors, axes: sharedAxes(named) };
  });
}

/** Returns the inputs that earlier tasks give. */
function fedInputs(edges: LinkedTask["edges"]): ReadonlySet<string> {
  const fed = edges.flatMap(({ feed }) => [...(feed?.inputs ?? []), ...(feed?.passed ?? [])]);
  return new Set(fed.map(({ input }) => input));
}

/** Counts of edges that a row takes at most once. */
function gatesOf(edgesAway: readonly ServedEdge[]): number[] {
  const counts = (isFanout: boolean) =>
    edgesAway.flatMap(({ feed, ...edge }) => {
      return edge.isFanout === isFanout && feed?.count != null ? [feed.count] : [];
    });
  const any = counts(true);
  return counts(false).filter((count) => !any.includes(count));
}

function servedEdges(
  tasks: readonly LinkedTask[],
  tensorsByTask: readonly LinkedTensors[],
  child: number,
): ServedEdge[] {
  const task = at(tasks, child);
  const tensors = at(tensorsByTask, child);
  const fed: { readonly parent: string; readonly feed: ServedFeed }[] = [];
  const edges = task.edges.map(({ parent, share, feed: sent, fanout, gather }): ServedEdge => {
    const rows = { isFanout: fanout !== undefined, isGather: gather !== undefined };
    if (parent === null) return { parent, child, share, feed: null, ...rows };
    const from = at(tasks, parent);
    const edge = { parent: from, child: task, feed: sent, ...(gather && { gather }) };
    const feed = servedFeed(edge, at(tensorsByTask, parent), tensors);
    fed.push({ parent: from.name, feed });
    return { parent, child, share, feed, ...rows };
  });
  // A request can give whatever the tasks before do not.
  if (fed.length === edges.length) checkFedInputs(task.name, tensors, fed);
  return edges;
}

/**
 * Inputs of a task that come with the request, if it is an entry: those that no earlier task
 * provides.
 */
function givenInputs(edges: readonly ServedEdge[], { inputs }: TaskTensors): ModelTensor[] {
  if (!edges.some(({ parent }) => parent === null)) return [];
  return inputs.filter((_, index) =>
    edges.every(({ feed }) => feed === null || !provides(feed, index)),
  );
}

/** Entries with an input of the same name share it. */
function requestInputsOf(
  tasks: readonly LinkedTask[],
  givenByTask: readonly (readonly ModelTensor[])[],
): ModelTensor[] {
  const inputs: ModelTensor[] = [];
  for (const [index, { name }] of tasks.entries()) {
    for (const input of at(givenByTask, index)) {
      const known = inputs.find((one) => one.name === input.name);
      if (known === undefined) inputs.push(input);
      else if (textOf(known) !== textOf(input)) {
        const allowed = `${textOf(known)}, as an entry task before has it`;
        throw unfit(`task "${name}" input`, textOf(input), allowed);
      }
    }
  }
  return inputs;
}

/**
 * Axes of several sizes of the inputs that come with a request.
 * @throws as `pipelineSignatureOf`, if entries that share an input pad it to different sizes.
 */
function requestAxes(tasks: readonly TaskSignature[]): BucketAxis[] {
  const axes: BucketAxis[] = [];
  for (const { name, axes: own, requestInputs } of tasks) {
    for (const axis of own) {
      const places = axis.inputs.flatMap((place) => {
        const input = at(requestInputs, place.input);
        return input < 0 ? [] : [{ input, axis: place.axis }];
      });
      const isIn = ({ inputs }: BucketAxis, place: (typeof places)[number]) =>
        inputs.some(({ input, axis }) => input === place.input && axis === place.axis);
      const shared = axes.find((known) => places.some((place) => isIn(known, place)));
      if (shared !== undefined && paddingText(shared) !== paddingText(axis)) {
        const allowed = `${paddingText(shared)}, as an entry task before has them`;
        throw unfit(`task "${name}" sizes of an axis`, paddingText(axis), allowed);
      }
      const inputs = places.filter((place) => !axes.some((known) => isIn(known, place)));
      if (inputs.length > 0) axes.push({ ...axis, inputs });
    }
  }
  return axes;
}

/** Outputs that are sent on are the client's only if it requests them. */
function clientOutputs(
  { name, outputs, edgesAway }: TaskSignature,
  { rowsOutput }: LinkedTask,
  isOne: boolean,
): ClientOutput[] {
  const nameOf = (output: string) => (isOne ? output : `${name}.${output}`);
  const own = outputs.map((output, index) => ({
    ...output,
    name: nameOf(output.name),
    isInternal: edgesAway.some(({ feed }) => feed?.outputByInput.includes(index) === true),
  }));
  if (rowsOutput === "none") return own;
  if (outputs.some((output) => output.name === ROWS_OUTPUT)) {
    throw unfit(
      `task "${name}" outputs`,
      namesOf(outputs),
      `no "${ROWS_OUTPUT}": the server adds it`,
    );
  }
  const isInternal = rowsOutput === "internal";
  const rows = { name: nameOf(ROWS_OUTPUT), datatype: "INT64", rowShape: [], isInternal } as const;
  return [...own, rows];
}

function servedVariants(
  tasks: readonly LinkedTask[],
  tensorsByTask: readonly TaskTensors[],
  axisNames: readonly AxisNames[],
): PipelineServedVariant[] {
  const served: PipelineServedVariant[] = [];
  for (const [task, { name: taskName, variants, isVisited }] of tasks.entries()) {
    const { outputs, variants: tensorOrders } = at(tensorsByTask, task);
    const children = tasks.flatMap(({ name, edges }) =>
      edges.flatMap(({ parent, feed, fanout }) =>
        parent === task ? [{ name, feed, isFanout: fanout !== undefined }] : [],
      ),
    );
    const isGated = isVisited && !children.some(({ isFanout }) => isFanout);
    for (const [index, variant] of variants.entries()) {
      const place = `variant "${taskName}/${variant.name}"`;
      const groups = isGated
        ? gatedGroupsOf(variant, children)
        : groupsOf(variant, place, children, axisNames[served.length] ?? {});
      const countByOutput = outputs.map(({ name }) => {
        const count = groups.get(name) ?? null;
        return count === null ? null : outputs.findIndex((output) => output.name === count);
      });
      served.push({ ...at(tensorOrders, index), name: variant.name, task, index, countByOutput });
    }
  }
  return served;
}

/** Element at an index that is known to exist. */
export function at<T>(list: readonly T[], index: number): T {
  const element = list[index];
  assert(element !== undefined, "an index of the pipeline is in range");
  return element;
}
