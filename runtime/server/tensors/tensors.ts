/** Tensor data: element types, JSON and row-major little-endian bytes, and where rows begin. */

import { halfToNumber, numberToHalf } from "../../core/half.ts";
import type { HostDatatype } from "../../exec/tensors/host-module.ts";
import { BadRequest } from "./bad-request.ts";
import { readInteger } from "./json-text.ts";

/** Datatypes of modules, and BF16, which is passed on as its bytes. */
export type Datatype = HostDatatype | "BF16";

interface DatatypeInfo {
  /** Name in the bundle. */
  readonly dtype: string;
  /** Name in Triton's model configuration. */
  readonly configType: string;
  /** Bytes of an element; 0 for BYTES, whose elements have a length prefix. */
  readonly elementBytes: number;
}

export const DATATYPES: Readonly<Record<Datatype, DatatypeInfo>> = {
  BOOL: { dtype: "bool", configType: "TYPE_BOOL", elementBytes: 1 },
  UINT8: { dtype: "uint8", configType: "TYPE_UINT8", elementBytes: 1 },
  UINT16: { dtype: "uint16", configType: "TYPE_UINT16", elementBytes: 2 },
  UINT32: { dtype: "uint32", configType: "TYPE_UINT32", elementBytes: 4 },
  UINT64: { dtype: "uint64", configType: "TYPE_UINT64", elementBytes: 8 },
  INT8: { dtype: "int8", configType: "TYPE_INT8", elementBytes: 1 },
  INT16: { dtype: "int16", configType: "TYPE_INT16", elementBytes: 2 },
  INT32: { dtype: "int32", configType: "TYPE_INT32", elementBytes: 4 },
  INT64: { dtype: "int64", configType: "TYPE_INT64", elementBytes: 8 },
  FP16: { dtype: "float16", configType: "TYPE_FP16", elementBytes: 2 },
  BF16: { dtype: "bfloat16", configType: "TYPE_BF16", elementBytes: 2 },
  FP32: { dtype: "float32", configType: "TYPE_FP32", elementBytes: 4 },
  FP64: { dtype: "float64", configType: "TYPE_FP64", elementBytes: 8 },
  BYTES: { dtype: "string", configType: "TYPE_STRING", elementBytes: 0 },
};

const DATATYPE_BY_DTYPE = new Map(
  Object.entries(DATATYPES).map(([datatype, { dtype }]) => [dtype, datatype as Datatype]),
);

/** @returns undefined for an element type that the protocol does not have. */
export function datatypeOf(dtype: string): Datatype | undefined {
  return DATATYPE_BY_DTYPE.get(dtype);
}

/** Whether elements can only be sent as bytes: the protocol has no JSON for them. */
export function isBinaryOnly(datatype: Datatype): datatype is "BF16" {
  return datatype === "BF16";
}

/** Bytes of an element of any type; null where it has no fixed size. */
export function fixedElementBytes(datatype: string): number | null {
  return (
    (Object.hasOwn(DATATYPES, datatype) && DATATYPES[datatype as Datatype].elementBytes) || null
  );
}

export function elementCountOf(shape: readonly number[]): number {
  return shape.reduce((count, size) => count * size, 1);
}

const INTEGER_RANGE: Partial<Record<Datatype, readonly [bigint, bigint]>> = {
  UINT8: [0n, 255n],
  UINT16: [0n, 65_535n],
  UINT32: [0n, 2n ** 32n - 1n],
  UINT64: [0n, 2n ** 64n - 1n],
  INT8: [-128n, 127n],
  INT16: [-32_768n, 32_767n],
  INT32: [-(2n ** 31n), 2n ** 31n - 1n],
  INT64: [-(2n ** 63n), 2n ** 63n - 1n],
};

/**
 * Byte offsets of the rows and, last, of the end.
 * @returns shape (rows + 1,); undefined if the bytes are not exactly that many rows.
 */
export function rowBounds(
  datatype: Datatype,
  bytes: Uint8Array,
  rows: number,
  rowElements: number,
): number[] | undefined {
  const { elementBytes } = DATATYPES[datatype];
  if (elementBytes > 0) {
    const rowBytes = rowElements * elementBytes;
    if (bytes.length !== rows * rowBytes) return undefined;
    const bounds: number[] = [];
    for (let row = 0; row <= rows; row++) bounds.push(row * rowBytes);
    return bounds;
  }
  const view = viewOf(bytes);
  const bounds = [0];
  let offset = 0;
  for (let row = 0; row < rows; row++) {
    for (let element = 0; element < rowElements; element++) {
      if (offset + 4 > bytes.length) return undefined;
      offset += 4 + view.getUint32(offset, true);
    }
    if (offset > bytes.length) return undefined;
    bounds.push(offset);
  }
  return offset === bytes.length ? bounds : undefined;
}

