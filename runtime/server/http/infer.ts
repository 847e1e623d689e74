/**
 * The inference route: reads the body, hands its rows to the application, and writes its outputs.
 * Short JSON is read and written on the event loop, in turn; long JSON on a thread.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { HostedModel } from "../applications/hosted-model.ts";
import {
  type EarlyRejection,
  earlyRejection,
  infer,
  onRejected,
} from "../applications/inference.ts";
import { readBody } from "../bodies/body.ts";
import { type ByteHold, bodyLimit, bodyMemory, plainLength } from "../bodies/body-memory.ts";
import type { Dialect } from "../json/json-jobs.ts";
import {
  type PredictedOutput,
  parsePredictRequest,
  predictionsJson,
} from "../protocol/kserve-v1.ts";
import { type InferRequest, isRaw } from "../protocol/protocol.ts";
import { writeInferResponse } from "../protocol/response.ts";
import type { Answer } from "../requests/request.ts";
import type { RequestRecord } from "../requests/request-record.ts";
import { REQUEST_ID, requestIdOf } from "../requests/trace-context.ts";
import type { ClientSignature } from "../tensors/signature.ts";
import { copied } from "../tensors/slices.ts";
import { DATATYPES, elementCountOf, lengthOf } from "../tensors/tensors.ts";
import type { HttpContext, JsonPlaces } from "./context.ts";

const HEADER_LENGTH = "inference-header-content-length";

type JsonTexts = Awaited<ReturnType<typeof jsonOutputs>>;

const isBinary = (output: InferRequest["outputs"][number]) => output.isBinary;

/**
 * Refuses a request that would find no room, before its body is read.
 * @returns whether it did.
 */
export function isShed(
  { state, counts, records }: HttpContext,
  hosted: HostedModel,
  request: IncomingMessage,
  response: ServerResponse,
): boolean {
  const rejection = earlyRejection(state, hosted);
  if (rejection === undefined || state.isDraining || !mayStay(request)) return false;
  onRejected(state, hosted, records.get(response));
  counts.onAnsweredEarly(request, sendRejection(rejection, response));
  return true;
}

/** @param hosted as `routed` returns it. @throws HttpError, BadRequest */
export function answerInfer(
  context: HttpContext,
  hosted: HostedModel,
  modelName: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { state, connections } = context;
  const { signature } = hosted.model;
  const revision = state.trials.openCount === 0 ? undefined : state.trials.revisionOf(hosted);
  const record = context.records.get(response);
  return infer(state, {
    hosted,
    modelName,
    record,
    client: context.clients.get(response),
    holder: request.socket,
    id: () => repeatedId(response),
    read: async (hold) => {
      const parsed = await parsedRequest(context, hosted, request, hold);
      if (parsed.id !== undefined) adoptId(response, record, parsed.id);
      return parsed;
    },
    onceGone: (act) => {
      response.on("close", act);
      // The connection may have closed while the body was decompressed.
      if (response.destroyed) act();
      return () => response.off("close", act);
    },
    write: (parsed, answer, { name, bucket }) => {
      const send = (texts?: JsonTexts) => {
        const { hasTextParameters } = state;
        const head = { modelName, sloClass: name, bucket, revision, hasTextParameters };
        const written = writeInferResponse(head, parsed, answer, signature, texts);
        if (record !== undefined) record.responseBytes = lengthOf(written.parts);
        response.writeHead(200, written.headers);
        connections.outbox.send(response, written.parts);
        if (signature.answersByRow === true) forget(parsed);
      };
      if (parsed.outputs.every(isBinary)) return send();
      return jsonOutputs(context, parsed, answer, signature).then(send);
    },
  });
}

/**
 * Releases the body's memory once its request is answered: each of its rows has returned from the
 * worker that read it. Tasks of a pipeline may still read their inputs, and an abandoned request
 * may be on its way to a worker; their memory is left to V8.
 */
function forget({ inputs }: InferRequest): void {
  for (const { buffer } of inputs) bodyMemory.giveBack(buffer);
}

