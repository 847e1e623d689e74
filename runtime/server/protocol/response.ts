/**
 * Inference responses of the Open Inference Protocol v2 over HTTP, with Triton's binary tensor
 * extension.
 */

import type { Answer, OutputTensor } from "../requests/request.ts";
import { bytesOfNames, VARIANT_OUTPUT } from "../requests/variant-wish.ts";
import type { ClientSignature } from "../tensors/signature.ts";
import { jsonOfBytes } from "../tensors/tensors.ts";
import type { InferRequest } from "./protocol.ts";

export interface InferResponse {
  readonly headers: Readonly<Record<string, string | number>>;
  /** JSON, then the binary outputs. */
  readonly parts: readonly Uint8Array[];
}

/**
 * @param sloClass of the request; null where all have the same SLO.
 * @param texts of outputs that are written as JSON already, by their index.
 * @throws Error if an output that is asked for as JSON has an element that JSON cannot say.
 */
export function writeInferResponse(
  modelName: string,
  request: InferRequest,
  answer: Answer,
  signature: ClientSignature,
  sloClass: string | null = null,
  texts: ReadonlyMap<number, Uint8Array | undefined> = new Map(),
): InferResponse {
  const known = request.id === undefined ? knownHeads.get(request.outputs) : undefined;
  if (known !== undefined && isHeadOf(known, modelName, request, answer, sloClass)) {
    const parts = [known.json];
    for (const { index } of request.outputs) parts.push(...(answer.outputs[index]?.parts ?? []));
    return { headers: known.headers, parts };
  }
  const { answerer } = answer;
  const names = variantNames(answer, signature);
  const binary: Uint8Array[] = [];
  const json: (string | Uint8Array)[] = [];
  for (const [position, { index, isBinary }] of request.outputs.entries()) {
    const ofNames = index === signature.outputs.length ? VARIANT_OUTPUT : undefined;
    const tensor = ofNames ?? signature.outputs[index];
    const output = ofNames === undefined ? answer.outputs[index] : outputOfNames(names);
    if (tensor === undefined || output === undefined) throw new Error(`no output ${index}`);
    const { name, datatype } = tensor;
    const head = JSON.stringify({ name, datatype, shape: output.shape }).slice(0, -1);
    if (position > 0) json.push(",");
    json.push(head);
    if (isBinary) {
      for (const part of output.parts) binary.push(part);
      json.push(`,"parameters":{"binary_data_size":${lengthOf(output.parts)}}}`);
      continue;
    }
    const data = texts.has(index) ? texts.get(index) : jsonOfBytes(datatype, bytesOf(output.parts));
    if (data === undefined) {
      throw new Error(
        `output "${name}" has an element that is NaN or infinite; ask for it with binary_data`,
      );
    }
    json.push(',"data":', data, "}");
  }
  // A single row is told all by the name.
  const parameters = {
    ...answerer,
    ...(names.length > 1 ? { variants: names } : {}),
    ...(sloClass === null ? {} : { slo_class: sloClass }),
  };
  const { id } = request;
  const head = { model_name: modelName, model_version: "1", ...(id === undefined ? {} : { id }) };
  json.unshift(`${JSON.stringify({ ...head, parameters }).slice(0, -1)},"outputs":[`);
  json.push("]}");
  const jsonParts = joinedTexts(json);
  const jsonLength = lengthOf(jsonParts);
  const length = jsonLength + lengthOf(binary);
  const hasBinary = request.outputs.some(({ isBinary }) => isBinary);
  const headers = {
    "content-type": hasBinary ? "application/octet-stream" : "application/json",
    "content-length": length,
    // Header values are ASCII; names of variants need not be.
    "stratagem-variant": encodeURI(answerer.variant),
    ...(hasBinary ? { "inference-header-content-length": jsonLength } : {}),
  };
  const [jsonHead] = jsonParts;
  if (jsonParts.length === 1 && jsonHead !== undefined && isRepeatable(request, signature)) {
    const { outputs } = answer;
    const described = request.outputs.map(({ index }) => {
      const { shape = [], parts = [] } = outputs[index] ?? {};
      return { shape, bytes: lengthOf(parts) };
    });
    const { variantByRow = [] } = answer;
    const head = { modelName, sloClass, answerer, variantByRow, described };
    knownHeads.set(request.outputs, { ...head, headers, json: jsonHead });
  }
  return { headers, parts: [...jsonParts, ...binary] };
}

/** The headers and the JSON of an answer, and what they were made of. */
interface KnownHead {
  readonly modelName: string;
  readonly sloClass: string | null;
  readonly answerer: Answer["answerer"];
  readonly variantByRow: readonly number[];
  readonly described: readonly { readonly shape: readonly number[]; readonly bytes: number }[];
  readonly headers: InferResponse["headers"];
  readonly json: Uint8Array;
}

/**
 * Of the last answer to requests of one JSON header, which share their outputs: as long as clients
 * ask for the same again, nothing of it changes but the binary data.
 */
const knownHeads = new WeakMap<InferRequest["outputs"], KnownHead>();

/** Whether the request is remembered, and all that it asks for is of the model, and binary. */
function isRepeatable({ id, outputs }: InferRequest, signature: ClientSignature): boolean {
  if (id !== undefined || !Object.isFrozen(outputs)) return false;
  return outputs.every(({ index, isBinary }) => isBinary && index < signature.outputs.length);
}

function isHeadOf(
  known: KnownHead,
  modelName: string,
  request: InferRequest,
  answer: Answer,
  sloClass: string | null,
): boolean {
  const { answerer, variantByRow = [], outputs } = answer;
  if (known.modelName !== modelName || known.sloClass !== sloClass) return false;
  if (known.answerer.variant !== answerer.variant) return false;
  if (known.answerer.accuracy !== answerer.accuracy) return false;
  if (!isSame(known.variantByRow, variantByRow)) return false;
  for (let position = 0; position < request.outputs.length; position++) {
    const output = outputs[request.outputs[position]?.index ?? 0];
    const { shape, bytes } = known.described[position] ?? { shape: [], bytes: 0 };
    if (output === undefined || lengthOf(output.parts) !== bytes) return false;
    if (!isSame(output.shape, shape)) return false;
  }
  return true;
}

function isSame(one: readonly number[], other: readonly number[]): boolean {
  if (one.length !== other.length) return false;
  for (let index = 0; index < one.length; index++) if (one[index] !== other[index]) return false;
  return true;
}

/** Names the variant that answered each row; none for models that do not tell. */
function variantNames(
  { variantByRow = [] }: Answer,
  { variants }: ClientSignature,
): readonly string[] {
  return variantByRow.map((variant) => variants[variant]?.name ?? "");
}

function outputOfNames(names: readonly string[]): OutputTensor {
  return { shape: [names.length], parts: [bytesOfNames(names)] };
}

export function bytesOf(parts: readonly Uint8Array[]): Uint8Array {
  const [only] = parts;
  return parts.length === 1 && only !== undefined ? only : Buffer.concat(parts);
}

/** What is text becomes bytes, as much at once as lies between what is bytes already. */
function joinedTexts(pieces: readonly (string | Uint8Array)[]): Uint8Array[] {
  const parts: Uint8Array[] = [];
  let text = "";
  for (const piece of pieces) {
    if (typeof piece === "string") {
      text += piece;
      continue;
    }
    parts.push(Buffer.from(text), piece);
    text = "";
  }
  if (text !== "") parts.push(Buffer.from(text));
  return parts;
}

export function lengthOf(parts: readonly Uint8Array[]): number {
  let length = 0;
  for (const part of parts) length += part.length;
  return length;
}
