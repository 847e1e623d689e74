/**
 * ONNX models written as protobuf by hand: operator set 13, in the file format that came with it.
 */
import { bytes, integer, string } from "../../tools/onnx-protobuf.js";

interface GraphTensor {
  readonly name: string;
  readonly type: ElementType;
  /** A name where a dimension is open. */
  readonly shape: readonly (number | string)[];
}

interface GraphNode {
  readonly op: string;
  readonly inputs: readonly string[];
  readonly output: string;
  /** Whole numbers. */
  readonly attributes?: Readonly<Record<string, number>>;
}

interface GraphConstant {
  readonly name: string;
  readonly type: "float32" | "int64";
  readonly shape: readonly number[];
  readonly values: readonly number[];
}

export interface Graph {
  readonly inputs: readonly GraphTensor[];
  readonly outputs: readonly GraphTensor[];
  readonly nodes: readonly GraphNode[];
  readonly constants?: readonly GraphConstant[];
}

type ElementType = "float32" | "int64" | "int32";

const ELEMENT_TYPES: Readonly<Record<ElementType, number>> = { float32: 1, int32: 6, int64: 7 };
const FILE_FORMAT = 8;
const OPERATOR_SET = 13;
const INTEGER_ATTRIBUTE = 2;

export function onnxModel({ inputs, outputs, nodes, constants = [] }: Graph): Uint8Array {
  const graph = [
    ...nodes.flatMap((node) => bytes(1, nodeOf(node))),
    ...string(2, "graph"),
    ...constants.flatMap((constant) => bytes(5, constantOf(constant))),
    ...inputs.flatMap((tensor) => bytes(11, tensorOf(tensor))),
    ...outputs.flatMap((tensor) => bytes(12, tensorOf(tensor))),
  ];
  const operators = bytes(8, integer(2, OPERATOR_SET));
  return Uint8Array.from([...integer(1, FILE_FORMAT), ...bytes(7, graph), ...operators]);
}

function nodeOf({ op, inputs, output, attributes = {} }: GraphNode): number[] {
  const attributeBytes = Object.entries(attributes).flatMap(([name, value]) =>
    bytes(5, [...string(1, name), ...integer(3, value), ...integer(20, INTEGER_ATTRIBUTE)]),
  );
  const named = inputs.flatMap((input) => string(1, input));
  return [...named, ...string(2, output), ...string(4, op), ...attributeBytes];
}

function constantOf({ name, type, shape, values }: GraphConstant): number[] {
  const data =
    type === "float32" ? new Float32Array(values) : BigInt64Array.from(values, (v) => BigInt(v));
  return [
    ...shape.flatMap((size) => integer(1, size)),
    ...integer(2, ELEMENT_TYPES[type]),
    ...string(8, name),
    ...bytes(9, new Uint8Array(data.buffer)),
  ];
}

function tensorOf({ name, type, shape }: GraphTensor): number[] {
  const dimensions = shape.flatMap((size) =>
    bytes(1, typeof size === "number" ? integer(1, size) : string(2, size)),
  );
  const tensorType = [...integer(1, ELEMENT_TYPES[type]), ...bytes(2, dimensions)];
  return [...string(1, name), ...bytes(2, bytes(1, tensorType))];
}
