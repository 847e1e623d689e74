/** Handles one inference request of the gRPC listener, from message bytes to response message. */
import { type HostedModel, hostedModel } from "../applications/hosted-model.ts";
import { earlyRejection, infer, onRejected } from "../applications/inference.ts";
import { type ByteHold, bodyMemory } from "../bodies/body-memory.ts";
import { HttpError, RETRY_LATER } from "../connections/http-error.ts";
import type { InferRequest } from "../protocol/infer-request.ts";
import type { Client, GrpcContext } from "./context.ts";
import { inferRequestOf } from "./infer-request.ts";
import { inferResponseBytes } from "./infer-response.ts";
import type { Seen } from "./seen.ts";
import { namedFirst, readWireRequest, type WireRequest } from "./wire-request.ts";

/**
 * @returns a ModelInferResponse.
 * @throws HttpError, BadRequest, or Error for an answer that the message cannot express.
 */
export async function inferMessage(
  context: GrpcContext,
  message: Uint8Array,
  client: Client,
  seen: Seen,
  holder: ByteHold,
  isStreamed: boolean,
): Promise<Uint8Array> {
  let isFree = true;
  let read: readonly Uint8Array[] = [message];
  try {
    const { state } = context;
    expectRoom(context, message, seen);
    context.answers.expectRoom();
    const wire = readWireRequest(message);
    seen.adoptId(wire.id);
    const served = hostedModel(state.models, wire.modelName, wire.modelVersion);
    const hosted = routed(context, served, seen);
    const revision = state.trials.openCount === 0 ? undefined : state.trials.revisionOf(hosted);
    const { signature } = hosted.model;
    let response: Uint8Array | undefined;
    await infer(state, {
      hosted,
      modelName: wire.modelName,
      record: seen.record,
      client: seen.clientName,
      holder,
      id: () => seen.id,
      read: async (hold) => {
        const request = await checked(context, wire, message, hosted, hold, client);
        isFree = false;
        read = request.inputs;
        return request;
      },
      onceGone: (act) => client.onceGone(act),
      write: (request, answer, { name, bucket }) => {
        const { hasTextParameters } = state;
        const { modelName } = wire;
        const head = { modelName, sloClass: name, bucket, revision, hasTextParameters, isStreamed };
        const written = inferResponseBytes(head, request, answer, signature, context.thread);
        isFree = signature.answersByRow === true;
        if (written instanceof Promise) {
          return written.then((bytes) => {
            response = bytes;
          });
        }
        response = written;
        return undefined;
      },
    });
    if (response === undefined) throw new Error("an answer was not written");
    return response;
  } finally {
    // No worker reads the message, or all have answered.
    if (isFree) for (const { buffer } of read) bodyMemory.giveBack(buffer);
  }
}

/**
 * Rejects a request to a full queue before more than the model's name is decoded.
 * @throws HttpError
 */
function expectRoom(context: GrpcContext, message: Uint8Array, seen: Seen): void {
  const { state, hostedOf } = context;
  const served = hostedOf(namedFirst(message));
  if (served === undefined || state.isDraining) return;
  const hosted = routed(context, served, seen);
  const rejection = earlyRejection(state, hosted);
  if (rejection === undefined) return;
  onRejected(state, hosted, seen.record);
  throw new HttpError(rejection.status, rejection.message, RETRY_LATER);
}

/** Returns the model that answers a call: another one while a bundle is tried beside the served. */
function routed({ state: { trials } }: GrpcContext, served: HostedModel, seen: Seen): HostedModel {
  return trials.openCount === 0 ? served : trials.routed(served, seen, () => seen.id);
}

/** @throws HttpError, BadRequest */
async function checked(
  { thread }: GrpcContext,
  wire: WireRequest,
  message: Uint8Array,
  { model: { signature }, maxRows }: HostedModel,
  hold: ByteHold,
  { deadlineMs }: Client,
): Promise<InferRequest> {
  const messageBytes = message.length;
  hold.growTo(messageBytes);
  const read = inferRequestOf(wire, signature, maxRows, thread);
  const request: InferRequest = read instanceof Promise ? await read : read;
  const tensorBytes = request.inputs.reduce((sum, { length }) => sum + length, 0);
  // Raw contents stay in the message.
  const keptBytes = wire.raw.length > 0 ? messageBytes : tensorBytes;
  hold.growTo(keptBytes);
  hold.settle(keptBytes);
  if (deadlineMs === Number.POSITIVE_INFINITY) return request;
  const leftMs = Math.max(0, deadlineMs - Date.now());
  return { ...request, timeoutMs: Math.min(leftMs, request.timeoutMs ?? leftMs) };
}
