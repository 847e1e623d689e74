import { create, toBinary } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import {
  TensorProto_DataType as DataType,
  ModelProtoSchema,
} from "../../../compiler/onnx/onnx-pb.ts";
import { precisionOf } from "../../../compiler/onnx/precision.ts";
import { tensorOf } from "../../support/onnx-graphs.ts";
import { folderOf } from "../spec/spec-folder.ts";

/** A file with these constants, each of so many elements, and an input of float16. */
function modelOf(...constants: readonly (readonly [dataType: DataType, elements: number])[]) {
  const initializer = constants.map(([dataType, elements], index) => {
    return { name: `c${index}`, dataType, dims: [BigInt(elements)] };
  });
  const input = [tensorOf("x", ["batch", 2], DataType.FLOAT16)];
  const bytes = toBinary(
    ModelProtoSchema,
    create(ModelProtoSchema, { graph: { initializer, input } }),
  );
  return `${folderOf({ "model.onnx": bytes })}/model.onnx`;
}

test.each([
  ["most", "float16", modelOf([DataType.FLOAT, 9], [DataType.FLOAT16, 5], [DataType.FLOAT16, 5])],
  ["8 bits", "int8", modelOf([DataType.FLOAT, 9], [DataType.UINT8, 6], [DataType.INT8, 6])],
  ["no sizes", "float32", modelOf([DataType.FLOAT, 9], [DataType.INT64, 1000])],
  ["inputs where there are none", "float16", modelOf([DataType.INT64, 4])],
  ["a committed model", "float32", "models/image-classification/mlp-s.onnx"],
  ["what is no model", null, "package.json"],
  ["no file", null, "models/none.onnx"],
])("the precision is that of %s", async (_, precision, path) => {
  expect(await precisionOf(path)).toBe(precision);
});
