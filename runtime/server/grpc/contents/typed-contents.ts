/** Elements in the fields of InferTensorContents, to and from row-major little-endian bytes. */
import { BinaryReader } from "@bufbuild/protobuf/wire";
import { binaryOf } from "../../protocol/infer-request.ts";
import { BadRequest } from "../../tensors/bad-request.ts";
import { DATATYPES, type Datatype, elementCountOf } from "../../tensors/tensors.ts";
import { BITS_32, BITS_64, BYTES, eachField, VARINT } from "./wire.ts";

const FIELD_NAMES = [
  "",
  "bool_contents",
  "int_contents",
  "int64_contents",
  "uint_contents",
  "uint64_contents",
  "fp32_contents",
  "fp64_contents",
  "bytes_contents",
] as const;

/** Reads an element and writes it to its place. @returns what was expected, if it is another. */
type TakeElement = (reader: BinaryReader, view: DataView, offset: number) => string | undefined;

interface ContentsKind {
  readonly field: number;
  /** Type on the wire of an element that is not packed. */
  readonly wire: number;
  readonly take: TakeElement;
}

function ranged(
  field: number,
  [least, most]: readonly [number, number],
  put: (view: DataView, offset: number, value: number) => void,
): ContentsKind {
  const take: TakeElement = (reader, view, offset) => {
    const value = field === 2 ? reader.int32() : reader.uint32();
    if (value < least || value > most) return `expected an integer from ${least} to ${most}`;
    put(view, offset, value);
    return undefined;
  };
  return { field, wire: VARINT, take };
}

function plain(field: number, wire: number, put: (...of: Parameters<TakeElement>) => void) {
  const take: TakeElement = (reader, view, offset) => {
    put(reader, view, offset);
    return undefined;
  };
  return { field, wire, take };
}

/** Fields by datatype; 16-bit floats have no field. */
const KINDS: Partial<Record<Datatype, ContentsKind>> = {
  BOOL: plain(1, VARINT, (reader, view, at) => view.setUint8(at, Number(reader.bool()))),
  INT8: ranged(2, [-128, 127], (view, at, value) => view.setInt8(at, value)),
  INT16: ranged(2, [-32_768, 32_767], (view, at, value) => view.setInt16(at, value, true)),
  INT32: plain(2, VARINT, (reader, view, at) => view.setInt32(at, reader.int32(), true)),
  INT64: plain(3, VARINT, (reader, view, at) => view.setBigInt64(at, BigInt(reader.int64()), true)),
  UINT8: ranged(4, [0, 255], (view, at, value) => view.setUint8(at, value)),
  UINT16: ranged(4, [0, 65_535], (view, at, value) => view.setUint16(at, value, true)),
  UINT32: plain(4, VARINT, (reader, view, at) => view.setUint32(at, reader.uint32(), true)),
  UINT64: plain(5, VARINT, (reader, view, at) =>
    view.setBigUint64(at, BigInt(reader.uint64()), true),
  ),
  FP32: plain(6, BITS_32, (reader, view, at) => view.setFloat32(at, reader.float(), true)),
  FP64: plain(7, BITS_64, (reader, view, at) => view.setFloat64(at, reader.double(), true)),
};

/** Whether InferTensorContents has a field for the type. */
export function hasContents(datatype: Datatype): boolean {
  return datatype === "BYTES" || KINDS[datatype] !== undefined;
}

/** Elements of an input as a message has them. */
export interface Contents {
  readonly datatype: Datatype;
  readonly shape: readonly number[];
  /** Row-major bytes, or a message of InferTensorContents. */
  readonly bytes: Uint8Array;
  readonly isRaw: boolean;
  readonly path: string;
}

/** Returns row-major bytes; a view where they are raw. @throws BadRequest */
export function contentBytesOf({ datatype, shape, bytes, isRaw, path }: Contents): Uint8Array {
  if (isRaw) return binaryOf(bytes, { datatype }, shape, path);
  return bytesOfContents(datatype, shape, bytes, path);
}

/**
 * @param contents message of InferTensorContents. @param path of the contents.
 * @throws BadRequest if the number of elements does not match the shape, or their field the type.
 */
function bytesOfContents(
  datatype: Datatype,
  shape: readonly number[],
  contents: Uint8Array,
  path: string,
): Uint8Array {
  const count = elementCountOf(shape);
  if (datatype === "BYTES") return bytesOfStrings(contents, count, path);
  const kind = KINDS[datatype];
  if (kind === undefined) {
    const expected = `expected raw_input_contents: ${datatype} has no contents of its own`;
    throw new BadRequest(path, expected, `${contents.length} bytes`);
  }
  return bytesOfNumbers(kind, contents, count, DATATYPES[datatype].elementBytes, path);
}

function bytesOfNumbers(
  { field: own, wire: single, take }: ContentsKind,
  contents: Uint8Array,
  count: number,
  elementBytes: number,
  path: string,
): Uint8Array {
  const at = `${path}.${FIELD_NAMES[own]}`;
  const bytes = new Uint8Array(count * elementBytes);
  const view = new DataView(bytes.buffer);
  let taken = 0;
  const takeOne = (reader: BinaryReader) => {
    if (taken === count) throw new BadRequest(at, `expected ${count} elements`, "more");
    const problem = take(reader, view, taken * elementBytes);
    if (problem !== undefined) throw new BadRequest(`${at}[${taken}]`, problem, "another");
    taken++;
  };
  eachField(contents, path, (field, wire, reader) => {
    expectOwn(field, own, path);
    if (field === own && wire === single) takeOne(reader);
    else if (field === own && wire === BYTES) {
      const packed = new BinaryReader(reader.bytes());
      while (packed.pos < packed.len) takeOne(packed);
    } else return false;
    return true;
  });
  if (taken !== count) throw new BadRequest(at, `expected ${count} elements`, taken);
  return bytes;
}

function bytesOfStrings(contents: Uint8Array, count: number, path: string): Uint8Array {
  const at = `${path}.${FIELD_NAMES[8]}`;
  const parts: Uint8Array[] = [];
  eachField(contents, path, (field, wire, reader) => {
    expectOwn(field, 8, path);
    if (field !== 8 || wire !== BYTES) return false;
    if (parts.length === 2 * count) throw new BadRequest(at, `expected ${count} elements`, "more");
    const element = reader.bytes();
    const length = Buffer.alloc(4);
    length.writeUInt32LE(element.length);
    parts.push(length, element);
    return true;
  });
  if (parts.length === 2 * count) return Buffer.concat(parts);
  throw new BadRequest(at, `expected ${count} elements`, parts.length / 2);
}

/** @throws BadRequest for elements in the field of another type. */
function expectOwn(field: number, own: number, path: string): void {
  const name = FIELD_NAMES[field];
  if (field === own || name === undefined) return;
  throw new BadRequest(
    `${path}.${name}`,
    `expected nothing in addition to ${FIELD_NAMES[own]}`,
    "some",
  );
}
