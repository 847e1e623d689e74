/** Reading the tensors that a module is given. */
import type { NamedTensors, Tensor, TensorData } from "./contract.ts";

/** @throws TypeError if there is no such tensor, or its rows are not `rows`. */
export function tensorOf(inputs: NamedTensors, name: string, rows: number): Tensor {
  const tensor = inputs[name];
  if (tensor?.shape[0] === rows) return tensor;
  const found = tensor === undefined ? "nothing" : `shape [${tensor.shape.join(", ")}]`;
  throw new TypeError(`input "${name}": expected a tensor of ${rows} rows, got ${found}`);
}

/** The bytes of each row. */
export function bytesOf(inputs: NamedTensors, name: string, rows: number): readonly Uint8Array[] {
  const { data } = tensorOf(inputs, name, rows);
  if (!Array.isArray(data) || data.length !== rows) throw unfit(name, `${rows} BYTES`, data);
  return data.map((value) => (typeof value === "string" ? Buffer.from(value) : value));
}

/** Values of FP32 with their shape. @param axes of the tensor, the rows among them. */
export function floatsOf(
  inputs: NamedTensors,
  name: string,
  rows: number,
  axes: number,
): { readonly data: Float32Array; readonly shape: readonly number[] } {
  const { data, shape } = tensorOf(inputs, name, rows);
  if (!(data instanceof Float32Array)) throw unfit(name, "FP32", data);
  return { data, shape: shapeOf(name, shape, axes, data.length) };
}

/** Values of UINT8 with their shape. @param axes of the tensor, the rows among them. */
export function octetsOf(
  inputs: NamedTensors,
  name: string,
  rows: number,
  axes: number,
): { readonly data: Uint8Array; readonly shape: readonly number[] } {
  const { data, shape } = tensorOf(inputs, name, rows);
  if (!(data instanceof Uint8Array)) throw unfit(name, "UINT8", data);
  return { data, shape: shapeOf(name, shape, axes, data.length) };
}

/** INT64 as numbers. @param shape of one row. */
export function integersOf(
  inputs: NamedTensors,
  name: string,
  rows: number,
  shape: readonly number[],
): number[] {
  const { data, shape: found } = tensorOf(inputs, name, rows);
  if (!(data instanceof BigInt64Array)) throw unfit(name, "INT64", data);
  const expected = [rows, ...shape];
  if (found.join() === expected.join()) return Array.from(data, Number);
  const texts = [expected, found].map((sizes) => `[${sizes.join(", ")}]`);
  throw new TypeError(`input "${name}": expected the shape ${texts[0]}, got ${texts[1]}`);
}

function shapeOf(
  name: string,
  shape: readonly number[],
  axes: number,
  elements: number,
): readonly number[] {
  const product = shape.reduce((before, size) => before * size, 1);
  if (shape.length === axes && product === elements) return shape;
  const found = `shape [${shape.join(", ")}] with ${elements} elements`;
  throw new TypeError(
    `input "${name}": expected ${axes} axes that its elements fill, got ${found}`,
  );
}

function unfit(name: string, expected: string, data: TensorData): TypeError {
  const found = `${data.length} in a ${data.constructor.name}`;
  return new TypeError(`input "${name}": expected ${expected}, got ${found}`);
}
