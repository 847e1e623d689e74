/**
 * Inference responses of the Open Inference Protocol v2 over HTTP, with Triton's binary tensor
 * extension.
 */
import type { Answer, OutputTensor } from "../requests/request.ts";
import { bytesOfNames, VARIANT_OUTPUT } from "../requests/variant-wish.ts";
import type { ClientSignature } from "../tensors/signature.ts";
import { type Datatype, jsonOfBytes, lengthOf } from "../tensors/tensors.ts";
import { classesOf } from "./classification.ts";
import type { InferRequest } from "./protocol.ts";

/**
 * @param texts JSON texts of outputs that are already written, by their index.
 * @throws Error if JSON cannot express an element of an output that is requested as JSON.
 */
export function writeInferResponse(
  stated: ResponseHead,
  request: InferRequest,
  answer: Answer,
  signature: ClientSignature,
  texts: ReadonlyMap<number, Uint8Array | undefined> = new Map(),
): InferResponse {
  const known = knownHead(stated, request, answer);
  if (known !== undefined) {
    const parts = [known.json];
    for (const { index } of request.outputs) parts.push(...(answer.outputs[index]?.parts ?? []));
    return { headers: known.headers, parts };
  }
  const binary: Uint8Array[] = [];
  const json: (string | Uint8Array)[] = [];
  const answered = answeredOutputs(request, answer, signature);
  for (const [position, { index, isBinary, name, datatype, shape, parts }] of answered.entries()) {
    const head = JSON.stringify({ name, datatype, shape }).slice(0, -1);
    if (position > 0) json.push(",");
    json.push(head);
    if (isBinary) {
      for (const part of parts) binary.push(part);
      json.push(`,"parameters":{"binary_data_size":${lengthOf(parts)}}}`);
      continue;
    }
    const data = texts.has(index) ? texts.get(index) : jsonOfBytes(datatype, bytesOf(parts));
    if (data === undefined) {
      throw new Error(
        `output "${name}" has an element that is NaN or infinite; request it with binary_data`,
      );
    }
    json.push(',"data":', data, "}");
  }
  const parameters = answerParameters(answer, signature, stated);
  const { id } = request;
  const head = {
    model_name: stated.modelName,
    model_version: "1",
    ...(id === undefined ? {} : { id }),
  };
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
    "stratagem-variant": encodeURI(answer.answerer.variant),
    ...(stated.revision === undefined ? {} : { "stratagem-revision": stated.revision }),
    ...(hasBinary ? { "inference-header-content-length": jsonLength } : {}),
  };
  const [jsonHead] = jsonParts;
  if (jsonParts.length === 1 && jsonHead !== undefined) {
    rememberHead(stated, request, answer, signature, { headers, json: jsonHead });
  }
  return { headers, parts: [...jsonParts, ...binary] };
}

/** A requested output, for all protocols. */
export interface AnsweredOutput extends OutputTensor {
  /** Same as in `InferRequest.outputs`. */
  readonly index: number;
  readonly isBinary: boolean;
  readonly name: string;
  readonly datatype: Datatype;
}

/** Returns the requested outputs in the order of the request. */
export function answeredOutputs(
  request: InferRequest,
  answer: Answer,
  signature: ClientSignature,
): AnsweredOutput[] {
  return request.outputs.map(({ index, isBinary, classes }) => {
    const ofNames = index === signature.outputs.length ? VARIANT_OUTPUT : undefined;
    const tensor = ofNames ?? signature.outputs[index];
    const names = () => outputOfNames(variantNames(answer, signature));
    const output = ofNames === undefined ? answer.outputs[index] : names();
    if (tensor === undefined || output === undefined) throw new Error(`no output ${index}`);
    const { name, datatype } = tensor;
    if (classes !== undefined) {
      const classified = classesOf(datatype, bytesOf(output.parts), output.shape, classes);
      return { index, isBinary, name, datatype: "BYTES", ...classified };
    }
    return { index, isBinary, name, datatype, shape: output.shape, parts: output.parts };
  });
}

/**
 * Response parameters that describe the answering variant. Parameters of the protocol cannot be
 * lists, so the variants of several rows are one JSON text.
 */
