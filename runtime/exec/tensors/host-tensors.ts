/**
 * Converts between tensors of modules, typed arrays with shapes, and the bytes that workers send.
 */
import type { TensorInfo } from "../../bundle/schema.ts";
import { assert } from "../../core/assert.ts";
import { halfToNumber } from "../../core/half.ts";
import type { HostData, HostDatatype, HostTensor, HostTensorInfo } from "./host-module.ts";
import { countStrings, decodeStrings, encodeStrings } from "./string-data.ts";

type Bytes = Uint8Array<ArrayBuffer>;
type NumericData = Exclude<HostData, readonly (Uint8Array | string)[]>;

interface ViewConstructor {
  new (buffer: ArrayBufferLike, byteOffset: number, length: number): NumericData;
  readonly BYTES_PER_ELEMENT: number;
  readonly name: string;
}

interface HostType {
  /** Name in the bundle. */
  readonly dtype: string;
  readonly View: ViewConstructor | null;
}

const TYPES: Readonly<Record<HostDatatype, HostType>> = {
  BOOL: { dtype: "bool", View: Uint8Array },
  UINT8: { dtype: "uint8", View: Uint8Array },
  UINT16: { dtype: "uint16", View: Uint16Array },
  UINT32: { dtype: "uint32", View: Uint32Array },
  UINT64: { dtype: "uint64", View: BigUint64Array },
  INT8: { dtype: "int8", View: Int8Array },
  INT16: { dtype: "int16", View: Int16Array },
  INT32: { dtype: "int32", View: Int32Array },
  INT64: { dtype: "int64", View: BigInt64Array },
  FP16: { dtype: "float16", View: Uint16Array },
  FP32: { dtype: "float32", View: Float32Array },
  FP64: { dtype: "float64", View: Float64Array },
  BYTES: { dtype: "string", View: null },
};

const TYPE_BY_DTYPE = new Map(
  Object.entries(TYPES).map(([datatype, { dtype, View }]) => {
    return [dtype, { datatype: datatype as HostDatatype, View }];
  }),
);

export const HOST_DATATYPES = Object.keys(TYPES) as readonly HostDatatype[];

/** Returns the tensor as bundles have it, with the axis of rows first. */
export function tensorInfoOf({ name, datatype, shape }: HostTensorInfo): TensorInfo {
  return { name, dtype: TYPES[datatype].dtype, shape: [-1, ...shape] };
}

/** Returns the protocol's name of a bundle's element type; undefined for unsupported types. */
export function hostDatatypeOf(dtype: string): HostDatatype | undefined {
  return TYPE_BY_DTYPE.get(dtype)?.datatype;
}

/** Returns the bundle's name of a protocol element type; undefined for any other text. */
export function hostDtypeOf(datatype: string): string | undefined {
  return Object.hasOwn(TYPES, datatype) ? TYPES[datatype as HostDatatype].dtype : undefined;
}

/** Returns the bytes of an element; null for strings, whose sizes differ. */
export function elementBytesOf(dtype: string): number | null {
  const type = TYPE_BY_DTYPE.get(dtype);
  assert(type !== undefined, "a tensor has a supported type");
  return type.View?.BYTES_PER_ELEMENT ?? null;
}

/** Returns the elements as numbers; null for a type without numbers, or incomplete elements. */
export function numbersOf(datatype: string, bytes: Uint8Array): number[] | null {
  const View = Object.hasOwn(TYPES, datatype) ? TYPES[datatype as HostDatatype].View : null;
  if (View === null || bytes.length % View.BYTES_PER_ELEMENT !== 0) return null;
  // The copy is aligned for every type.
  const view = new View(new Uint8Array(bytes).buffer, 0, bytes.length / View.BYTES_PER_ELEMENT);
  const numbers = Array.from(view as ArrayLike<number | bigint>, Number);
  return datatype === "FP16" ? numbers.map(halfToNumber) : numbers;
}

/**
 * Describes what is wrong with a tensor from another process; null if it is valid.
 * @param rows required number; null for any.
 */
export function tensorMistake(
  info: TensorInfo,
  { shape, bytes }: TensorBytes,
  rows: number | null,
): string | null {
  const expected = describeTensor(info).replace("rows", String(rows ?? "rows"));
  if (!fitsShape(info, shape, rows)) return `expected ${expected}, got [${shape.join(", ")}]`;
  const elements = shape.reduce((product, size) => product * size, 1);
  const View = TYPE_BY_DTYPE.get(info.dtype)?.View ?? null;
  const found = View === null ? stringCount(bytes) : bytes.length / View.BYTES_PER_ELEMENT;
  return found === elements ? null : `expected the bytes of ${expected}, got ${bytes.length} bytes`;
}

function stringCount(bytes: Uint8Array): number {
  try {
    return countStrings(bytes);
  } catch {
    return Number.NaN;
  }
}

