/**
 * Tensors anywhere in an ONNX file: weights, constants, and those of subgraphs and functions.
 *
 * Reads protobuf by the fields of onnx.proto. Bytes that no writer of ONNX produces are refused,
 * because another reader might interpret them differently.
 */

export interface HeldTensor {
  readonly name: string;
  readonly dims: readonly number[];
  /** Number of its element type in onnx.proto. */
  readonly dataType: number;
  /** Location, offset and length of values in another file; null if they are in the model. */
  readonly external: ReadonlyMap<string, string> | null;
}

/** Values of a tensor in another file. */
export interface FileSlice {
  readonly tensor: string;
  /** Path as the model has it. */
  readonly location: string;
  readonly offset: number;
  /** Bytes. */
  readonly length: number;
}

/** Bytes of a model, or values to put in their place. */
export type Piece = Uint8Array | FileSlice;

/** Refusal of bytes that are not a model. */
export class NoOnnxError extends Error {}

type Message = "model" | "training" | "function" | "graph" | "node" | "attribute" | "sparse";

/** Fields with messages that contain tensors. */
const PARTS: Readonly<Record<Message, Readonly<Record<number, Message | "tensor">>>> = {
  model: { 7: "graph", 20: "training", 25: "function" },
  training: { 1: "graph", 2: "graph" },
  function: { 7: "node", 11: "attribute" },
  graph: { 1: "node", 5: "tensor", 15: "sparse" },
  node: { 5: "attribute" },
  attribute: { 5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse", 23: "sparse" },
  sparse: { 1: "tensor", 2: "tensor" },
};
const TENSOR_DIMS = 1;
const TENSOR_DATA_TYPE = 2;
const TENSOR_NAME = 8;
const TENSOR_RAW_DATA = 9;
const TENSOR_EXTERNAL_DATA = 13;
const TENSOR_DATA_LOCATION = 14;
/** Fields that a tensor loses when its values take the place of their location. */
const REPLACED: readonly number[] = [TENSOR_RAW_DATA, TENSOR_EXTERNAL_DATA, TENSOR_DATA_LOCATION];
/** Depth limit of protobuf itself. */
const MAX_DEPTH = 100;

const VARINT = 0;
const FIXED_64 = 1;
const DELIMITED = 2;
const FIXED_32 = 5;

/** Calls `visit` for each tensor in file order. @throws NoOnnxError if it is not an ONNX file. */
export function visitTensors(model: Uint8Array, visit: (tensor: HeldTensor) => void): void {
  piecesOf(model, (tensor) => {
    visit(tensor);
    return null;
  });
}

/**
 * Puts values in the place of references to other files; all other bytes stay as they are.
 * @param sliceOf called for each tensor in file order; null leaves a tensor as it is.
 * @returns the pieces in order; null if nothing is replaced.
 * @throws NoOnnxError if it is not an ONNX file; what `sliceOf` throws.
 */
export function piecesOf(
  model: Uint8Array,
  sliceOf: (tensor: HeldTensor) => FileSlice | null,
): readonly Piece[] | null {
  return new Walk(model, sliceOf).message("model", 0, model.length, 0);
}

/** Returns the size in bytes. */
export function bytesOfPieces(pieces: readonly Piece[]): number {
  return pieces.reduce((sum, { length }) => sum + length, 0);
}

class Walk {
  readonly #bytes: Uint8Array;
  readonly #sliceOf: (tensor: HeldTensor) => FileSlice | null;
  #at = 0;

  constructor(bytes: Uint8Array, sliceOf: (tensor: HeldTensor) => FileSlice | null) {
    this.#bytes = bytes;
    this.#sliceOf = sliceOf;
  }

  /** Returns the pieces of a message; null if it stays as it is. */
  message(kind: Message, start: number, end: number, depth: number): Piece[] | null {
    if (depth > MAX_DEPTH) throw noModel(start, `messages nested deeper than ${MAX_DEPTH}`);
    const parts = PARTS[kind];
    const pieces: Piece[] = [];
    let copiedTo = start;
    this.#at = start;
    while (this.#at < end) {
      const { field, wireType } = this.#tag(end);
      const valueAt = this.#at;
      const first = this.#skip(wireType, end);
      const [part, next] = [parts[field], this.#at];
      if (part === undefined || wireType !== DELIMITED) continue;
      const changed =
        part === "tensor" ? this.#tensor(first, next) : this.message(part, first, next, depth + 1);
      this.#at = next;
      if (changed === null) continue;
      pieces.push(this.#bytes.subarray(copiedTo, valueAt), varint(bytesOfPieces(changed)));
      for (const piece of changed) pieces.push(piece);
      copiedTo = next;
    }
    if (pieces.length === 0) return null;
    pieces.push(this.#bytes.subarray(copiedTo, end));
    return pieces;
  }

  #tensor(start: number, end: number): Piece[] | null {
    let [name, dataType, isElsewhere] = ["", 0, false];
    const dims: number[] = [];
    const external = new Map<string, string>();
    const kept: Piece[] = [];
    this.#at = start;
    while (this.#at < end) {
      const tagAt = this.#at;
      const { field, wireType } = this.#tag(end);
      const valueAt = this.#at;
      const first = this.#skip(wireType, end);
      const next = this.#at;
      const isMessage = wireType === DELIMITED;
      if (field === TENSOR_NAME && isMessage) name = this.#text(first, next);
      if (field === TENSOR_DIMS) this.#dims(isMessage ? first : valueAt, dims);
      if (field === TENSOR_DATA_TYPE && wireType === VARINT) dataType = this.#varintAt(valueAt);
      if (field === TENSOR_EXTERNAL_DATA && isMessage) this.#entry(first, next, external);
      if (field === TENSOR_DATA_LOCATION && wireType === VARINT) {
        isElsewhere ||= this.#bytes.subarray(valueAt, next).some((byte) => byte % 128 !== 0);
      }
      if (!REPLACED.includes(field)) kept.push(this.#bytes.subarray(tagAt, next));
      this.#at = next;
    }
    const slice = this.#sliceOf({ name, dims, dataType, external: isElsewhere ? external : null });
    if (slice === null) return null;
    return [...kept, varint(TENSOR_RAW_DATA * 8 + DELIMITED), varint(slice.length), slice];
  }

  /** Reads a key and its value. */
  #entry(start: number, end: number, entries: Map<string, string>): void {
    const texts = ["", ""];
    this.#at = start;
    while (this.#at < end) {
      const { field, wireType } = this.#tag(end);
      const first = this.#skip(wireType, end);
      if (wireType === DELIMITED) texts[field - 1] = this.#text(first, this.#at);
    }
    const [key = "", value = ""] = texts;
    entries.set(key, value);
  }

  #text(start: number, end: number): string {
    return new TextDecoder().decode(this.#bytes.subarray(start, end));
  }

  /** Reads the dimensions from `start` to the current position: one, or several packed ones. */
  #dims(start: number, dims: number[]): void {
    const end = this.#at;
    this.#at = start;
    while (this.#at < end) dims.push(this.#varint(end));
  }

  #varintAt(at: number): number {
    const end = this.#at;
    this.#at = at;
    return this.#varint(end);
  }

  #tag(end: number): { field: number; wireType: number } {
    const tagAt = this.#at;
    const tag = this.#varint(end);
    if (tag >= 2 ** 32) throw noModel(tagAt, "a field without a valid number");
    return { field: Math.floor(tag / 8), wireType: tag % 8 };
  }

  /** Moves behind a value. @returns where its content starts. */
  #skip(wireType: number, end: number): number {
    const valueAt = this.#at;
    let length = 0;
    if (wireType === VARINT || wireType === DELIMITED) {
      const value = this.#varint(end);
      if (wireType === DELIMITED) length = value;
    } else if (wireType === FIXED_64 || wireType === FIXED_32) {
      length = wireType === FIXED_64 ? 8 : 4;
    } else {
      throw noModel(valueAt, `protobuf wire type ${wireType}`);
    }
    const first = this.#at;
    if (first + length > end) throw noModel(valueAt, "a field that ends after its message");
    this.#at = first + length;
    return first;
  }

  /** Inexact beyond 2^53, which no length reaches. */
  #varint(end: number): number {
    const [start, bytes] = [this.#at, this.#bytes];
    let value = 0;
    let scale = 1;
    for (let at = start; at < end && at < start + 10; at++) {
      const byte = bytes[at] ?? 0;
      value += (byte % 128) * scale;
      scale *= 128;
      if (byte < 128) {
        this.#at = at + 1;
        return value;
      }
    }
    throw noModel(start, "a number that does not end");
  }
}

/** Encodes a non-negative integer below 2^53. */
function varint(value: number): Uint8Array {
  const bytes: number[] = [];
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return Uint8Array.of(...bytes, rest);
    bytes.push((rest % 128) + 128);
  }
}

function noModel(at: number, found: string): NoOnnxError {
  return new NoOnnxError(`expected an ONNX model, found at byte ${at} ${found}`);
}