export function answerParameters(
  answer: Answer,
  signature: ClientSignature,
  { sloClass, bucket, revision, hasTextParameters }: ResponseHead,
): Readonly<Record<string, string | number>> {
  const names = variantNames(answer, signature);
  const { variant, accuracy } = answer.answerer;
  return {
    variant,
    accuracy: hasTextParameters ? String(accuracy) : accuracy,
    // One row needs no list: `variant` names it.
    ...(names.length > 1 ? { variants: JSON.stringify(names) } : {}),
    ...(sloClass === null ? {} : { slo_class: sloClass }),
    ...(bucket === undefined ? {} : { bucket }),
    ...(revision === undefined ? {} : { revision }),
  };
}

/** Names the variant that answered each row; empty for models that do not report it. */
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

/** Joins adjacent texts and encodes each as one part. */
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

export interface InferResponse {
  readonly headers: Readonly<Record<string, string | number>>;
  /** JSON, then the binary outputs. */
  readonly parts: readonly Uint8Array[];
}

/** Fields of an answer other than its outputs. */
export interface ResponseHead {
  readonly modelName: string;
  /** SLO class of the request; null where all requests have the same SLO. */
  readonly sloClass: string | null;
  /** Sizes that the inputs were padded to. Default: the model has no such axes. */
  readonly bucket?: string | undefined;
  /** Revision of the answering bundle, where one of two may answer. Default: only one bundle. */
  readonly revision?: string | undefined;
  /** Whether all its parameters are strings. */
  readonly hasTextParameters: boolean;
}

/** All of an answer but its binary data. */
interface WrittenHead {
  readonly headers: InferResponse["headers"];
  readonly json: Uint8Array;
}

/** A written head and the data that determine it. */
interface KnownHead extends WrittenHead, Pick<ResponseHead, "modelName" | "sloClass" | "revision"> {
  readonly answerer: Answer["answerer"];
  readonly variantByRow: readonly number[];
  readonly described: readonly { readonly shape: readonly number[]; readonly bytes: number }[];
}

/** Head of the last answer to requests with the same JSON header, which share their outputs. */
const knownHeads = new WeakMap<InferRequest["outputs"], KnownHead>();

/** @returns undefined where the answer needs a head of its own. */
function knownHead(
  { modelName, sloClass, revision }: ResponseHead,
  request: InferRequest,
  answer: Answer,
): WrittenHead | undefined {
  const known = request.id === undefined ? knownHeads.get(request.outputs) : undefined;
  if (known === undefined) return undefined;
  const { answerer, variantByRow = [], outputs } = answer;
  if (known.modelName !== modelName || known.sloClass !== sloClass) return undefined;
  if (known.revision !== revision) return undefined;
  if (known.answerer.variant !== answerer.variant) return undefined;
  if (known.answerer.accuracy !== answerer.accuracy) return undefined;
  if (!isSame(known.variantByRow, variantByRow)) return undefined;
  for (let position = 0; position < request.outputs.length; position++) {
    const output = outputs[request.outputs[position]?.index ?? 0];
    const { shape, bytes } = known.described[position] ?? { shape: [], bytes: 0 };
    if (output === undefined || lengthOf(output.parts) !== bytes) return undefined;
    if (!isSame(output.shape, shape)) return undefined;
  }
  return known;
}

/** Only for cached headers that request binary outputs of the model alone. */
function rememberHead(
  { modelName, sloClass, revision }: ResponseHead,
  { id, outputs }: InferRequest,
  answer: Answer,
  signature: ClientSignature,
  written: WrittenHead,
): void {
  const isRepeatable =
    id === undefined &&
    Object.isFrozen(outputs) &&
    outputs.every(({ index, isBinary, classes }) => {
      return isBinary && classes === undefined && index < signature.outputs.length;
    });
  if (!isRepeatable) return;
  const described = outputs.map(({ index }) => {
    const { shape = [], parts = [] } = answer.outputs[index] ?? {};
    return { shape, bytes: lengthOf(parts) };
  });
  const { answerer, variantByRow = [] } = answer;
  const head = { modelName, sloClass, revision, answerer, variantByRow, described };
  knownHeads.set(outputs, { ...head, ...written });
}

function isSame(one: readonly number[], other: readonly number[]): boolean {
  if (one.length !== other.length) return false;
  for (let index = 0; index < one.length; index++) if (one[index] !== other[index]) return false;
  return true;
}
