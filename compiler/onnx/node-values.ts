/** Says which values a node of a graph reads and writes. */
import { OnnxModelError } from "./onnx-model-error.ts";
import type { FunctionProto, GraphProto, NodeProto } from "./onnx-pb.ts";

/** Bodies inside bodies, and functions that call functions: no exporter comes close. */
const MAX_NESTING = 32;

/**
 * Values of the surrounding graph that a node reads, each once: its inputs, and what its bodies (of
 * If, Loop, Scan) take from outside themselves.
 */
export function readsOf(node: NodeProto, nesting = 0): string[] {
  const reads = new Set(node.input);
  for (const body of bodiesOf(node)) {
    for (const name of outerValues(body, checkNesting(nesting + 1))) reads.add(name);
  }
  reads.delete("");
  return [...reads];
}

/** Values that a node gives; those that an exporter left out have no name. */
export function writesOf(node: NodeProto): string[] {
  return node.output.filter((name) => name !== "");
}

/** The graphs among a node's attributes. */
export function bodiesOf({ attribute }: NodeProto): GraphProto[] {
  return attribute.flatMap(({ g, graphs }) => (g === undefined ? graphs : [g, ...graphs]));
}

/** Names of the constants that a graph holds as data. */
export function initializerNames({ initializer, sparseInitializer }: GraphProto): string[] {
  return [
    ...initializer.map(({ name }) => name),
    ...sparseInitializer.flatMap(({ values }) => (values === undefined ? [] : [values.name])),
  ];
}

/** How a node names the function of the model that it calls, if there is one. */
export function functionKey(callee: { domain: string; overload: string }, name: string): string {
  return [callee.domain, name, callee.overload].join("\n");
}

export type FunctionsByKey = ReadonlyMap<string, FunctionProto>;

export function functionsByKey(functions: readonly FunctionProto[]): FunctionsByKey {
  return new Map(functions.map((called) => [functionKey(called, called.name), called]));
}

/** @throws OnnxModelError where graphs and functions are nested deeper than is taken. */
export function checkNesting(nesting: number): number {
  if (nesting <= MAX_NESTING) return nesting;
  const allowed = `at most ${MAX_NESTING} of them are taken`;
  throw new OnnxModelError(`expected bodies and functions nested within bounds; ${allowed}`);
}

function outerValues(body: GraphProto, nesting: number): string[] {
  const own = new Set([...body.input.map(({ name }) => name), ...initializerNames(body)]);
  for (const node of body.node) for (const name of writesOf(node)) own.add(name);
  const read = body.node.flatMap((node) => readsOf(node, nesting));
  return [...read, ...body.output.map(({ name }) => name)].filter((name) => !own.has(name));
}
