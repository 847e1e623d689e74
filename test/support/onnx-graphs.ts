/**
 * Small ONNX models with random weights, of the shapes that nets have; each of operator set 17
 * unless told otherwise.
 */
import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import {
  type AttributeProto,
  AttributeProtoSchema,
  AttributeProto_AttributeType as AttributeType,
  TensorProto_DataType as DataType,
  type GraphProto,
  GraphProtoSchema,
  ModelProtoSchema,
  type NodeProto,
  NodeProtoSchema,
  type TensorProto,
  TensorProtoSchema,
  type ValueInfoProto,
  ValueInfoProtoSchema,
} from "../../compiler/onnx/onnx-pb.ts";
import { Rng } from "../../runtime/core/rng.ts";

type Attribute = number | string | readonly number[] | GraphProto | TensorProto;

/** A tensor whose open dimensions have names; `undefined` for one without a shape. */
export function tensorOf(
  name: string,
  shape: readonly (number | string)[] | undefined,
  elemType: number = DataType.FLOAT,
): ValueInfoProto {
  const dim = shape?.map((size) => ({
    value:
      typeof size === "number"
        ? ({ case: "dimValue", value: BigInt(size) } as const)
        : ({ case: "dimParam", value: size } as const),
  }));
  const value = dim === undefined ? { elemType } : { elemType, shape: { dim } };
  return create(ValueInfoProtoSchema, { name, type: { value: { case: "tensorType", value } } });
}

/** Nodes one after the other; each call gives the name of its value. */
export class GraphBuilder {
  readonly nodes: NodeProto[] = [];
  readonly initializers: TensorProto[] = [];
  readonly #rng: Rng;
  #count = 0;

  constructor(seed = 1) {
    this.#rng = new Rng(seed, 0);
  }

  node(
    opType: string,
    input: readonly string[],
    attributes: Readonly<Record<string, Attribute>> = {},
    more: { output?: readonly string[]; domain?: string; name?: string } = {},
  ): string {
    const output = [...(more.output ?? [`v${this.#count++}`])];
    const attribute = Object.entries(attributes).map(([name, value]) => attributeOf(name, value));
    const { domain = "", name = "" } = more;
    this.nodes.push(
      create(NodeProtoSchema, { opType, input: [...input], output, attribute, domain, name }),
    );
    return output[0] ?? "";
  }

