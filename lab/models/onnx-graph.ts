/** ONNX models written as protobuf by hand, and models that get more nodes: operator set 13. */
import { bytes, fieldsOf, integer, string } from "./onnx-protobuf.ts";

interface GraphTensor {
  readonly name: string;
  readonly type: ElementType;
  /** A name where a dimension is open. */
  readonly shape: readonly (number | string)[];
}

export interface GraphNode {
  readonly op: string;
  readonly inputs: readonly string[];
  /** One name, or several; an empty one is left out. */
  readonly output: string | readonly string[];
  /** Whole numbers. */
  readonly attributes?: Readonly<Record<string, number | readonly number[]>>;
  /** Attributes that are texts. */
  readonly texts?: Readonly<Record<string, string>>;
}

export interface GraphConstant {
  readonly name: string;
  readonly type: "float32" | "int64" | "uint8";
  readonly shape: readonly number[];
  readonly values: Iterable<number>;
}

/** What is added to a graph. */
interface Extension {
  readonly nodes: readonly GraphNode[];
  readonly constants?: readonly GraphConstant[];
  readonly outputs: readonly GraphTensor[];
}

interface Graph extends Extension {
  readonly name?: string;
  readonly inputs: readonly GraphTensor[];
}

type ElementType = "float32" | "uint8" | "int32" | "int64" | "string";

const ELEMENT_TYPES: Readonly<Record<ElementType, number>> = {
  float32: 1,
  uint8: 2,
  int32: 6,
  int64: 7,
  string: 8,
};
const FILE_FORMAT = 8;
const OPERATOR_SET = 13;
const INTEGER_ATTRIBUTE = 2;
const STRING_ATTRIBUTE = 3;
const INTEGERS_ATTRIBUTE = 7;
/** Field numbers of onnx.proto. */
export const MODEL_GRAPH = 7;
export const GRAPH_INITIALIZER = 5;
const GRAPH_NODE = 1;
const GRAPH_NAME = 2;
const GRAPH_INPUT = 11;
const GRAPH_OUTPUT = 12;

/** A whole model, in the file format that came with its operator set. */
export function onnxModel(graph: Graph): Uint8Array<ArrayBuffer> {
  const { name = "graph", nodes, constants = [], inputs, outputs } = graph;
  const fields = [
    ...nodes.flatMap((node) => bytes(GRAPH_NODE, nodeOf(node))),
    ...string(GRAPH_NAME, name),
    ...constants.flatMap((constant) => bytes(GRAPH_INITIALIZER, constantOf(constant))),
    ...inputs.flatMap((tensor) => bytes(GRAPH_INPUT, tensorOf(tensor))),
    ...outputs.flatMap((tensor) => bytes(GRAPH_OUTPUT, tensorOf(tensor))),
  ];
  const operators = bytes(8, integer(2, OPERATOR_SET));
  return Uint8Array.from([...integer(1, FILE_FORMAT), ...bytes(MODEL_GRAPH, fields), ...operators]);
}

/**
 * A model as it is, with nodes behind its own. @param model ONNX, operator set 13.
 * @param keepsOutputs whether its outputs stay outputs.
 */
export function extendedModel(
  model: Uint8Array,
  extension: Extension,
  keepsOutputs: boolean,
): Uint8Array<ArrayBuffer> {
  const parts = fieldsOf(model).map(({ number, value, bytes: written }) =>
    number === MODEL_GRAPH && typeof value !== "number"
      ? bytes(MODEL_GRAPH, extendedGraph(value, extension, keepsOutputs))
      : written,
  );
  return Uint8Array.from(Buffer.concat(parts.map((part) => Uint8Array.from(part))));
}

/** Fields of one kind may come in any order among the others, so what is added comes last. */
function extendedGraph(
  graph: Uint8Array,
  { nodes, constants = [], outputs }: Extension,
  keepsOutputs: boolean,
): number[] {
  return [
    ...fieldsOf(graph)
      .filter(({ number }) => keepsOutputs || number !== GRAPH_OUTPUT)
      .flatMap((field) => [...field.bytes]),
    ...nodes.flatMap((node) => bytes(GRAPH_NODE, nodeOf(node))),
    ...constants.flatMap((constant) => bytes(GRAPH_INITIALIZER, constantOf(constant))),
    ...outputs.flatMap((tensor) => bytes(GRAPH_OUTPUT, tensorOf(tensor))),
  ];
}

function nodeOf({ op, inputs, output, attributes = {}, texts = {} }: GraphNode): number[] {
  const outputs = typeof output === "string" ? [output] : output;
  return [
    ...inputs.flatMap((input) => string(1, input)),
    ...outputs.flatMap((name) => string(2, name)),
    ...string(4, op),
    ...Object.entries(attributes).flatMap(([name, value]) => bytes(5, attributeOf(name, value))),
    ...Object.entries(texts).flatMap(([name, value]) => {
      return bytes(5, [...string(1, name), ...string(4, value), ...integer(20, STRING_ATTRIBUTE)]);
    }),
  ];
}

function attributeOf(name: string, value: number | readonly number[]): number[] {
  return typeof value === "number"
    ? [...string(1, name), ...integer(3, value), ...integer(20, INTEGER_ATTRIBUTE)]
    : [
        ...string(1, name),
        ...value.flatMap((one) => integer(8, one)),
        ...integer(20, INTEGERS_ATTRIBUTE),
      ];
}

function constantOf({ name, type, shape, values }: GraphConstant): number[] {
  return [
    ...shape.flatMap((size) => integer(1, size)),
    ...integer(2, ELEMENT_TYPES[type]),
    ...string(8, name),
    ...bytes(9, new Uint8Array(dataOf(type, values).buffer)),
  ];
}

function dataOf(type: GraphConstant["type"], values: Iterable<number>) {
  if (type === "float32") return Float32Array.from(values);
  if (type === "uint8") return Uint8Array.from(values);
  return BigInt64Array.from([...values], (value) => BigInt(value));
}

function tensorOf({ name, type, shape }: GraphTensor): number[] {
  const dimensions = shape.flatMap((size) =>
    bytes(1, typeof size === "number" ? integer(1, size) : string(2, size)),
  );
  const tensorType = [...integer(1, ELEMENT_TYPES[type]), ...bytes(2, dimensions)];
  return [...string(1, name), ...bytes(2, bytes(1, tensorType))];
}
