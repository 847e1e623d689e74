/** The inference route: body in, rows through the scheduler, tensors out. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { readBody } from "./body.ts";
import { type HostedModel, type HttpContext, RETRY_LATER } from "./context.ts";
import { turnAway } from "./gate.ts";
import { HttpError } from "./http-error.ts";
import type { InferRequest } from "./protocol.ts";
import type { Failure, FailureReason, Outcome } from "./request.ts";
import { type RequestClass, requestClass } from "./request-classes.ts";
import { writeInferResponse } from "./response.ts";

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

const MAX_JOINED_BYTES = 1 << 16;
const MAX_FORGOTTEN_BYTES = 1 << 20;

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
  const arrivalMs = nowMs();
  let reason: FailureReason | undefined;
  context.onInfer(1);
  try {
    if (context.isDraining()) {
      reason = "closed";
      throw new HttpError(503, "the server is shutting down", RETRY_LATER);
    }
    if (context.gate.isShut(hosted.model) && mayStay(request)) {
      hosted.model.onTurnedAway(arrivalMs + context.sloMs);
      metrics.onRequestFailed("shed", nowMs() - arrivalMs, nowMs());
      turnAway(hosted.model, response);
      return;
    }
    const parsed = await parsedRequest(context, hosted, request);
    const { classes } = hosted.model;
    const sloClass = requestClass(classes, modelName, parsed.sloClass, context.sloMs);
    const outcome = await scheduled(context, hosted, sloClass, parsed, arrivalMs, response);
    if (outcome.kind === "failed") {
      reason = outcome.reason;
      throw errorOf(outcome);
    }
    const written = writeInferResponse(modelName, parsed, outcome, signature, sloClass.name);
    const leaving: Record<string, string> = context.isDraining() ? { connection: "close" } : {};
    response.writeHead(200, { ...written.headers, ...leaving });
    send(response, written.parts);
    metrics.onRequestAnswered({ ...outcome, requestMs: nowMs() - arrivalMs }, nowMs());
  } catch (error) {
    metrics.onRequestFailed(reason, nowMs() - arrivalMs, nowMs());
    throw error;
  } finally {
    context.onInfer(-1);
  }
}

/**
 * One system call for header and body; a small body is put together for it, which costs less than
 * telling the system of its parts.
 */
function send(response: ServerResponse, parts: readonly Uint8Array[]): void {
  const bytes = parts.reduce((sum, { length }) => sum + length, 0);
  if (bytes <= MAX_JOINED_BYTES) {
    response.end(Buffer.concat(parts, bytes));
    return;
  }
  response.cork();
  for (const part of parts) response.write(part);
  response.end();
  response.uncork();
}

async function parsedRequest(
  context: HttpContext,
  { requests }: HostedModel,
  request: IncomingMessage,
): Promise<InferRequest> {
  const header = request.headers["inference-header-content-length"];
  const body = await readBody(request, context);
  const headerLength = typeof header === "string" ? header : undefined;
  return requests.read(body, headerLength);
}

/** Whether the body of a request that is refused is so small that it is read and forgotten. */
function mayStay({ headers }: IncomingMessage): boolean {
  return Number(headers["content-length"]) <= MAX_FORGOTTEN_BYTES;
}

/** The deadline counts from the arrival of the request, before its body was read. */
async function scheduled(
  { gate, nowMs }: HttpContext,
  { model }: HostedModel,
  { index, sloMs }: RequestClass,
  { rows, inputs, timeoutMs, isHigh, variant }: InferRequest,
  arrivalMs: number,
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
  const deadlineMs = arrivalMs + Math.min(sloMs, timeoutMs ?? sloMs);
  if (!gate.admits(model, isHigh)) {
    model.onTurnedAway(deadlineMs);
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
