/** Models whose tensors lie in other files, however deep they are hidden, are refused. */
import { create, toBinary } from "@bufbuild/protobuf";
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
import { checkSelfContained } from "../../../../runtime/exec/onnx/onnx-tensors.ts";
import { identityModel, meanModel } from "../../../support/onnx-model.ts";

const away = create(TensorProtoSchema, {
  name: "weights",
  dataLocation: DataLocation.EXTERNAL,
  externalData: [{ key: "location", value: "weights.bin" }],
});

const graphWith = (initializer: TensorProto[]): GraphProto =>
  create(GraphProtoSchema, { initializer });
const attributesWith = (attribute: Parameters<typeof create<typeof AttributeProtoSchema>>[1]) =>
  create(GraphProtoSchema, {
    node: [create(NodeProtoSchema, { attribute: [create(AttributeProtoSchema, attribute)] })],
  });
const sparse = create(SparseTensorProtoSchema, { indices: away });

const graphs: [string, GraphProto][] = [
  ["an initializer", graphWith([away])],
  ["a sparse initializer", create(GraphProtoSchema, { sparseInitializer: [sparse] })],
  ["an attribute", attributesWith({ t: away })],
  ["a list of an attribute", attributesWith({ tensors: [away] })],
  ["a sparse attribute", attributesWith({ sparseTensor: sparse })],
  ["a list of sparse ones", attributesWith({ sparseTensors: [sparse] })],
  ["the body of a loop", attributesWith({ g: graphWith([away]) })],
  ["one of several bodies", attributesWith({ graphs: [graphWith([]), graphWith([away])] })],
];

const models: [string, ModelProto][] = [
  ...graphs.map(([name, graph]): [string, ModelProto] => [
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

describe("a tensor in another file", () => {
  test.each(models)("in %s is refused by name", (_, model) => {
    const bytes = toBinary(ModelProtoSchema, model);
    expect(() => checkSelfContained(bytes)).toThrow(/^tensor "weights" lies in another file/);
  });

  test("in the second part of a graph that is written in two is refused", () => {
    const parts = [graphWith([]), graphWith([away])].map((graph) =>
      toBinary(ModelProtoSchema, create(ModelProtoSchema, { graph })),
    );
    expect(() => checkSelfContained(Buffer.concat(parts))).toThrow(/"weights" lies in another/);
  });
});

test("models in one file are taken", () => {
  for (const model of [identityModel(3), meanModel(64, 8)]) {
    expect(() => checkSelfContained(model)).not.toThrow();
  }
});

test("what readers of protobuf may take for different things is refused", () => {
  const group = Uint8Array.of((7 << 3) | 3, (7 << 3) | 4);
  expect(() => checkSelfContained(group)).toThrow(
    "expected an ONNX model, found at byte 1 protobuf wire type 3",
  );
  const cut = meanModel(64, 8).subarray(0, -1);
  expect(() => checkSelfContained(cut)).toThrow(
    /expected an ONNX model, found at byte \d+ a field/,
  );
  const endless = new Uint8Array(12).fill(0xff);
  expect(() => checkSelfContained(endless)).toThrow("a number that does not end");
});

test("graphs in graphs are followed only so deep", () => {
  let graph = graphWith([]);
  for (let depth = 0; depth < 60; depth++) graph = attributesWith({ g: graph });
  const bytes = toBinary(ModelProtoSchema, create(ModelProtoSchema, { graph }));
  expect(() => checkSelfContained(bytes)).toThrow("messages nested deeper than 100");
});
