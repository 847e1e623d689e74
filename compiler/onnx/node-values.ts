/** Values that a node of a graph reads and writes. */
import { OnnxModelError } from "./onnx-model-error.ts";
import type { FunctionProto, GraphProto, NodeProto } from "./onnx-pb.ts";

/** Maximum nesting of bodies and functions; exporters stay far below. */
const MAX_NESTING = 32;

/**
 * Returns the values of the surrounding graph that a node reads, each once: its inputs, and what
 * its bodies (of If, Loop, Scan) capture.
 */
export function readsOf(node: NodeProto, nesting = 0): string[] {
  const reads = new Set(node.input);
  for (const body of bodiesOf(node)) {
    for (const name of outerValues(body, checkNesting(nesting + 1))) reads.add(name);
  }
  reads.delete("");
  return [...reads];
}

/** Returns the values that a node produces; omitted optional outputs have no name. */
export function writesOf(node: NodeProto): string[] {
  return node.output.filter((name) => name !== "");
}

/** Returns the graphs among a node's attributes. */
export function bodiesOf({ attribute }: NodeProto): GraphProto[] {
  return attribute.flatMap(({ g, graphs }) => (g === undefined ? graphs : [g, ...graphs]));
}

/** Returns the names of the constants that a graph stores. */
export function initializerNames({ initializer, sparseInitializer }: GraphProto): string[] {
  return [
    ...initializer.map(({ name }) => name),
    ...sparseInitializer.flatMap(({ values }) => (values === undefined ? [] : [values.name])),
  ];
}

/** Returns the key by which a node names the model's function that it calls. */
export function functionKey(callee: { domain: string; overload: string }, name: string): string {
  return [callee.domain, name, callee.overload].join("\n");
}

export type FunctionsByKey = ReadonlyMap<string, FunctionProto>;

export function functionsByKey(functions: readonly FunctionProto[]): FunctionsByKey {
  return new Map(functions.map((called) => [functionKey(called, called.name), called]));
}

/** @throws OnnxModelError if graphs and functions are nested deeper than allowed. */
export function checkNesting(nesting: number): number {
  if (nesting <= MAX_NESTING) return nesting;
  const allowed = `allowed: at most ${MAX_NESTING} levels`;
  throw new OnnxModelError(`bodies and functions are nested too deeply; ${allowed}`);
}

function outerValues(body: GraphProto, nesting: number): string[] {
  const own = new Set([...body.input.map(({ name }) => name), ...initializerNames(body)]);
  for (const node of body.node) for (const name of writesOf(node)) own.add(name);
  const read = body.node.flatMap((node) => readsOf(node, nesting));
  return [...read, ...body.output.map(({ name }) => name)].filter((name) => !own.has(name));
}