function fitsShape(info: TensorInfo, shape: readonly number[], rows: number | null): boolean {
  return (
    shape.length === info.shape.length &&
    (rows === null || shape[0] === rows) &&
    info.shape.every((size, axis) => axis === 0 || size < 0 || shape[axis] === size)
  );
}

/** Describes a tensor, as in `FP32 [rows, 3, 48]`. */
export function describeTensor({ dtype, shape }: TensorInfo): string {
  const sizes = shape.slice(1).map((size) => (size < 0 ? "any" : size));
  return `${hostDatatypeOf(dtype) ?? dtype} [${["rows", ...sizes].join(", ")}]`;
}

/**
 * Returns the rows as a view on the bytes; an open dimension follows from their number.
 * @throws RangeError if they are not that many rows.
 */
export function hostTensor(info: TensorInfo, rows: number, bytes: Bytes): HostTensor {
  const { name, dtype, shape } = info;
  const type = TYPE_BY_DTYPE.get(dtype);
  assert(type !== undefined, "a module declares supported types");
  const { View } = type;
  const count =
    View === null ? countStrings(bytes) : Math.floor(bytes.length / View.BYTES_PER_ELEMENT);
  const sizes = shape.slice(1);
  const known = sizes.reduce((product, size) => product * Math.max(1, size), rows);
  const openCount = sizes.filter((size) => size < 0).length;
  const open = openCount === 1 ? count / known : 1;
  const isWhole = View === null || count * View.BYTES_PER_ELEMENT === bytes.length;
  if (!isWhole || openCount > 1 || !Number.isInteger(open) || count !== known * open) {
    const expected = `${rows} rows of ${describeTensor(info)}`;
    throw new RangeError(`input "${name}": expected ${expected}, got ${count} elements`);
  }
  const data =
    View === null
      ? decodeStrings(bytes, (element) => element)
      : new View(bytes.buffer, bytes.byteOffset, count);
  return { data, shape: [rows, ...sizes.map((size) => (size < 0 ? open : size))] };
}

/** Returns rows of zeros, or of empty BYTES; an open dimension is 1. */
export function zerosOf({ dtype, shape }: TensorInfo, rows: number): Bytes {
  const type = TYPE_BY_DTYPE.get(dtype);
  assert(type !== undefined, "a module declares supported types");
  const elements = shape.slice(1).reduce((product, size) => product * Math.abs(size), rows);
  if (type.View !== null) return new Uint8Array(elements * type.View.BYTES_PER_ELEMENT);
  return encodeStrings(new Array<string>(elements).fill(""));
}

export interface TensorBytes {
  readonly shape: readonly number[];
  readonly bytes: Uint8Array;
}

/**
 * Returns the bytes of a tensor that a module gave, after checking it against its declaration.
 * @param what name for messages, such as `output "crops"`. @param rows required; null for any.
 * @throws Error with what was found and what is expected.
 */
export function bytesOfHost(
  what: string,
  info: TensorInfo,
  tensor: unknown,
  rows: number | null,
): TensorBytes {
  const refuse = (found: string): never => {
    const expected = describeTensor(info).replace("rows", rows === null ? "rows" : String(rows));
    throw new Error(`${what}: expected ${expected}, got ${found}`);
  };
  if (typeof tensor !== "object" || tensor === null || !("data" in tensor && "shape" in tensor)) {
    return refuse(tensor === undefined ? "none" : "no { data, shape }");
  }
  const { data, shape } = tensor;
  if (!isShape(shape)) return refuse("a shape that is not a list of sizes");
  if (!fitsShape(info, shape, rows)) return refuse(`the shape [${shape.join(", ")}]`);
  const elements = shape.reduce((product, size) => product * size, 1);
  const View = TYPE_BY_DTYPE.get(info.dtype)?.View ?? null;
  if (View === null) {
    if (!isElements(data)) return refuse(`data of type ${kindOf(data)}, not a list of Uint8Array`);
    if (data.length !== elements) return refuse(countText(data.length, shape));
    return { shape, bytes: encodeStrings(data) };
  }
  if (!(data instanceof View) || !ArrayBuffer.isView(data)) {
    return refuse(`data of type ${kindOf(data)}, not ${View.name}`);
  }
  if (data.length !== elements) return refuse(countText(data.length, shape));
  return { shape, bytes: new Uint8Array(data.buffer, data.byteOffset, data.byteLength) };
}

function countText(count: number, shape: readonly number[]): string {
  return `${count} elements for the shape [${shape.join(", ")}]`;
}

function kindOf(data: unknown): string {
  if (Array.isArray(data)) return "an Array";
  return typeof data === "object" && data !== null
    ? (data.constructor?.name ?? "an object")
    : typeof data;
}

function isShape(shape: unknown): shape is readonly number[] {
  return (
    Array.isArray(shape) &&
    shape.every((size) => Number.isSafeInteger(size) && size >= 0 && size <= 2 ** 31)
  );
}

function isElements(data: unknown): data is readonly (Uint8Array | string)[] {
  return (
    Array.isArray(data) &&
    data.every((element) => typeof element === "string" || element instanceof Uint8Array)
  );
}
