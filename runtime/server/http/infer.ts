/** The inference route: body in, rows through the scheduler, tensors out. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { HostedModel } from "../applications/hosted-model.ts";
import { infer, onTurnedAway, type ShutDoor, shutDoor } from "../applications/inference.ts";
import { readBody } from "../bodies/body.ts";
import { type ByteHold, bodyLimit, bodyMemory } from "../bodies/body-memory.ts";
import type { Dialect } from "../json/json-jobs.ts";
import type { InferRequest } from "../protocol/protocol.ts";
import { writeInferResponse } from "../protocol/response.ts";
import { REQUEST_ID, requestIdOf } from "../requests/trace-context.ts";
import { lengthOf } from "../tensors/tensors.ts";
import type { HttpContext } from "./context.ts";
import { jsonOutputs, readRequest } from "./json-work.ts";
import { adoptId, repeatedId } from "./replies.ts";

const HEADER_LENGTH = "inference-header-content-length";

type JsonTexts = Awaited<ReturnType<typeof jsonOutputs>>;

const isBinary = (output: InferRequest["outputs"][number]) => output.isBinary;

/**
 * Refuses a request that would find no room as it comes, at a small part of what answering takes.
 * @returns whether it did.
 */
export function turnedAway(
  { house, inferred, counts, records }: HttpContext,
  request: IncomingMessage,
  response: ServerResponse,
): boolean {
  const { method: verb, url = "" } = request;
  const served = verb === "POST" ? inferred.get(url)?.hosted : undefined;
  if (served === undefined) return false;
  const hosted = routed({ house }, served, request);
  const shut = shutDoor(house, hosted);
  if (shut === undefined || house.isDraining || !mayStay(request)) return false;
  onTurnedAway(house, hosted, records.get(response));
  counts.onTurnedAway(request, turnAway(shut, response));
  return true;
}

/** @throws HttpError, BadRequest */
export function answerInfer(
  context: HttpContext,
  served: HostedModel,
  modelName: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { house, connections } = context;
  const hosted = routed(context, served, request);
  const revision = house.trials.revisionOf(hosted);
  const { signature } = hosted.model;
  const record = context.records.get(response);
  return infer(house, {
    hosted,
    modelName,
    record,
    client: context.clients.get(response),
    id: () => repeatedId(response),
    read: async (hold) => {
      const parsed = await parsedRequest(context, hosted, request, hold);
      if (parsed.id !== undefined) adoptId(response, record, parsed.id);
      return parsed;
    },
    onceGone: (act) => {
      response.on("close", act);
      // It may have closed while the body was decompressed.
      if (response.destroyed) act();
      return () => response.off("close", act);
    },
    write: (parsed, answer, { name, bucket }) => {
      const send = (texts?: JsonTexts) => {
        const { hasTextParameters } = house;
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
 * The memory of a body is free once its request is answered: each of its rows has come back from
 * the worker that read it. Tasks of a pipeline may still read what they were handed, and a request
 * that was given up may be on its way to a worker; V8 finds out about theirs.
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
  // What is behind the JSON stays in the body.
  const keptBytes = headerLength === undefined ? 0 : bodyBytes;
  hold.growTo(Math.max(keptBytes, tensorBytes));
  hold.settle(Math.max(keptBytes, tensorBytes));
  return parsed;
}

/** @param hosted the one that is served. */
export function routed(
  { house }: Pick<HttpContext, "house">,
  hosted: HostedModel,
  request: IncomingMessage,
): HostedModel {
  return house.trials.routed(hosted, request, () => requestIdOf(request.headers[REQUEST_ID]));
}

/** A body of a refused request up to this is read and forgotten; of a longer one the way is cut. */
const MAX_FORGOTTEN_BYTES = 1 << 20;

/**
 * Whether what is still to come of a request is so little that its connection is kept. A client
 * that was to be told to go on sends nothing more of it, so there its way is cut.
 */
export function mayStay({ headers }: IncomingMessage): boolean {
  if (headers.expect !== undefined) return false;
  return Number(headers["content-length"]) <= MAX_FORGOTTEN_BYTES;
}

interface Refusal {
  readonly headers: readonly string[];
  readonly body: string;
}

const REFUSALS = new Map<ShutDoor, Refusal>();

/** @returns the status. */
export function turnAway(shut: ShutDoor, response: ServerResponse): number {
  let refusal = REFUSALS.get(shut);
  if (refusal === undefined) {
    refusal = refusalOf(shut);
    REFUSALS.set(shut, refusal);
  }
  response.writeHead(shut.status, [...refusal.headers]);
  response.end(refusal.body, "latin1");
  return shut.status;
}

/** Headers and body; a text is sent together with its headers. */
function refusalOf({ message }: ShutDoor): Refusal {
  const body = JSON.stringify({ error: message });
  const length = ["content-length", String(body.length)];
  return { headers: ["content-type", "application/json", ...length, "retry-after", "1"], body };
}
