/** Reads and writes JSON: short JSON on the event loop, in turn; long JSON on a thread. */
import type { HostedModel } from "../applications/hosted-model.ts";
import { plainLength } from "../bodies/body-memory.ts";
import type { Dialect } from "../json/json-jobs.ts";
import type { JsonThread } from "../json/json-thread.ts";
import {
  type PredictedOutput,
  parsePredictRequest,
  predictionsJson,
} from "../protocol/kserve-v1.ts";
import { type InferRequest, isRaw } from "../protocol/protocol.ts";
import { bytesOf } from "../protocol/response.ts";
import type { Answer } from "../requests/request.ts";
import type { ClientSignature } from "../tensors/signature.ts";
import { DATATYPES, elementCountOf, lengthOf } from "../tensors/tensors.ts";

/** Where JSON is read and written. */
export interface JsonPlaces {
  readonly turnShare: TurnShare;
  readonly jsonThread: JsonThread;
}

/** Bytes of JSON, or of strings, that are read on the event loop at most: some 5 ms. */
export const MAX_LOOP_BYTES = 65_536;
/** Elements of a tensor that are written as JSON on the event loop at most: some 3 ms. */
const MAX_LOOP_ELEMENTS = 8192;
/** Nobody has to wait for JSON as short as this. */
const FREE_BYTES = 4096;
/** What an element that is written takes of a turn's share. */
const ELEMENT_SHARE = 16;

/** As `parseInferRequest`; the memory of the body may be gone afterwards. */
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
  // Without JSON, and without a length, there is nothing to be looked through.
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
 * JSON text of the outputs that are asked for so and have many elements, by their index; undefined
 * where an element cannot be said in JSON.
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
      const bytes = new Uint8Array(bytesOf(output.parts));
      texts.set(index, await jsonThread.write(tensor.datatype, bytes));
    } else if (elements * ELEMENT_SHARE > FREE_BYTES) {
      await turnShare.take(elements * ELEMENT_SHARE);
    }
  }
  return texts;
}

/** Its work takes some 10 ms at the most. */
const TURN_BYTES = 131_072;

/**
 * A client's JSON is short, but many clients may have some at once: what is beyond a turn's share
 * waits for the next one, first come first served.
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
   * @param bytes of work, about.
   * @returns undefined if it may be done at once; else what is kept when its turn has come.
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
