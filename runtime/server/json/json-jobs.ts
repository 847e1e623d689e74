/** Jobs on long JSON; they run the same way on the event loop and on the JSON thread. */
import * as threads from "node:worker_threads";
import { typedContentsOf } from "../grpc/contents/typed-answer.ts";
import { type Contents, contentBytesOf } from "../grpc/contents/typed-contents.ts";
import {
  type PredictedOutput,
  parsePredictRequest,
  predictionsJson,
} from "../protocol/kserve-v1.ts";
import { type InferRequest, parseInferRequest } from "../protocol/protocol.ts";
import { BadRequest } from "../tensors/bad-request.ts";
import type { JsonLimits } from "../tensors/json-text.ts";
import type { ClientSignature } from "../tensors/signature.ts";
import { DATATYPES, type Datatype, jsonOfBytes } from "../tensors/tensors.ts";

/** Model data that reading its requests needs; everything in it can be sent to a thread. */
export interface ReadModel {
  readonly signature: ClientSignature;
  readonly maxRows: number;
  /** Limits of the parts of a request's JSON. */
  readonly parts: JsonLimits;
}

/** Protocol of the JSON: the Open Inference Protocol (V2), or KServe's V1. */
export type Dialect = "v2" | "kserve-v1";

/** An inference request to read. */
export interface ReadJob {
  readonly kind: "read";
  readonly model: ReadModel;
  readonly body: Uint8Array<ArrayBuffer>;
  readonly headerLength: string | undefined;
  readonly dialect: Dialect;
}

export interface WriteJob {
  readonly kind: "write";
  readonly datatype: Datatype;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** The body of an answer of KServe's first protocol to write. */
export interface PredictJob {
  readonly kind: "predict";
  /** Each in one part, in memory of its own. */
  readonly outputs: readonly PredictedOutput[];
}

/** Long inputs of a request over gRPC to decode. */
export interface ContentsJob {
  readonly kind: "contents";
  readonly inputs: readonly Contents[];
}

/** A long output of a request over gRPC to encode as InferTensorContents. */
export interface TypedJob {
  readonly kind: "typed";
  readonly datatype: Datatype;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

export type JsonJob = ReadJob | WriteJob | PredictJob | ContentsJob | TypedJob;

export type JsonResult =
  | { readonly kind: "read"; readonly request: InferRequest }
  | { readonly kind: "contents"; readonly inputs: readonly Uint8Array[] }
  /** UTF-8 text; null if JSON cannot express the values. */
  | { readonly kind: "written"; readonly text: Uint8Array<ArrayBuffer> | null }
  | { readonly kind: "refused"; readonly message: string }
  | { readonly kind: "failed"; readonly message: string };

/** Elements that are text at the same time; the rest are bytes before and after. */
const PIECE_ELEMENTS = 65_536;

/** Never throws. */
export function doJob(job: JsonJob): JsonResult {
  try {
    if (job.kind === "predict") {
      const text = new TextEncoder().encode(predictionsJson(job.outputs));
      return { kind: "written", text };
    }
    if (job.kind === "contents") {
      return { kind: "contents", inputs: job.inputs.map(contentBytesOf) };
    }
    if (job.kind === "typed") {
      return { kind: "written", text: typedContentsOf(job.datatype, job.bytes) };
    }
    if (job.kind === "write") return { kind: "written", text: jsonBytesOf(job) };
    const { body, headerLength, model } = job;
    const { signature, maxRows, parts } = model;
    const request =
      job.dialect === "kserve-v1"
        ? parsePredictRequest(body, signature, maxRows, parts)
        : parseInferRequest(body, headerLength, signature, maxRows, parts);
    return { kind: "read", request };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { kind: error instanceof BadRequest ? "refused" : "failed", message };
  }
}

/**
 * Whether memory cannot be transferred, such as the pool of Node's short buffers; it is copied
 * then. Before 21.0 Node does not report that, and copies.
 */
const { isMarkedAsUntransferable: staysHere = () => false } = threads as {
  readonly isMarkedAsUntransferable?: (memory: object) => boolean;
};

/** Memory of a result that can be handed over: each buffer once. */
export function buffersOf(result: JsonResult): ArrayBuffer[] {
  if (result.kind === "written") return result.text === null ? [] : [result.text.buffer];
  if (result.kind !== "read" && result.kind !== "contents") return [];
  const { inputs } = result.kind === "read" ? result.request : result;
  const buffers = inputs.map(({ buffer }) => buffer as ArrayBuffer);
  return [...new Set(buffers)].filter((buffer) => !staysHere(buffer));
}

function jsonBytesOf({ datatype, bytes }: WriteJob): Uint8Array<ArrayBuffer> | null {
  const { elementBytes } = DATATYPES[datatype];
  const step = elementBytes === 0 ? bytes.length : PIECE_ELEMENTS * elementBytes;
  const pieces: Buffer[] = [];
  for (let begin = 0; begin < bytes.length; begin += step) {
    const json = jsonOfBytes(datatype, bytes.subarray(begin, begin + step));
    if (json === undefined) return null;
    pieces.push(Buffer.from(`${begin === 0 ? "[" : ","}${json.slice(1, -1)}`));
  }
  pieces.push(Buffer.from(bytes.length === 0 ? "[]" : "]"));
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
  const text = new Uint8Array(length);
  let at = 0;
  for (const piece of pieces) {
    text.set(piece, at);
    at += piece.length;
  }
  return text;
}
