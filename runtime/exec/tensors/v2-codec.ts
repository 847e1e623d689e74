/**
 * Open Inference Protocol v2 as JSON with binary tensors, from the client's side. Answers are not
 * trusted: every field is checked where it is read.
 */
import type { IncomingHttpHeaders } from "node:http";
import type { TensorInfo } from "../../bundle/schema.ts";
import { oneLine } from "../models/loaded-model.ts";
import { hostDatatypeOf, hostDtypeOf } from "./host-tensors.ts";

export interface RemoteTensors {
  readonly inputs: readonly TensorInfo[];
  readonly outputs: readonly TensorInfo[];
}

/** A tensor to send, under the model's own name, with all of its bytes. */
export interface SentTensor {
  readonly info: TensorInfo;
  readonly shape: readonly number[];
  /** Concatenated they are the tensor. */
  readonly chunks: readonly Uint8Array[];
  /** Worker to fetch it from instead, and its key there. */
  readonly stayed?: { readonly url: string; readonly key: string };
}

export interface GivenTensor {
  readonly shape: readonly number[];
  readonly bytes: Uint8Array;
  /** Key under which the server keeps it on request; there are no bytes then. */
  readonly key?: string;
}

/** Header with the length of the JSON before the tensors. */
export const HEADER_LENGTH = "inference-header-content-length";
/** Size limit of answers without tensors: descriptions and error messages. */
export const MAX_TEXT_BYTES = 2 ** 20;
/** Size limit of a batch, the same as for a worker. */
export const MAX_ANSWER_BYTES = 2 ** 30;
const MAX_TENSORS = 256;
const MAX_RANK = 16;
const MAX_SIZE = 2 ** 31;
const MAX_MESSAGE_LENGTH = 300;
const MAX_KEY = 100;
const MAX_SHOWN = 100;

export type Fields = Readonly<Record<string, unknown>>;

/**
 * Returns the JSON of a request for all of these outputs, in binary.
 * @param stays indices of outputs that stay on the server.
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

/** Returns the stated length of an answer's JSON; null if it is all JSON. */
export function headerLengthOf(headers: IncomingHttpHeaders): string | null {
  const length = headers[HEADER_LENGTH];
  return typeof length === "string" ? length : null;
}

export function lengthOf(chunks: readonly Uint8Array[]): number {
  return chunks.reduce((sum, { length }) => sum + length, 0);
}

/**
 * Reads the tensors from the description of a model.
 * @param first whether the first axis has to be the rows of a batch, or may have a size.
 */
export function describedTensors(bytes: Uint8Array, first: "rows" | "any"): RemoteTensors {
  const description = fieldsOf(JSON.parse(new TextDecoder().decode(bytes)), "its description");
  return {
    inputs: infosOf(description["inputs"], "inputs", first),
    outputs: infosOf(description["outputs"], "outputs", first),
  };
}

/** Returns an error's message: the text under "error" if it is JSON of the protocol. */
export function wordsOf(bytes: Uint8Array): string {
  const text = new TextDecoder().decode(bytes.subarray(0, MAX_TEXT_BYTES));
  try {
    const { error }: Fields = JSON.parse(text);
    if (typeof error === "string") return oneLine(error).slice(0, MAX_MESSAGE_LENGTH);
  } catch {
    // Not JSON.
  }
  return oneLine(text).slice(0, MAX_MESSAGE_LENGTH) || "nothing";
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
      throw new Error(`${side} "${name}": element type ${found} is not supported`);
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

/** Request that an answer belongs to. */
export interface AnsweredTo {
  readonly model: string;
  /** Left out for none. */
  readonly id?: string;
  readonly outputs: readonly TensorInfo[];
}

/**
 * Reads the outputs of an answer: binary data follow the JSON in the order of the outputs.
 * @param headerLength stated length of the JSON; null if it is all JSON.
 * @throws Error unless it is an answer to the request, and nothing else.
 */
export function outputsOf(
  bytes: Uint8Array,
  headerLength: string | null,
  { model, id, outputs: wanted }: AnsweredTo,
): GivenTensor[] {
  const { fields, binary } = answerHead(bytes, headerLength);
  expectOwn("model_name", model, fields);
  if (id !== undefined) expectOwn("id", id, fields);
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
    if (info === undefined) throw new Error("the answer has an output that was not requested");
    if (given.has(info.name)) throw new Error(`output "${info.name}" is there twice`);
    if (typeof size !== "number" || !Number.isSafeInteger(size) || size < 0) {
      throw new Error(`output "${info.name}": expected binary data, as requested`);
    }
    if (at + size > binary.length) throw new Error(`output "${info.name}": its data are cut short`);
    const own = { shape: givenShape(info, datatype, shape), bytes: binary.subarray(at, at + size) };
    given.set(info.name, isKept ? { ...own, key } : own);
    at += size;
  }
  if (at !== binary.length) {
    throw new Error(`expected ${at} bytes of tensors, got ${binary.length - at} more`);
  }
  return wanted.map(({ name }) => {
    const tensor = given.get(name);
    if (tensor === undefined) throw new Error(`output "${name}" is missing`);
    return tensor;
  });
}

/** Servers may leave a field out. @throws Error if an answer states another value. */
function expectOwn(name: string, own: string, { [name]: found = own }: Fields): void {
  if (found === own || found === null || found === "") return;
  const shown = JSON.stringify(found).slice(0, MAX_SHOWN);
  throw new Error(`expected an answer of ${name} ${JSON.stringify(own)}, got ${shown}`);
}

/**
 * Splits an answer into its JSON and the binary data behind it.
 * @throws Error unless it has the stated length and is an object.
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

/** @throws Error unless an output has the expected type and a valid shape. */
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
