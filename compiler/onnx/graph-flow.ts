/**
 * Data flow of a graph: the nodes that must run for an instance, in topological order, and the
 * constants.
 */
import type { FunctionsByKey } from "./node-values.ts";
import {
  bodiesOf,
  checkNesting,
  functionKey,
  initializerNames,
  readsOf,
  writesOf,
} from "./node-values.ts";
import { OnnxModelError } from "./onnx-model-error.ts";
import type { GraphProto, NodeProto } from "./onnx-pb.ts";

export interface FlowNode {
  readonly node: NodeProto;
  /** Values of the graph that it reads, including those that only its bodies read. */
  readonly reads: readonly string[];
  readonly writes: readonly string[];
}

export interface GraphFlow {
  /** Inputs without a value in the graph. */
  readonly inputNames: readonly string[];
  readonly outputNames: readonly string[];
  /**
   * Nodes that depend on the inputs and lead to an output, in topological order: the file's order
   * if it is one.
   */
  readonly steps: readonly FlowNode[];
  /** Nodes that depend on no input, by the value they produce. */
  readonly constantNodes: ReadonlyMap<string, FlowNode>;
  /** Values that depend on the inputs, and the inputs. */
  readonly varying: ReadonlySet<string>;
  /** Values whose shape may depend on the data, even if some runs give the same shape. */
  readonly dataShaped: ReadonlySet<string>;
}

/** The number of elements of their outputs depends on the data. */
const DATA_SHAPED_OPS: ReadonlySet<string> = new Set([
  "NonZero",
  "NonMaxSuppression",
  "Compress",
  "Unique",
]);

/** Random operators: two runs give different values without any input. */
const DRAWING_OPS: ReadonlySet<string> = new Set([
  "RandomNormal",
  "RandomUniform",
  "RandomNormalLike",
  "RandomUniformLike",
  "Bernoulli",
  "Multinomial",
]);

/**
 * @throws OnnxModelError if a value is read that no node produces, is produced twice, or depends on
 * itself; without the file's name.
 */
export function flowOf(graph: GraphProto, functions: FunctionsByKey): GraphFlow {
  const held = new Set(initializerNames(graph));
  const inputNames = graph.input.map(({ name }) => name).filter((name) => !held.has(name));
  const outputNames = graph.output.map(({ name }) => name);
  const producers = producersOf(graph, new Set([...held, ...inputNames]));
  const order = neededInOrder(outputNames, producers, new Set([...held, ...inputNames]));
  const varying = new Set(inputNames);
  const dataShaped = new Set<string>();
  const steps: FlowNode[] = [];
  const constantNodes = new Map<string, FlowNode>();
  for (const step of order) {
    const isConstant = !step.reads.some((name) => varying.has(name));
    if (isConstant && !isAmong(DRAWING_OPS, step.node, functions)) {
      for (const name of step.writes) constantNodes.set(name, step);
      continue;
    }
    steps.push(step);
    for (const name of step.writes) varying.add(name);
    const hasDataShape = isAmong(DATA_SHAPED_OPS, step.node, functions);
    if (!hasDataShape && !step.reads.some((name) => dataShaped.has(name))) continue;
    for (const name of step.writes) dataShaped.add(name);
  }
  return { inputNames, outputNames, steps, constantNodes, varying, dataShaped };
}

/** Name of a node in messages. */
export function nodeLabel({ name, opType, output }: NodeProto): string {
  return name === ""
    ? `the ${opType} that produces "${output[0] ?? ""}"`
    : `node "${name}" (${opType})`;
}

function producersOf(graph: GraphProto, given: ReadonlySet<string>): Map<string, FlowNode> {
  const producers = new Map<string, FlowNode>();
  for (const node of graph.node) {
    const step = { node, reads: readsOf(node), writes: writesOf(node) };
    for (const name of step.writes) {
      if (given.has(name) || producers.has(name)) {
        const found = `${nodeLabel(node)} produces "${name}", which exists already`;
        throw new OnnxModelError(`${found}; allowed: every value is produced once`);
      }
      producers.set(name, step);
    }
  }
  return producers;
}

/**
 * Returns the nodes on which the outputs depend. The file's order is kept where each node comes
 * after those it reads from.
 */
function neededInOrder(
  outputNames: readonly string[],
  producers: ReadonlyMap<string, FlowNode>,
  given: ReadonlySet<string>,
): FlowNode[] {
  const needed = new Set<FlowNode>();
  const open = [...outputNames];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    const producer = producers.get(name);
    if (producer === undefined && !given.has(name)) {
      throw new OnnxModelError(`expected a node that produces the output "${name}", found none`);
    }
    if (producer === undefined || needed.has(producer)) continue;
    needed.add(producer);
    for (const read of producer.reads) {
      if (!given.has(read) && !producers.has(read)) {
        const found = `${nodeLabel(producer.node)} reads "${read}", which no node produces`;
        throw new OnnxModelError(`${found}; allowed: inputs, initializers and values of nodes`);
      }
      open.push(read);
    }
  }
  return topological(new Set(producers.values()), needed, producers);
}

/**
 * Sorts depth first in the file's order: a node that comes too early is preceded by those it reads
 * from.
 */
function topological(
  inFileOrder: ReadonlySet<FlowNode>,
  needed: ReadonlySet<FlowNode>,
  producers: ReadonlyMap<string, FlowNode>,
): FlowNode[] {
  const ordered = new Set<FlowNode>();
  for (const first of inFileOrder) {
    if (!needed.has(first) || ordered.has(first)) continue;
    const waiting = new Set([first]);
    const stack = [first];
    for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
      const missing = top.reads
        .map((name) => producers.get(name))
        .find((producer) => producer !== undefined && !ordered.has(producer));
      if (missing === undefined) {
        ordered.add(top);
        stack.pop();
      } else if (waiting.has(missing)) {
        const found = `${nodeLabel(missing.node)} depends on its own output`;
        throw new OnnxModelError(`${found}; allowed: a graph without cycles`);
      } else {
        waiting.add(missing);
        stack.push(missing);
      }
    }
  }
  return [...ordered];
}

/** Returns whether a node, its bodies or a function it calls contains one of these operators. */
function isAmong(
  ops: ReadonlySet<string>,
  node: NodeProto,
  functions: FunctionsByKey,
  nesting = 0,
): boolean {
  if (ops.has(node.opType)) return true;
  const called = functions.get(functionKey(node, node.opType));
  const inner = [...bodiesOf(node).flatMap((body) => body.node), ...(called?.node ?? [])];
  if (inner.length === 0) return false;
  checkNesting(nesting + 1);
  return inner.some((one) => isAmong(ops, one, functions, nesting + 1));
}
