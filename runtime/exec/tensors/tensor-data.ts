/** Element types of tensors: their size, and a tensor over bytes. */
import { Tensor } from "./onnxruntime.ts";
import { decodeStrings, encodeStrings, LENGTH_BYTES, stringOf } from "./string-data.ts";

type Bytes = Uint8Array<ArrayBuffer>;

export interface TensorData {
  /** Bytes of an element; for strings, whose sizes differ, the minimum. */
  readonly elementBytes: number;
  readonly isText: boolean;
  /** Returns the bytes of zero elements; for strings "0", as models that parse numbers expect. */
  readonly zeros: (elements: number) => Bytes;
  /** Counts the elements. @throws RangeError for strings that do not end with the bytes. */
  readonly count: (bytes: Bytes) => number;
  /**
   * Makes a tensor that uses the bytes of numbers in place, aligned to `elementBytes`.
   * @throws RangeError for strings that the engine does not take.
   */
  readonly tensor: (bytes: Bytes, shape: readonly number[]) => Tensor;
}

type NumericView = Exclude<Tensor.DataType, string[]>;
type ViewConstructor<T extends NumericView> = {
  new (buffer: ArrayBuffer, byteOffset: number, length: number): T;
  readonly BYTES_PER_ELEMENT: number;
};

const DATA_BY_DTYPE: Readonly<Record<string, TensorData>> = {
  float32: over(Float32Array, (data, shape) => new Tensor("float32", data, shape)),
  float64: over(Float64Array, (data, shape) => new Tensor("float64", data, shape)),
  float16: over(Uint16Array, halfTensor),
  uint8: over(Uint8Array, (data, shape) => new Tensor("uint8", data, shape)),
  int8: over(Int8Array, (data, shape) => new Tensor("int8", data, shape)),
  uint16: over(Uint16Array, (data, shape) => new Tensor("uint16", data, shape)),
  int16: over(Int16Array, (data, shape) => new Tensor("int16", data, shape)),
  uint32: over(Uint32Array, (data, shape) => new Tensor("uint32", data, shape)),
  int32: over(Int32Array, (data, shape) => new Tensor("int32", data, shape)),
  uint64: over(BigUint64Array, (data, shape) => new Tensor("uint64", data, shape)),
  int64: over(BigInt64Array, (data, shape) => new Tensor("int64", data, shape)),
  bool: over(Uint8Array, (data, shape) => new Tensor("bool", data, shape)),
  string: {
    elementBytes: LENGTH_BYTES,
    isText: true,
    zeros: (elements) => encodeStrings(new Array<string>(elements).fill("0")),
    count: (bytes) => decodeStrings(bytes, () => "").length,
    tensor: (bytes, shape) => new Tensor("string", decodeStrings(bytes, stringOf), shape),
  },
};

/** Element types that are served. */
export const SERVED_DTYPES: ReadonlySet<string> = new Set(Object.keys(DATA_BY_DTYPE));

/** @throws Error if tensors of this element type cannot be sent as bytes. */
export function tensorData(dtype: string): TensorData {
  const data = DATA_BY_DTYPE[dtype];
  if (data === undefined) {
    const known = Object.keys(DATA_BY_DTYPE).join(", ");
    throw new Error(`element type ${dtype} is not supported; expected one of ${known}`);
  }
  return data;
}

/**
 * Passes half floats as their bits. On Node 24 and later the tensor's constructor would make a
 * Float16Array, of which the binding of onnxruntime-node 1.30 reads 0 bytes (microsoft/onnxruntime
 * pull request 32323); it reads the bits on every Node.
 */
function halfTensor(bits: Uint16Array, shape: readonly number[]): Tensor {
  const tensor = new Tensor("float16", bits, shape);
  // The binding reads the tensor's `data` property.
  return Object.defineProperty(tensor, "data", { value: bits });
}

function over<T extends NumericView>(
  View: ViewConstructor<T>,
  create: (data: T, shape: readonly number[]) => Tensor,
): TensorData {
  const elementBytes = View.BYTES_PER_ELEMENT;
  return {
    elementBytes,
    isText: false,
    zeros: (elements) => new Uint8Array(elements * elementBytes),
    count: (bytes) => bytes.length / elementBytes,
    tensor: (bytes, shape) =>
      create(new View(bytes.buffer, bytes.byteOffset, bytes.length / elementBytes), shape),
  };
}
