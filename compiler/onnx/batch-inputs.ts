/** Random inputs for models that are measured or inspected. */
import type { ModelFile, TensorInfo } from "stratagem-runtime/internal/bundle/schema";
import { bucketSizes, rowShapeIn } from "stratagem-runtime/internal/bundle/schema";
import { assert } from "stratagem-runtime/internal/core/assert";
import { numberToHalf } from "stratagem-runtime/internal/core/half";
import { Rng } from "stratagem-runtime/internal/core/rng";

/** A string input is a 4-byte length and its digits, for models that parse numbers. */
const LENGTH_BYTES = 4;
const STRING_DIGITS = 8;

/** Bytes per element, by onnxruntime's type name. */
const ELEMENT_BYTES: ReadonlyMap<string, number> = new Map([
  ["bool", 1],
  ["uint8", 1],
  ["int8", 1],
  ["uint16", 2],
  ["int16", 2],
  ["float16", 2],
  ["uint32", 4],
  ["int32", 4],
  ["float32", 4],
  ["uint64", 8],
  ["int64", 8],
  ["float64", 8],
  ["string", LENGTH_BYTES + STRING_DIGITS],
]);

/** Bytes of one row; null if elements have no fixed size. Only axis 0 may be dynamic. */
export function rowBytesOf({ dtype, shape }: TensorInfo): number | null {
  const bytes = ELEMENT_BYTES.get(dtype);
  return bytes === undefined
    ? null
    : shape.slice(1).reduce((product, size) => product * size, bytes);
}

/** Returns the inputs of a model with the axes of several sizes set to those of a bucket. */
export function sizedInputs(
  { inputs, buckets = [] }: Pick<ModelFile, "inputs" | "buckets">,
  bucket: number,
): Pick<ModelFile, "inputs"> {
  const sizes = bucketSizes(buckets, bucket);
  return {
    inputs: inputs.map((tensor, input) => {
      const [rows = -1] = tensor.shape;
      return { ...tensor, shape: [rows, ...rowShapeIn(inputs, input, buckets, sizes)] };
    }),
  };
}

/**
 * Returns the bytes of `rows` rows per input: types that may hold images or features are uniform in
 * [0, 1) or over all bytes, so that no engine can skip zeros; types that may hold indices are 0,
 * which every model accepts. A string has eight digits.
 */
export function randomInputs(
  { inputs }: Pick<ModelFile, "inputs">,
  rows: number,
  seed: number,
): Uint8Array<ArrayBuffer>[] {
  return inputs.map((tensor, index) => {
    const rowBytes = rowBytesOf(tensor);
    assert(rowBytes !== null, "a plan has inputs of fixed size only");
    const bytes = new Uint8Array(rows * rowBytes);
    fill(bytes, tensor.dtype, new Rng(seed, index));
    return bytes;
  });
}

function fill(bytes: Uint8Array, dtype: string, rng: Rng): void {
  const view = new DataView(bytes.buffer);
  if (dtype === "string") {
    for (let at = 0; at < bytes.length; at += LENGTH_BYTES + STRING_DIGITS) {
      view.setUint32(at, STRING_DIGITS, true);
      for (let digit = 0; digit < STRING_DIGITS; digit++) {
        bytes[at + LENGTH_BYTES + digit] = 0x30 + Math.floor(10 * rng.nextFloat());
      }
    }
  } else if (dtype === "uint8") {
    for (let at = 0; at < bytes.length; at++) bytes[at] = Math.floor(256 * rng.nextFloat());
  } else if (dtype === "float16") {
    for (let at = 0; at < bytes.length; at += 2) {
      view.setUint16(at, numberToHalf(rng.nextFloat()), true);
    }
  } else if (dtype === "float32") {
    for (let at = 0; at < bytes.length; at += 4) view.setFloat32(at, rng.nextFloat(), true);
  } else if (dtype === "float64") {
    for (let at = 0; at < bytes.length; at += 8) view.setFloat64(at, rng.nextFloat(), true);
  }
}