/**
 * Converts JSON data, flat or nested by the shape, to bytes.
 * @throws BadRequest that names the element.
 */
export function bytesOfJson(
  datatype: Datatype,
  shape: readonly number[],
  data: unknown,
  path: string,
): Uint8Array {
  if (isBinaryOnly(datatype)) {
    throw new BadRequest(path, `expected none: ${datatype} is sent as binary data only`, data);
  }
  const count = elementCountOf(shape);
  const isNested = Array.isArray(data) && data.length > 0 && Array.isArray(data[0]);
  const sink = sinkOf(datatype, count);
  if (isNested) writeNested(sink, data, shape, 0, path);
  else writeFlat(sink, listOf(data, count, path), path);
  return sink.finish();
}

interface Sink {
  /** @throws BadRequest that names `path` and `index`. */
  write(value: unknown, path: string, index: number): void;
  finish(): Uint8Array;
}

function writeFlat(sink: Sink, values: readonly unknown[], path: string): void {
  for (let index = 0; index < values.length; index++) sink.write(values[index], path, index);
}

/** Depth is that of the model's shape. */
function writeNested(
  sink: Sink,
  data: unknown,
  shape: readonly number[],
  axis: number,
  path: string,
): void {
  const values = listOf(data, shape[axis] ?? 0, path);
  if (axis === shape.length - 1) {
    writeFlat(sink, values, path);
    return;
  }
  for (const [index, inner] of values.entries()) {
    writeNested(sink, inner, shape, axis + 1, `${path}[${index}]`);
  }
}

function listOf(data: unknown, count: number, path: string): readonly unknown[] {
  if (!Array.isArray(data)) throw new BadRequest(path, "expected an array", data);
  if (data.length !== count) {
    throw new BadRequest(path, `expected ${count} elements`, data.length);
  }
  return data;
}

function sinkOf(datatype: Exclude<Datatype, "BF16">, count: number): Sink {
  if (datatype === "BYTES") return new BytesSink();
  const bytes = new Uint8Array(count * DATATYPES[datatype].elementBytes);
  const writeElement = elementWriter(datatype, viewOf(bytes));
  let written = 0;
  return {
    write(value, path, index) {
      const problem = writeElement(written++, value);
      if (problem !== undefined) throw new BadRequest(`${path}[${index}]`, problem, value);
    },
    finish: () => bytes,
  };
}

class BytesSink implements Sink {
  readonly #parts: Uint8Array[] = [];

  write(value: unknown, path: string, index: number): void {
    if (typeof value !== "string" && !(value instanceof Uint8Array)) {
      throw new BadRequest(`${path}[${index}]`, "expected a string", value);
    }
    const text = typeof value === "string" ? Buffer.from(value) : value;
    const length = Buffer.alloc(4);
    length.writeUInt32LE(text.length);
    this.#parts.push(length, text);
  }

