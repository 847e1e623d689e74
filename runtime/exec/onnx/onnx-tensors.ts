/**
 * Tensors anywhere in an ONNX file: weights, constants, and those of subgraphs and functions.
 *
 * Reads protobuf by the fields of onnx.proto. Bytes that no writer of ONNX produces are refused,
 * because another reader might interpret them differently.
 */

interface HeldTensor {
  readonly name: string;
  readonly dims: readonly number[];
  /** Whether its values lie in another file. */
  readonly isElsewhere: boolean;
}

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
const TENSOR_NAME = 8;
const TENSOR_DATA_LOCATION = 14;
/** Depth limit of protobuf itself. */
const MAX_DEPTH = 100;

const VARINT = 0;
const FIXED_64 = 1;
const DELIMITED = 2;
const FIXED_32 = 5;

/** Calls `visit` for each tensor in file order. @throws Error if it is not an ONNX file. */
export function visitTensors(model: Uint8Array, visit: (tensor: HeldTensor) => void): void {
  new Walk(model, visit).message("model", 0, model.length, 0);
}

class Walk {
  readonly #bytes: Uint8Array;
  readonly #visit: (tensor: HeldTensor) => void;
  #at = 0;

  constructor(bytes: Uint8Array, visit: (tensor: HeldTensor) => void) {
    this.#bytes = bytes;
    this.#visit = visit;
  }

  message(kind: Message, start: number, end: number, depth: number): void {
    if (depth > MAX_DEPTH) throw noModel(start, `messages nested deeper than ${MAX_DEPTH}`);
    const parts = PARTS[kind];
    this.#at = start;
    while (this.#at < end) {
      const { field, wireType } = this.#tag(end);
      const first = this.#skip(wireType, end);
      const [part, next] = [parts[field], this.#at];
      if (part === undefined || wireType !== DELIMITED) continue;
      if (part === "tensor") this.#tensor(first, next);
      else this.message(part, first, next, depth + 1);
      this.#at = next;
    }
  }

  #tensor(start: number, end: number): void {
    let name = "";
    const dims: number[] = [];
    let isElsewhere = false;
    this.#at = start;
    while (this.#at < end) {
      const { field, wireType } = this.#tag(end);
      const valueAt = this.#at;
      const first = this.#skip(wireType, end);
      if (field === TENSOR_NAME && wireType === DELIMITED) {
        name = new TextDecoder().decode(this.#bytes.subarray(first, this.#at));
      }
      if (field === TENSOR_DIMS) this.#dims(wireType === DELIMITED ? first : valueAt, dims);
      if (field === TENSOR_DATA_LOCATION && wireType === VARINT) {
        isElsewhere ||= this.#bytes.subarray(valueAt, this.#at).some((byte) => byte % 128 !== 0);
      }
    }
    this.#visit({ name, dims, isElsewhere });
  }

  /** Reads the dimensions from `start` to the current position: one, or several packed ones. */
  #dims(start: number, dims: number[]): void {
    const end = this.#at;
    this.#at = start;
    while (this.#at < end) dims.push(this.#varint(end));
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

function noModel(at: number, found: string): Error {
  return new Error(`expected an ONNX model, found at byte ${at} ${found}`);
}

/**
 * Checks that a model is complete in its one file. Tensors may lie in other files, whose names the
 * model chooses: no digest covers them, and onnxruntime reads them wherever they are.
 * @throws Error naming the first external tensor; or if it is not an ONNX file.
 */
export function checkSelfContained(model: Uint8Array): void {
  visitTensors(model, ({ name, isElsewhere }) => {
    if (!isElsewhere) return;
    throw new Error(
      `tensor "${name}" lies in another file, which no digest covers; allowed: models in one ` +
        "file, as onnx.save writes them with save_as_external_data=False (in Python: " +
        'onnx.save(onnx.load("a.onnx"), "one-file.onnx"))',
    );
  });
}