/** Reads a body by the protocol that its path is of. @throws HttpError, BadRequest */
export async function parsedRequest(
  context: HttpContext,
  hosted: HostedModel,
  request: IncomingMessage,
  hold: ByteHold,
  dialect: Dialect = "v2",
): Promise<InferRequest> {
  const header = dialect === "v2" ? request.headers[HEADER_LENGTH] : undefined;
  const headerLength = typeof header === "string" ? header : undefined;
  const { pace } = context;
  const limit = bodyLimit(hosted.limits, headerLength);
  const body = await readBody(request, { limit, pace, hold });
  const bodyBytes = body.length;
  const read = readRequest(context, hosted, body, headerLength, dialect);
  const parsed = read instanceof Promise ? await read : read;
  const tensorBytes = lengthOf(parsed.inputs);
  // Binary data after the JSON stays in the body's memory.
  const keptBytes = headerLength === undefined ? 0 : bodyBytes;
  hold.growTo(Math.max(keptBytes, tensorBytes));
  hold.settle(Math.max(keptBytes, tensorBytes));
  return parsed;
}

/**
 * Returns the model that answers a request: another one while a bundle is tried beside the served.
 * @param hosted the one that is served.
 */
export function routed(
  { state: { trials } }: Pick<HttpContext, "state">,
  hosted: HostedModel,
  request: IncomingMessage,
): HostedModel {
  if (trials.openCount === 0) return hosted;
  return trials.routed(hosted, request, () => requestIdOf(request.headers[REQUEST_ID]));
}

/**
 * Bodies of rejected requests up to this size are read and discarded; for longer ones the
 * connection is closed.
 */
const MAX_FORGOTTEN_BYTES = 1 << 20;

/**
 * Whether the rest of the request is short enough to keep the connection. A client that waits for
 * 100-continue sends no body after a rejection, so its connection is closed.
 */
export function mayStay({ headers }: IncomingMessage): boolean {
  if (headers.expect !== undefined) return false;
  return Number(headers["content-length"]) <= MAX_FORGOTTEN_BYTES;
}

interface RejectionText {
  readonly headers: readonly string[];
  readonly body: string;
}

const TEXT_BY_REJECTION = new Map<EarlyRejection, RejectionText>();

/** Sends a rejection in one write, with text that was made before. @returns the status. */
function sendRejection(rejection: EarlyRejection, response: ServerResponse): number {
  let text = TEXT_BY_REJECTION.get(rejection);
  if (text === undefined) {
    text = textOf(rejection);
    TEXT_BY_REJECTION.set(rejection, text);
  }
  response.writeHead(rejection.status, [...text.headers]);
  response.end(text.body, "latin1");
  return rejection.status;
}

/** Node sends a text together with its headers. */
function textOf({ message }: EarlyRejection): RejectionText {
  const body = JSON.stringify({ error: message });
  const length = ["content-length", String(body.length)];
  return { headers: ["content-type", "application/json", ...length, "retry-after", "1"], body };
}

/** Maximum bytes of JSON, or of strings, that are read on the event loop: some 5 ms. */
export const MAX_LOOP_BYTES = 65_536;
/** Maximum elements of a tensor that are written as JSON on the event loop: some 3 ms. */
const MAX_LOOP_ELEMENTS = 8192;
/** JSON up to this length never waits for its turn. */
const FREE_BYTES = 4096;
/** Cost of an element that is written, as a part of a turn's share. */
const ELEMENT_SHARE = 16;

/** Same as `parseInferRequest`; the body's memory may be released afterwards. */
export function readRequest(
  { turnShare, jsonThread }: JsonPlaces,
  hosted: HostedModel,
  body: Buffer,
  headerLength: string | undefined,
  dialect: Dialect = "v2",
): InferRequest | Promise<InferRequest> {
  const { model, readModel } = hosted;
  const jsonBytes = headerLength === undefined ? body.length : (plainLength(headerLength) ?? 0);
  const isOfStrings = model.signature.inputs.some(
    ({ datatype }) => DATATYPES[datatype].elementBytes === 0,
  );
  // A request that is raw bytes has no JSON to parse.
  if (isRaw(headerLength)) return readNow(hosted, body, headerLength, dialect);
  const lookedAt = isOfStrings ? body.length : Math.min(jsonBytes, body.length);
  if (lookedAt > MAX_LOOP_BYTES) return jsonThread.read(readModel, body, headerLength, dialect);
  const turn = lookedAt > FREE_BYTES ? turnShare.take(lookedAt) : undefined;
  if (turn === undefined) return readNow(hosted, body, headerLength, dialect);
  return turn.then(() => readNow(hosted, body, headerLength, dialect));
}

function readNow(
  { requests, model, maxRows }: HostedModel,
  body: Buffer,
  headerLength: string | undefined,
  dialect: Dialect,
): InferRequest {
  if (dialect === "kserve-v1") return parsePredictRequest(body, model.signature, maxRows);
  return requests.read(body, headerLength);
}