  finish(): Uint8Array {
    return Buffer.concat(this.#parts);
  }
}

/**
 * Encodes a number as one element.
 * @throws RangeError if the type has no such number, or no fixed size.
 */
export function elementBytesOf(datatype: Datatype, value: number): Uint8Array {
  const refused = new RangeError(`${datatype} has no element ${value}`);
  if (datatype === "BYTES") throw refused;
  if (datatype === "BF16") {
    // The upper half of the bits of a single.
    const single = new DataView(new ArrayBuffer(4));
    single.setFloat32(0, value, true);
    return new Uint8Array(single.buffer.slice(2));
  }
  const bytes = new Uint8Array(DATATYPES[datatype].elementBytes);
  const view = viewOf(bytes);
  const range = INTEGER_RANGE[datatype];
  if (range !== undefined && bytes.length === 8) {
    const integer = Number.isInteger(value) ? BigInt(value) : range[1] + 1n;
    if (integer < range[0] || integer > range[1]) throw refused;
    view.setBigUint64(0, BigInt.asUintN(64, integer), true);
  } else if (elementWriter(datatype, view)(0, value) !== undefined) throw refused;
  return bytes;
}

/** Writes element i; returns what was expected if the value is not one. */
type ElementWriter = (index: number, value: unknown) => string | undefined;

function elementWriter(
  datatype: Exclude<Datatype, "BYTES" | "BF16">,
  view: DataView,
): ElementWriter {
  if (datatype === "BOOL") {
    return (index, value) => {
      if (value !== true && value !== false && value !== 0 && value !== 1) {
        return "expected true or false";
      }
      view.setUint8(index, Number(value));
      return undefined;
    };
  }
  const range = INTEGER_RANGE[datatype];
  return range === undefined ? floatWriter(datatype, view) : integerWriter(datatype, range, view);
}

function floatWriter(datatype: Datatype, view: DataView): ElementWriter {
  const write = {
    FP16: (index: number, value: number) => view.setUint16(2 * index, numberToHalf(value), true),
    FP32: (index: number, value: number) => view.setFloat32(4 * index, value, true),
    FP64: (index: number, value: number) => view.setFloat64(8 * index, value, true),
  }[datatype as string];
  return (index, value) => {
    const number = typeof value === "number" ? value : Number(readInteger(value) ?? Number.NaN);
    if (Number.isNaN(number)) return "expected a number";
    write?.(index, number);
    return undefined;
  };
}

function integerWriter(
  datatype: Datatype,
  [min, max]: readonly [bigint, bigint],
  view: DataView,
): ElementWriter {
  const { elementBytes } = DATATYPES[datatype];
  const expected = `expected an integer from ${min} to ${max}`;
  const [low, high] = [Number(min), Number(max)];
  return (index, value) => {
    if (elementBytes < 8) {
      if (typeof value !== "number" || !Number.isInteger(value) || value < low || value > high) {
        return expected;
      }
      if (elementBytes === 1) view.setUint8(index, value & 0xff);
      else if (elementBytes === 2) view.setUint16(2 * index, value & 0xffff, true);
      else view.setUint32(4 * index, value >>> 0, true);
      return undefined;
    }
    const integer = readInteger(value);
    if (integer === undefined || integer < min || integer > max) return expected;
    view.setBigUint64(8 * index, BigInt.asUintN(64, integer), true);
    return undefined;
  };
}

/**
 * JSON text of a flat array of all elements.
 * @returns undefined if an element is NaN or infinite, or of a type that JSON cannot express.
 */
export function jsonOfBytes(datatype: Datatype, bytes: Uint8Array): string | undefined {
  const view = viewOf(bytes);
  if (datatype === "BYTES") return jsonOfStrings(bytes, view);
  if (isBinaryOnly(datatype)) return undefined;
  const { elementBytes } = DATATYPES[datatype];
  const read = elementReader(datatype, view);
  const texts = new Array<string>(bytes.length / elementBytes);
  for (let index = 0; index < texts.length; index++) {
    const value = read(index);
    if (typeof value === "number" && !Number.isFinite(value)) return undefined;
    texts[index] = String(value);
  }
  return `[${texts.join(",")}]`;
}

/** Reads element i of bytes. */
export function elementReader(
  datatype: Exclude<Datatype, "BYTES" | "BF16">,
  view: DataView,
): (index: number) => number | bigint | boolean {
  const readers: Record<typeof datatype, (index: number) => number | bigint | boolean> = {
    BOOL: (index) => view.getUint8(index) !== 0,
    UINT8: (index) => view.getUint8(index),
    UINT16: (index) => view.getUint16(2 * index, true),
    UINT32: (index) => view.getUint32(4 * index, true),
    UINT64: (index) => view.getBigUint64(8 * index, true),
    INT8: (index) => view.getInt8(index),
    INT16: (index) => view.getInt16(2 * index, true),
    INT32: (index) => view.getInt32(4 * index, true),
    INT64: (index) => view.getBigInt64(8 * index, true),
    FP16: (index) => halfToNumber(view.getUint16(2 * index, true)),
    FP32: (index) => view.getFloat32(4 * index, true),
    FP64: (index) => view.getFloat64(8 * index, true),
  };
  return readers[datatype];
}

function jsonOfStrings(bytes: Uint8Array, view: DataView): string {
  const texts: string[] = [];
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  for (let offset = 0; offset < bytes.length; ) {
    const end = offset + 4 + view.getUint32(offset, true);
    texts.push(JSON.stringify(buffer.toString("utf8", offset + 4, end)));
    offset = end;
  }
  return `[${texts.join(",")}]`;
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
}

export function lengthOf(parts: readonly Uint8Array[]): number {
  let length = 0;
  for (const part of parts) length += part.length;
  return length;
}
