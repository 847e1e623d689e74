/** Converts the bytes of a batch to the tensors of a model, and its outputs to bytes. */
import { bucketSizes, rowShapeIn, type TensorInfo } from "../../bundle/schema.ts";
import { assert } from "../../core/assert.ts";
import type { VariantModel } from "../models/executor.ts";
import type { Tensor } from "./onnxruntime.ts";
import { encodeStrings } from "./string-data.ts";
import { type TensorData, tensorData } from "./tensor-data.ts";

/** Returns the inputs by name. @throws RangeError if the bytes do not make a batch of `rows`. */
export function feedsOf(
  infos: readonly TensorInfo[],
  rows: number,
  inputs: readonly Uint8Array<ArrayBuffer>[],
): Record<string, Tensor> {
  if (inputs.length !== infos.length) {
    throw new RangeError(`expected ${infos.length} inputs, got ${inputs.length}`);
  }
  const feeds: Record<string, Tensor> = {};
  for (const [index, info] of infos.entries()) {
    const bytes = inputs[index];
    assert(bytes !== undefined, "every input has bytes");
    feeds[info.name] = inputTensor(info, rows, bytes);
  }
  return feeds;
}

/** Returns inputs of zeros, numbers or text; an axis that stays open is 1. */
export function zerosOf(
  { inputs, buckets = [], adapter }: VariantModel,
  rows: number,
  bucket: number,
): Uint8Array<ArrayBuffer>[] {
  const sizes = bucketSizes(buckets, bucket);
  return inputs.map(({ dtype, shape }, input) => {
    const row = rowShapeIn(inputs, input, buckets, sizes).map((size) => Math.max(1, size));
    const whole = isFixed(shape) && adapter === undefined ? shape : [rows, ...row];
    return tensorData(dtype).zeros(elementCount(whole));
  });
}

/** @param rows null if the output may have any number of rows. */
export function outputOf(name: string, tensor: Tensor | undefined, rows: number | null) {
  if (tensor === undefined) throw new Error(`output "${name}" is missing`);
  const { dims, data } = tensor;
  if (rows !== null && dims[0] !== rows) {
    throw new Error(`output "${name}" has the shape [${dims.join(", ")}] for ${rows} rows`);
  }
  if (!ArrayBuffer.isView(data)) return { shape: dims, bytes: encodeStrings(data) };
  return { shape: dims, bytes: new Uint8Array(data.buffer, data.byteOffset, data.byteLength) };
}

/** Makes a tensor of `rows` rows, or of exactly its shape if no axis is open, as between stages. */
function inputTensor(info: TensorInfo, rows: number, bytes: Uint8Array<ArrayBuffer>): Tensor {
  const { name, dtype, shape } = info;
  if (!isFixed(shape)) return rowsTensor(info, rows, bytes);
  const data = tensorData(dtype);
  const expected = elementCount(shape);
  if (data.count(bytes) !== expected) {
    const found = `${dtype} [${shape.join(", ")}] takes ${sizeText(data, expected)}`;
    throw new RangeError(`input "${name}": ${found}, got ${foundText(data, bytes)}`);
  }
  return data.tensor(bytes, shape);
}

function rowsTensor(info: TensorInfo, rows: number, bytes: Uint8Array<ArrayBuffer>): Tensor {
  const { name, dtype, shape } = info;
  const data = tensorData(dtype);
  const count = data.count(bytes);
  const fixed = shape.slice(1).filter((size) => size >= 0);
  const elements = rows * elementCount(fixed);
  const openCount = shape.length - 1 - fixed.length;
  // At most one dimension is open, and follows from the length.
  const open = openCount === 1 ? count / elements : 1;
  if (!Number.isInteger(open) || count !== elements * open) {
    const expected = `${openCount > 0 ? "a multiple of " : ""}${sizeText(data, elements)}`;
    const found = `${rows} rows of ${dtype} [${shape.join(", ")}] take ${expected}`;
    throw new RangeError(`input "${name}": ${found}, got ${foundText(data, bytes)}`);
  }
  const dimensions = shape.slice(1).map((size) => (size >= 0 ? size : open));
  return data.tensor(bytes, [rows, ...dimensions]);
}

/** Describes the space of so many elements. */
function sizeText({ elementBytes, isText }: TensorData, elements: number): string {
  return isText ? `${elements} strings` : `${elements * elementBytes} bytes`;
}

function foundText({ isText, count }: TensorData, bytes: Uint8Array<ArrayBuffer>): string {
  return String(isText ? count(bytes) : bytes.length);
}

function isFixed(shape: readonly number[]): boolean {
  return shape.every((size) => size >= 0);
}

function elementCount(shape: readonly number[]): number {
  return shape.reduce((product, size) => product * size, 1);
}
