/** The inference route: body in, rows through the scheduler, tensors out. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { readBody } from "../bodies/body.ts";
import { bodyLimit } from "../bodies/body-limits.ts";
import type { ByteHold } from "../bodies/byte-budget.ts";
import { HttpError } from "../connections/http-error.ts";
import type { InferRequest } from "../protocol/protocol.ts";
import { writeInferResponse } from "../protocol/response.ts";
import { mayStay, turnAway } from "../requests/gate.ts";
import type { Failure, FailureReason, Outcome } from "../requests/request.ts";
import { type RequestClass, requestClass } from "../requests/request-classes.ts";
import { type HostedModel, type HttpContext, RETRY_LATER } from "./context.ts";
import { jsonOutputs, readRequest } from "./json-work.ts";

const STATUS_BY_REASON: Readonly<Record<FailureReason, number>> = {
  "queue-full": 429,
  shed: 503,
  late: 503,
  "no-worker": 503,
  // The status is not 503: a request that makes workers end should not be sent again by itself.
  "worker-lost": 500,
  inference: 500,
  // Nobody is there to read it.
  cancelled: 499,
  closed: 503,
};

/**
 * Refuses a request that would find no room as it comes, at a small part of what answering takes.
 * @returns whether it did.
 */
export function turnedAway(
  context: HttpContext,
  request: IncomingMessage,
  response: ServerResponse,
): boolean {
  const { method: verb, url = "" } = request;
  const hosted = verb === "POST" ? context.inferred.get(url) : undefined;
  if (hosted === undefined) return false;
  // Time for the way in and the way out, and then nothing is left.
  const isBehind = 2 * context.lag.onRequest() >= context.sloMs;
  if (!isBehind && !context.gate.isShut(hosted.model)) return false;
  if (context.isDraining() || !mayStay(request)) return false;
  const nowMs = context.nowMs();
  hosted.model.onTurnedAway(nowMs + context.sloMs, 1);
  hosted.model.metrics.onRequestFailed("shed", 0, nowMs);
  context.counts.onTurnedAway(request, turnAway(hosted.model, isBehind, response));
  return true;
}

/** @throws HttpError, BadRequest */
export async function answerInfer(
  context: HttpContext,
  hosted: HostedModel,
  modelName: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { nowMs } = context;
  const { metrics, signature } = hosted.model;
  const seenMs = nowMs();
  const lagMs = context.lag.onRequest();
  const arrivalMs = seenMs - lagMs;
  let reason: FailureReason | undefined;
  const hold = context.budget.hold();
  context.onInfer(1);
  try {
    if (context.isDraining()) {
      reason = "closed";
      throw new HttpError(503, "the server is shutting down", RETRY_LATER);
    }
    const parsed = await parsedRequest(context, hosted, request, hold);
    const { classes } = hosted.model;
    const sloClass = requestClass(classes, modelName, parsed.sloClass, context.sloMs);
    const outcome = await scheduled(
      context,
      hosted,
      sloClass,
      parsed,
      { arrivalMs, lagMs },
      response,
    );
    if (outcome.kind === "failed") {
      reason = outcome.reason;
      throw errorOf(outcome);
    }
    const texts = await jsonOutputs(context, parsed, outcome, signature);
    const written = writeInferResponse(modelName, parsed, outcome, signature, sloClass.name, texts);
    const leaving: Record<string, string> = context.isDraining() ? { connection: "close" } : {};
    response.writeHead(200, { ...written.headers, ...leaving });
    context.connections.outbox.send(response, written.parts);
    metrics.onRequestAnswered({ ...outcome, requestMs: nowMs() - arrivalMs }, nowMs());
  } catch (error) {
    metrics.onRequestFailed(reason, nowMs() - arrivalMs, nowMs());
    throw error;
  } finally {
    hold.release();
    context.onInfer(-1);
  }
}

async function parsedRequest(
  context: HttpContext,
  hosted: HostedModel,
  request: IncomingMessage,
  hold: ByteHold,
): Promise<InferRequest> {
  const header = request.headers["inference-header-content-length"];
  const headerLength = typeof header === "string" ? header : undefined;
  const { pace } = context;
  const limit = bodyLimit(hosted.limits, headerLength);
  const body = await readBody(request, { limit, pace, hold });
  const bodyBytes = body.length;
  const parsed = await readRequest(context, hosted, body, headerLength);
  const tensorBytes = parsed.inputs.reduce((sum, { length }) => sum + length, 0);
  // What is behind the JSON stays in the body.
  const keptBytes = headerLength === undefined ? 0 : bodyBytes;
  hold.growTo(Math.max(keptBytes, tensorBytes));
  hold.settle(Math.max(keptBytes, tensorBytes));
  return parsed;
}

/**
 * The deadline counts from the arrival of the request, before its body was read, and before it was
 * seen; of the time that is left, the answer may wait as long for the loop as the request did.
 */
async function scheduled(
  { gate, nowMs }: HttpContext,
  { model }: HostedModel,
  { index, sloMs }: RequestClass,
  { rows, inputs, timeoutMs, isHigh, variant }: InferRequest,
  { arrivalMs, lagMs }: { readonly arrivalMs: number; readonly lagMs: number },
  response: ServerResponse,
): Promise<Outcome> {
  const namedMs = typeof variant === "number" ? model.variantMs?.(variant) : undefined;
  const fastestMs = namedMs ?? model.fastestMs;
  if (timeoutMs !== undefined && timeoutMs < fastestMs) {
    const [fastestUs, timeoutUs] = [Math.ceil(fastestMs * 1000), Math.round(timeoutMs * 1000)];
    const whose = namedMs === undefined ? "the fastest variant" : "that variant";
    const expected = `expected at least ${fastestUs} µs, the time of ${whose}`;
    const message = `parameters.timeout: ${expected}, got ${timeoutUs}`;
    throw new HttpError(503, message, RETRY_LATER);
  }
  const deadlineMs = arrivalMs + Math.min(sloMs, timeoutMs ?? sloMs) - lagMs;
  if (!gate.admits(model, rows, isHigh)) {
    model.onTurnedAway(deadlineMs, rows);
    return { kind: "failed", reason: "shed", message: "no room: it would not be answered in time" };
  }
  const entry = gate.enter(rows, arrivalMs, sloMs);
  const { outcome, cancel } = model.submit({ rows, inputs, variant }, deadlineMs, isHigh, index);
  const onClose = () => cancel();
  response.on("close", onClose);
  // It may have closed while the body was decompressed.
  if (response.destroyed) cancel();
  const settled = await outcome;
  gate.leave(entry, settled, nowMs());
  response.off("close", onClose);
  return settled;
}

function errorOf({ reason, message }: Failure): HttpError {
  const status = STATUS_BY_REASON[reason];
  return new HttpError(status, message, status === 429 || status === 503 ? RETRY_LATER : {});
}
