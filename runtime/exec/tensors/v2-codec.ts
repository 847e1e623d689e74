/**
 * The Open Inference Protocol v2 as JSON with binary tensors: what is asked of a server and what it
 * answers. Of that server nothing is believed: what it says is checked where it is read.
 */
import type { IncomingHttpHeaders } from "node:http";
import type { TensorInfo } from "../../bundle/schema.ts";
import { oneLine } from "../models/loaded-model.ts";
import { hostDatatypeOf, hostDtypeOf } from "./host-tensors.ts";

export interface RemoteTensors {
  readonly inputs: readonly TensorInfo[];
  readonly outputs: readonly TensorInfo[];
}

/** A tensor as it is sent: of the model's own name, with all of its bytes. */
export interface SentTensor {
  readonly info: TensorInfo;
  readonly shape: readonly number[];
  /** One after the other they are the tensor. */
  readonly chunks: readonly Uint8Array[];
  /** Where it is to be taken from instead. */
  readonly stayed?: { readonly url: string; readonly key: string };
}

export interface GivenTensor {
  readonly shape: readonly number[];
  readonly bytes: Uint8Array;
  /** By which the server keeps it, where it was asked to: there are no bytes then. */
  readonly key?: string;
}

/** Length of the JSON before the tensors, as the protocol calls it. */
export const HEADER_LENGTH = "inference-header-content-length";
/** Of what is not tensors: descriptions, and the words of an error. */
export const MAX_TEXT_BYTES = 2 ** 20;
/** Of a batch, as much as goes to a worker. */
export const MAX_ANSWER_BYTES = 2 ** 30;
const MAX_TENSORS = 256;
const MAX_RANK = 16;
const MAX_SIZE = 2 ** 31;
const MAX_TOLD = 300;
const MAX_KEY = 100;

export type Fields = Readonly<Record<string, unknown>>;

/**
 * The JSON of a request that wants all of these outputs, in binary.
 * @param stays outputs, by index, that are to stay on the server.
 */
export function inferJson(
  inputs: readonly SentTensor[],
  outputs: readonly TensorInfo[],
  more: Fields = {},
  stays: ReadonlySet<number> = new Set(),
): Buffer {
  return Buffer.from(
    JSON.stringify({
      ...more,
      inputs: inputs.map(({ info, shape, chunks, stayed }) => ({
        name: info.name,
        datatype: protocolTypeOf(info.dtype),
        shape,
        parameters:
          stayed === undefined
            ? { binary_data_size: lengthOf(chunks) }
            : { stratagem_value: stayed.key, stratagem_source: stayed.url },
      })),
      outputs: outputs.map(({ name }, index) => ({
        name,
        parameters: stays.has(index) ? { stratagem_keep: true } : { binary_data: true },
      })),
    }),
  );
}

/** Stated length of the JSON of an answer; null if it is all JSON. */
export function headerLengthOf(headers: IncomingHttpHeaders): string | null {
  const length = headers[HEADER_LENGTH];
  return typeof length === "string" ? length : null;
}

export function lengthOf(chunks: readonly Uint8Array[]): number {
  return chunks.reduce((sum, { length }) => sum + length, 0);
}

/**
 * What the description of a model says of its tensors.
 * @param first whether the first axis has to be the rows of a batch, or may have a size.
 */
export function describedTensors(bytes: Uint8Array, first: "rows" | "any"): RemoteTensors {
  const told = fieldsOf(JSON.parse(new TextDecoder().decode(bytes)), "its description");
  return {
    inputs: infosOf(told["inputs"], "inputs", first),
    outputs: infosOf(told["outputs"], "outputs", first),
  };
}

/** What an error says: the text under "error", where it is JSON as the protocol has it. */
export function wordsOf(bytes: Uint8Array): string {
  const text = new TextDecoder().decode(bytes.subarray(0, MAX_TEXT_BYTES));
  try {
    const { error }: Fields = JSON.parse(text);
    if (typeof error === "string") return oneLine(error).slice(0, MAX_TOLD);
  } catch {
    // Some other text.
  }
  return oneLine(text).slice(0, MAX_TOLD) || "nothing";
}

