/** The element type that a model computes with, as far as its weights show. */

import { readModelProto } from "./layered-model.ts";
import { tensorsOf } from "./model-tensors.ts";
import { OnnxModelError } from "./onnx-model-error.ts";
import { type ModelProto, TensorProto_DataType } from "./onnx-pb.ts";
import { ELEMENT_TYPES } from "./tensor-infos.ts";

/** Wider integers are sizes and indices, not weights. */
const QUANTIZED: ReadonlySet<number> = new Set([
  TensorProto_DataType.INT8,
  TensorProto_DataType.UINT8,
]);

const FLOATS: ReadonlyMap<number, string> = new Map([
  [TensorProto_DataType.FLOAT, "float32"],
  [TensorProto_DataType.DOUBLE, "float64"],
  [TensorProto_DataType.FLOAT16, "float16"],
  [TensorProto_DataType.BFLOAT16, "bfloat16"],
]);

/**
 * @returns the element type of most weights, `int8` if they are quantized to 8 bits; for a model
 * without weights that of its inputs. Null if the file is not an ONNX model, or shows neither.
 */
export async function precisionOf(path: string): Promise<string | null> {
  try {
    const model = await readModelProto(path);
    return weightPrecision(model) ?? inputPrecision(model);
  } catch (error) {
    if (error instanceof OnnxModelError) return null;
    throw error;
  }
}

function weightPrecision(model: ModelProto): string | null {
  const counts = new Map<string, number>();
  for (const { dataType, dims } of tensorsOf(model)) {
    const name = QUANTIZED.has(dataType) ? "int8" : FLOATS.get(dataType);
    if (name === undefined) continue;
    const elements = dims.reduce((product, size) => product * Number(size), 1);
    counts.set(name, (counts.get(name) ?? 0) + elements);
  }
  let [most, mostElements]: [string | null, number] = [null, 0];
  for (const [name, elements] of counts) {
    if (elements > mostElements) [most, mostElements] = [name, elements];
  }
  return most;
}

function inputPrecision({ graph }: ModelProto): string | null {
  for (const { type } of graph?.input ?? []) {
    if (type?.value.case !== "tensorType") continue;
    const { elemType } = type.value.value;
    for (const [name, code] of ELEMENT_TYPES) if (code === elemType) return name;
  }
  return null;
}
