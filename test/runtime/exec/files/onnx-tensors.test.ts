/** Tensors whose values lie in other files get them, however deep they are hidden. */
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import {
  AttributeProtoSchema,
  TensorProto_DataLocation as DataLocation,
  FunctionProtoSchema,
  type GraphProto,
  GraphProtoSchema,
  type ModelProto,
  ModelProtoSchema,
  NodeProtoSchema,
  SparseTensorProtoSchema,
  type TensorProto,
  TensorProtoSchema,
  TrainingInfoProtoSchema,
} from "../../../../compiler/onnx/onnx-pb.ts";
import { type Piece, piecesOf, visitTensors } from "../../../../runtime/exec/files/onnx-tensors.ts";
import { identityModel, meanModel } from "../../../support/onnx-model.ts";

const away = create(TensorProtoSchema, {
  name: "weights",
  dims: [2n, 300n],
  dataLocation: DataLocation.EXTERNAL,
  externalData: [{ key: "location", value: "weights.bin" }],
});
const DATA = new Uint8Array(600).fill(7);
const here = create(TensorProtoSchema, { name: "weights", dims: [2n, 300n], rawData: DATA });

/** Replaces every external tensor by its data. */
function filled(bytes: Uint8Array): ModelProto {
  const pieces = piecesOf(bytes, ({ name, external }) => {
    const location = external?.get("location");
    return location === undefined ? null : { tensor: name, location, offset: 0, length: 600 };
  });
  const own = (piece: Piece) => (piece instanceof Uint8Array ? piece : DATA);
  const whole = Buffer.concat((pieces ?? [bytes]).map(own));
  return fromBinary(ModelProtoSchema, new Uint8Array(whole));
}

const graphWith = (initializer: TensorProto[]): GraphProto =>
  create(GraphProtoSchema, { initializer });
const attributesWith = (attribute: Parameters<typeof create<typeof AttributeProtoSchema>>[1]) =>
  create(GraphProtoSchema, {
    node: [create(NodeProtoSchema, { attribute: [create(AttributeProtoSchema, attribute)] })],
  });
const sparseOf = (indices: TensorProto) => create(SparseTensorProtoSchema, { indices });

const graphs = (away: TensorProto): [string, GraphProto][] => [
  ["an initializer", graphWith([away])],
  ["a sparse initializer", create(GraphProtoSchema, { sparseInitializer: [sparseOf(away)] })],
  ["an attribute", attributesWith({ t: away })],
  ["a list of an attribute", attributesWith({ tensors: [away] })],
  ["a sparse attribute", attributesWith({ sparseTensor: sparseOf(away) })],
  ["a list of sparse ones", attributesWith({ sparseTensors: [sparseOf(away)] })],
  ["the body of a loop", attributesWith({ g: graphWith([away]) })],
  ["one of several bodies", attributesWith({ graphs: [graphWith([]), graphWith([away])] })],
];

const models = (away: TensorProto): [string, ModelProto][] => [
  ...graphs(away).map(([name, graph]): [string, ModelProto] => [
    name,
    create(ModelProtoSchema, { graph }),
  ]),
  [
    "a function",
    create(ModelProtoSchema, {
      functions: [create(FunctionProtoSchema, { node: attributesWith({ t: away }).node })],
    }),
  ],
  [
    "a default of a function",
    create(ModelProtoSchema, {
      functions: [
        create(FunctionProtoSchema, {
          attributeProto: [create(AttributeProtoSchema, { t: away })],
        }),
      ],
    }),
  ],
  [
    "what a training starts from",
    create(ModelProtoSchema, {
      trainingInfo: [create(TrainingInfoProtoSchema, { initialization: graphWith([away]) })],
    }),
  ],
];

const filledModels = new Map(models(here));

describe("a tensor in another file", () => {
  test.each(models(away))("in %s gets its values", (name, model) => {
    expect(filled(toBinary(ModelProtoSchema, model))).toEqual(filledModels.get(name));
  });

  test("in the second part of a graph that is written in two gets its values", () => {
    const parts = [graphWith([here]), graphWith([away])].map((graph) =>
      toBinary(ModelProtoSchema, create(ModelProtoSchema, { graph })),
    );
    expect(filled(Buffer.concat(parts)).graph).toEqual(graphWith([here, here]));
  });
});

const visit = (bytes: Uint8Array) => visitTensors(bytes, () => {});

test("models in one file stay as they are", () => {
  for (const model of [identityModel(3), meanModel(64, 8)]) {
    expect(piecesOf(model, () => null)).toBeNull();
  }
});

test("what readers of protobuf may take for different things is refused", () => {
  const group = Uint8Array.of((7 << 3) | 3, (7 << 3) | 4);
  expect(() => visit(group)).toThrow(
    "expected an ONNX model, found at byte 1 protobuf wire type 3",
  );
  const cut = meanModel(64, 8).subarray(0, -1);
  expect(() => visit(cut)).toThrow(/expected an ONNX model, found at byte \d+ a field/);
  const endless = new Uint8Array(12).fill(0xff);
  expect(() => visit(endless)).toThrow("a number that does not end");
});

test("graphs in graphs are followed only so deep", () => {
  let graph = graphWith([]);
  for (let depth = 0; depth < 60; depth++) graph = attributesWith({ g: graph });
  const bytes = toBinary(ModelProtoSchema, create(ModelProtoSchema, { graph }));
  expect(() => visit(bytes)).toThrow("messages nested deeper than 100");
});