function infosOf(value: unknown, side: string, first: "rows" | "any"): TensorInfo[] {
  if (!Array.isArray(value) || value.length === 0 || value.length > MAX_TENSORS) {
    throw new Error(`expected ${side} to be a list of 1 to ${MAX_TENSORS} tensors`);
  }
  return value.map((one: unknown, index): TensorInfo => {
    const { name, datatype, shape } = fieldsOf(one, `${side}[${index}]`);
    const dtype = typeof datatype === "string" ? hostDtypeOf(datatype) : undefined;
    if (typeof name !== "string" || name === "" || name.length > 1024) {
      throw new Error(`expected ${side}[${index}] to have a name`);
    }
    if (dtype === undefined) {
      const found = typeof datatype === "string" ? datatype.slice(0, 40) : typeof datatype;
      throw new Error(`${side} "${name}": elements of type ${found} are not sent on`);
    }
    if (!isShape(shape) || (first === "rows" && shape[0] !== -1)) {
      const found = Array.isArray(shape) ? `[${shape.slice(0, MAX_RANK).join(", ")}]` : "no list";
      throw new Error(
        `${side} "${name}": expected a shape whose first axis is the rows, −1, got ${found}`,
      );
    }
    return { name, dtype, shape: [...shape] };
  });
}

function isShape(shape: unknown): shape is readonly number[] {
  return (
    Array.isArray(shape) &&
    shape.length <= MAX_RANK &&
    shape.every((size) => Number.isInteger(size) && size >= -1 && size <= MAX_SIZE)
  );
}

/**
 * The outputs of an answer: binary data follow the JSON in the order of the outputs that have some.
 * @param headerLength what the answer says of the length of its JSON; null where it is all JSON.
 */
export function outputsOf(
  bytes: Uint8Array,
  headerLength: string | null,
  wanted: readonly TensorInfo[],
): GivenTensor[] {
  const { fields, binary } = answerHead(bytes, headerLength);
  const given = new Map<string, GivenTensor>();
  let at = 0;
  for (const one of Array.isArray(fields["outputs"]) ? fields["outputs"] : []) {
    const { name, datatype, shape, parameters } = fieldsOf(one, "an output");
    const info = wanted.find((each) => each.name === name);
    const { binary_data_size: ownSize, stratagem_value: key } = fieldsOf(
      parameters ?? {},
      "parameters",
    );
    const isKept = typeof key === "string" && key.length <= MAX_KEY;
    const size = isKept ? 0 : ownSize;
    if (info === undefined) throw new Error(`it answered with an output that nobody asked for`);
    if (typeof size !== "number" || !Number.isSafeInteger(size) || size < 0) {
      throw new Error(`output "${info.name}": expected binary data, as it was asked for`);
    }
    if (at + size > binary.length) throw new Error(`output "${info.name}": its data are cut short`);
    const own = { shape: givenShape(info, datatype, shape), bytes: binary.subarray(at, at + size) };
    given.set(info.name, isKept ? { ...own, key } : own);
    at += size;
  }
  return wanted.map(({ name }) => {
    const tensor = given.get(name);
    if (tensor === undefined) throw new Error(`output "${name}" is missing`);
    return tensor;
  });
}

/**
 * The JSON of an answer and the binary data behind it.
 * @throws Error unless it has the length that was stated, and is an object.
 */
export function answerHead(
  bytes: Uint8Array,
  headerLength: string | null,
): { readonly fields: Fields; readonly binary: Uint8Array } {
  const jsonLength = headerLength === null ? bytes.length : Number(headerLength);
  if (!Number.isSafeInteger(jsonLength) || jsonLength < 0 || jsonLength > bytes.length) {
    throw new Error(`expected the length of the JSON, got ${headerLength}`);
  }
  const json = new TextDecoder().decode(bytes.subarray(0, jsonLength));
  return { fields: fieldsOf(JSON.parse(json), "the answer"), binary: bytes.subarray(jsonLength) };
}

/** @throws Error unless an output has the type that it should, and a shape at all. */
function givenShape(info: TensorInfo, datatype: unknown, shape: unknown): readonly number[] {
  const isType = typeof datatype === "string" && hostDtypeOf(datatype) === info.dtype;
  if (isType && isShape(shape)) return shape;
  const found = `${String(datatype).slice(0, 40)} ${JSON.stringify(shape)?.slice(0, 80)}`;
  throw new Error(
    `output "${info.name}": expected ${protocolTypeOf(info.dtype)} and a shape, got ${found}`,
  );
}

export function fieldsOf(value: unknown, what: string): Fields {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Fields;
  throw new Error(`expected ${what} to be an object`);
}

function protocolTypeOf(dtype: string): string {
  return hostDatatypeOf(dtype) ?? dtype;
}