  /** Random numbers in [−½, ½). */
  weight(shape: readonly number[]): string {
    const size = shape.reduce((product, length) => product * length, 1);
    return this.floats(
      shape,
      Array.from({ length: size }, () => this.#rng.nextFloat() - 0.5),
    );
  }

  floats(shape: readonly number[], values: readonly number[], name = `w${this.#count++}`): string {
    this.initializers.push(floatTensor(name, shape, values));
    return name;
  }

  ints(values: readonly number[], shape: readonly number[] = [values.length]): string {
    const name = `i${this.#count++}`;
    this.initializers.push(intTensor(name, shape, values));
    return name;
  }

  bool(value: boolean): string {
    const name = `b${this.#count++}`;
    const rawData = Uint8Array.of(value ? 1 : 0);
    this.initializers.push(create(TensorProtoSchema, { name, dataType: DataType.BOOL, rawData }));
    return name;
  }

  conv(x: string, from: number, to: number, size = 3): string {
    const weights = [this.weight([to, from, size, size]), this.weight([to])];
    const pad = (size - 1) / 2;
    const pads = [pad, pad, pad, pad];
    return this.node("Conv", [x, ...weights], { kernel_shape: [size, size], pads });
  }

  relu(x: string): string {
    return this.node("Relu", [x]);
  }

  /** Ends in 5 numbers. */
  head(x: string, channels: number, output: string): void {
    const pooled = this.node("GlobalAveragePool", [x]);
    const flat = this.node("Flatten", [pooled]);
    const weights = [this.weight([channels, 5]), this.weight([5])];
    this.node("Gemm", [flat, ...weights], {}, { output: [output] });
  }

  graph(
    input: readonly ValueInfoProto[],
    output: readonly ValueInfoProto[],
    more: MessageInitShape<typeof GraphProtoSchema> = {},
  ): GraphProto {
    return create(GraphProtoSchema, {
      name: "graph",
      node: this.nodes,
      initializer: this.initializers,
      input: [...input],
      output: [...output],
      ...more,
    });
  }
}

export function floatTensor(
  name: string,
  dims: readonly number[],
  values: readonly number[],
): TensorProto {
  const rawData = new Uint8Array(Float32Array.from(values).buffer);
  return create(TensorProtoSchema, {
    name,
    dataType: DataType.FLOAT,
    dims: dims.map(BigInt),
    rawData,
  });
}

export function intTensor(
  name: string,
  dims: readonly number[],
  values: readonly number[],
): TensorProto {
  const rawData = new Uint8Array(BigInt64Array.from(values.map(BigInt)).buffer);
  return create(TensorProtoSchema, {
    name,
    dataType: DataType.INT64,
    dims: dims.map(BigInt),
    rawData,
  });
}

export function modelOf(
  graph: GraphProto,
  more: MessageInitShape<typeof ModelProtoSchema> = {},
): Uint8Array {
  const opsetImport = [{ domain: "", version: 17n }];
  return toBinary(
    ModelProtoSchema,
    create(ModelProtoSchema, { irVersion: 8n, opsetImport, graph, ...more }),
  );
}

const IMAGE = tensorOf("x", ["batch", 3, 6, 6]);
const FIVE = tensorOf("y", ["batch", 5]);

export function chainModel(): Uint8Array {
  const g = new GraphBuilder(11);
  const first = g.relu(g.conv("x", 3, 4));
  const second = g.node("MaxPool", [g.relu(g.conv(first, 4, 6))], {
    kernel_shape: [2, 2],
    strides: [2, 2],
  });
  g.head(second, 6, "logits");
  g.node("Softmax", ["logits"], { axis: 1 }, { output: ["y"] });
  return modelOf(g.graph([IMAGE], [FIVE]));
}

/** Three blocks with skips, the first two of which share a weight; the last skip is projected. */
export function residualModel(): Uint8Array {
  const g = new GraphBuilder(12);
  const shared = [g.weight([4, 4, 3, 3]), g.weight([4])];
  let x = g.relu(g.conv("x", 3, 4));
  for (let block = 0; block < 2; block++) {
    const inner = g.relu(g.node("Conv", [x, ...shared], { pads: [1, 1, 1, 1] }));
    x = g.relu(g.node("Add", [g.conv(inner, 4, 4), x]));
  }
  const projected = g.conv(x, 4, 6, 1);
  x = g.relu(g.node("Add", [g.conv(g.relu(g.conv(x, 4, 6)), 6, 6), projected]));
  g.head(x, 6, "y");
  return modelOf(g.graph([IMAGE], [FIVE]));
}

/** Two blocks of four branches that are concatenated. */
export function inceptionModel(): Uint8Array {
  const g = new GraphBuilder(13);
  let x = g.relu(g.conv("x", 3, 4));
  let channels = 4;
  for (let block = 0; block < 2; block++) {
    const narrow = g.relu(g.conv(x, channels, 2, 1));
    const three = g.relu(g.conv(g.relu(g.conv(x, channels, 2, 1)), 2, 3));
    const five = g.relu(g.conv(g.relu(g.conv(x, channels, 2, 1)), 2, 2, 5));
    const pooled = g.node("AveragePool", [x], { kernel_shape: [3, 3], pads: [1, 1, 1, 1] });
    x = g.node("Concat", [narrow, three, five, g.conv(pooled, channels, 2, 1)], { axis: 1 });
    channels = 9;
  }
  g.head(x, channels, "y");
  return modelOf(g.graph([IMAGE], [FIVE]));
}

const TOKENS = 5;
const WIDTH = 8;
const HEADS = 2;

/**
 * One block: attention whose shapes are computed from those of its input, as exporters write them,
 * and a perceptron.
 */
export function transformerModel(): Uint8Array {
  const g = new GraphBuilder(14);
  const normal = g.node("LayerNormalization", ["x", g.weight([WIDTH]), g.weight([WIDTH])]);
  const shape = g.node("Shape", ["x"]);
  const batch = g.node("Gather", [shape, g.ints([0])]);
  const tokens = g.node("Gather", [shape, g.ints([1])]);
  // What a constant-only node gives is needed by several stages.
  const headWidth = g.node("Div", [g.ints([WIDTH]), g.ints([HEADS])]);
  const split = g.node("Concat", [batch, tokens, g.ints([HEADS]), headWidth], { axis: 0 });
  const merged = g.node("Concat", [batch, tokens, g.ints([WIDTH])], { axis: 0 });
  const [query, key, value] = [
    [0, 2, 1, 3],
    [0, 2, 3, 1],
    [0, 2, 1, 3],
  ].map((perm) => {
    const projected = g.node("Add", [
      g.node("MatMul", [normal, g.weight([WIDTH, WIDTH])]),
      g.weight([WIDTH]),
    ]);
    return g.node("Transpose", [g.node("Reshape", [projected, split])], { perm });
  });
  const scores = g.node("MatMul", [query ?? "", key ?? ""]);
  const scale = g.node("Sqrt", [g.node("Cast", [headWidth], { to: DataType.FLOAT })]);
  const weights = g.node("Softmax", [g.node("Div", [scores, scale])], { axis: -1 });
  const mixed = g.node("Transpose", [g.node("MatMul", [weights, value ?? ""])], {
    perm: [0, 2, 1, 3],
  });
  const attended = g.node("MatMul", [g.node("Reshape", [mixed, merged]), g.weight([WIDTH, WIDTH])]);
  const sum = g.node("Add", ["x", attended]);
  const again = g.node("LayerNormalization", [sum, g.weight([WIDTH]), g.weight([WIDTH])]);
  const hidden = g.node("Tanh", [g.node("MatMul", [again, g.weight([WIDTH, 12])])]);
  g.node("Add", [sum, g.node("MatMul", [hidden, g.weight([12, WIDTH])])], {}, { output: ["y"] });
  const tensor = ["batch", TOKENS, WIDTH];
  return modelOf(g.graph([tensorOf("x", tensor)], [tensorOf("y", tensor)]));
}

function attributeOf(name: string, value: Attribute): AttributeProto {
  if (typeof value === "number") {
    return create(AttributeProtoSchema, { name, type: AttributeType.INT, i: BigInt(value) });
  }
  if (typeof value === "string") {
    const s = new TextEncoder().encode(value);
    return create(AttributeProtoSchema, { name, type: AttributeType.STRING, s });
  }
  if (isGraph(value)) {
    return create(AttributeProtoSchema, { name, type: AttributeType.GRAPH, g: value });
  }
  if (isTensor(value)) {
    return create(AttributeProtoSchema, { name, type: AttributeType.TENSOR, t: value });
  }
  return create(AttributeProtoSchema, { name, type: AttributeType.INTS, ints: value.map(BigInt) });
}

function isGraph(value: object): value is GraphProto {
  return "$typeName" in value && value.$typeName === "onnx.GraphProto";
}

function isTensor(value: object): value is TensorProto {
  return "$typeName" in value && value.$typeName === "onnx.TensorProto";
}