/** The body of an answer of KServe's first protocol. */
export async function predictions(
  { turnShare, jsonThread }: JsonPlaces,
  outputs: readonly PredictedOutput[],
): Promise<Uint8Array> {
  let elements = 0;
  let bytes = 0;
  for (const { shape, parts } of outputs) {
    elements += elementCountOf(shape);
    bytes += lengthOf(parts);
  }
  if (elements > MAX_LOOP_ELEMENTS || bytes > MAX_LOOP_BYTES) return jsonThread.predict(outputs);
  const share = elements * ELEMENT_SHARE;
  if (share > FREE_BYTES) await turnShare.take(share);
  return Buffer.from(predictionsJson(outputs));
}

/**
 * JSON text of the large outputs that are requested as JSON, by their index; undefined where JSON
 * cannot express an element.
 */
export async function jsonOutputs(
  { turnShare, jsonThread }: JsonPlaces,
  { outputs }: InferRequest,
  answer: Answer,
  signature: ClientSignature,
): Promise<ReadonlyMap<number, Uint8Array | undefined>> {
  const texts = new Map<number, Uint8Array | undefined>();
  for (const { index, isBinary, classes } of outputs) {
    const tensor = signature.outputs[index];
    const output = answer.outputs[index];
    if (tensor === undefined || output === undefined) continue;
    const elements = elementCountOf(output.shape);
    if (classes !== undefined && elements * ELEMENT_SHARE > FREE_BYTES) {
      await turnShare.take(elements * ELEMENT_SHARE);
    }
    if (isBinary || classes !== undefined) continue;
    const isLong = elements > MAX_LOOP_ELEMENTS || lengthOf(output.parts) > MAX_LOOP_BYTES;
    if (isLong) {
      // The outputs of a batch share memory, which stays here.
      texts.set(index, await jsonThread.write(tensor.datatype, await copied(output.parts)));
    } else if (elements * ELEMENT_SHARE > FREE_BYTES) {
      await turnShare.take(elements * ELEMENT_SHARE);
    }
  }
  return texts;
}

/** Work of a turn; it takes some 10 ms at most. */
const TURN_BYTES = 131_072;

/**
 * Limits the JSON work per turn of the event loop. Each client's JSON is short, but many clients
 * may send some at once: work beyond a turn's share waits for the next one, first come, first
 * served.
 */
export class TurnShare {
  readonly #turnBytes: number;
  readonly #waiting: { readonly bytes: number; readonly begin: () => void }[] = [];
  #leftBytes: number;
  #isArmed = false;

  constructor(turnBytes = TURN_BYTES) {
    this.#turnBytes = turnBytes;
    this.#leftBytes = turnBytes;
  }

  /**
   * @param bytes approximate work.
   * @returns undefined if it can be done at once; else a promise that resolves when its turn has
   * come.
   */
  take(bytes: number): Promise<void> | undefined {
    this.#arm();
    if (this.#leftBytes > 0 && this.#waiting.length === 0) {
      this.#leftBytes -= bytes;
      return undefined;
    }
    return new Promise((begin) => {
      this.#waiting.push({ bytes, begin });
    });
  }

  #arm(): void {
    if (this.#isArmed) return;
    this.#isArmed = true;
    setImmediate(() => {
      this.#isArmed = false;
      this.#leftBytes = this.#turnBytes;
      this.#admit();
    });
  }

  #admit(): void {
    while (this.#leftBytes > 0) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      this.#arm();
      this.#leftBytes -= next.bytes;
      next.begin();
    }
  }
}

/** Uses the id in the inference request's body if the header has none. */
export function adoptId(
  response: ServerResponse,
  record: RequestRecord | undefined,
  id: string | undefined,
): void {
  const own = requestIdOf(id);
  if (own === undefined || response.headersSent) return;
  if (record === undefined) {
    if (!response.hasHeader(REQUEST_ID)) response.setHeader(REQUEST_ID, own);
  } else if (record.isIdMade) {
    record.id = own;
    record.isIdMade = false;
    response.setHeader(REQUEST_ID, own);
  }
}

/** Request id that the answer repeats; undefined where it does not. */
export function repeatedId(response: ServerResponse): string | undefined {
  const id = response.getHeader(REQUEST_ID);
  return typeof id === "string" ? id : undefined;
}
