/** One batch on an agent: let in, read, run in its turn, answered. */

import type { IncomingMessage, ServerResponse } from "node:http";
import {
  type BatchResult,
  InferenceError,
  RowsRefusedError,
  WorkerLostError,
} from "../exec/models/executor.ts";
import { readBody } from "../server/bodies/body.ts";
import type { ByteHold } from "../server/bodies/body-memory.ts";
import { HttpError } from "../server/connections/http-error.ts";
import type { FailureReason } from "../server/requests/request.ts";
import type { BatchRefusal } from "./agent-counts.ts";
import type { AgentState } from "./agent-state.ts";
import { writeAnswer } from "./batch-answer.ts";
import { type ReadBatch, readBatch } from "./batch-request.ts";
import { LEASE, type Lease, leaseOf } from "./fence.ts";
import type { HeldModel } from "./held-model.ts";
import type { Turn } from "./turns.ts";
import { takenValue } from "./value-source.ts";

const HEADER_LENGTH = "inference-header-content-length";
/** Another worker may take it at once. */
const RETRY_NOW = { "retry-after": "0" };

/** State of a batch before its bytes have arrived. */
interface Arrival {
  readonly held: HeldModel;
  readonly lease: Lease | null;
  readonly arrivalMs: number;
  readonly deadlineMs: number;
}

interface Ran {
  readonly result: BatchResult;
  readonly queueMs: number;
  readonly runMs: number;
}

/** Answers a batch and counts it. @throws HttpError, BadRequest, RowsRefusedError */
export async function answerBatch(
  state: AgentState,
  name: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const arrivalMs = state.nowMs();
  const hold = state.budget.hold();
  let turn: Turn | null = null;
  const giveUp = () => turn?.giveUp();
  try {
    const arrival = arrivalOf(state, name, request, arrivalMs);
    turn = state.turns.enter();
    if (turn === null)
      throw refused(state, "busy", 503, "queue full: one batch runs and another waits");
    // A waiting batch whose client is gone gives up its place; a running one runs on.
    response.once("close", giveUp);
    const batch = await received(state, arrival.held, request, hold);
    const inputs = await gathered(state, batch, hold);
    const ran = await runInTurn(state, arrival, { ...batch, inputs }, turn, response);
    const { headers, parts } = writeAnswer(arrival.held.model, batch, ran.result, state.values);
    response.writeHead(200, headers);
    state.connections.outbox.send(response, parts);
    const { queueMs, runMs, result } = ran;
    const [nowMs, { rows }] = [state.nowMs(), batch];
    const spans = { rows, queueMs, runMs, wallMs: result.wallMs, requestMs: nowMs - arrivalMs };
    state.counts.onAnswered(name, spans, nowMs);
  } catch (error) {
    const nowMs = state.nowMs();
    const { failure, reason } = failureOf(error);
    state.counts.of(name).onRequestFailed(reason, nowMs - arrivalMs, nowMs);
    throw failure;
  } finally {
    response.off("close", giveUp);
    turn?.leave();
    hold.release();
  }
}

/** @throws HttpError for a batch rejected before any of its bytes are read. */
function arrivalOf(
  state: AgentState,
  name: string,
  { headers }: IncomingMessage,
  arrivalMs: number,
): Arrival {
  if (state.isStopping) {
    throw refused(state, "not_ready", 503, "the worker is stopping");
  }
  const lease = leaseOf(headers[LEASE]);
  checkLease(state, lease);
  const arrival = { lease, arrivalMs, deadlineMs: deadlineMs(headers[DEADLINE], arrivalMs) };
  try {
    return { ...arrival, held: state.models.ready(name) };
  } catch (error) {
    state.counts.onRefused("not_ready");
    throw error;
  }
}

async function received(
  { bodyLimit: limit, pace }: AgentState,
  { model }: HeldModel,
  request: IncomingMessage,
  hold: ByteHold,
): Promise<ReadBatch> {
  const body = await readBody(request, { limit, pace, hold });
  const header = request.headers[HEADER_LENGTH];
  return readBatch(body, typeof header === "string" ? header : undefined, model);
}

/** Fetches inputs kept by other workers while the previous batch computes. */
function gathered(
  { values, peers }: AgentState,
  { inputs }: ReadBatch,
  hold: ByteHold,
): Promise<Uint8Array[]> {
  return Promise.all(
    inputs.map(async (input) => {
      if (input instanceof Uint8Array) return input;
      const bytes = await takenValue(input, values, peers);
      hold.growTo(hold.bytes + bytes.length);
      return bytes;
    }),
  );
}

/** If this throws a rejection, nothing of the batch has run, so its id may be used again. */
async function runInTurn(
  state: AgentState,
  arrival: Arrival,
  batch: Pick<ReadBatch, "id" | "rows" | "bucket"> & { readonly inputs: readonly Uint8Array[] },
  turn: Turn,
  response: ServerResponse,
): Promise<Ran> {
  const { id, rows, bucket, inputs } = batch;
  if (id !== undefined && !state.ids.take(id)) {
    throw refused(state, "double", 409, `id: expected a new id, "${id}" already ran`);
  }
  try {
    const isMine = await turn.begin();
    if (!isMine || response.destroyed) throw refused(state, "gone", 499, "the client went away");
    mayBegin(state, arrival);
  } catch (error) {
    if (id !== undefined) state.ids.giveBack(id);
    throw error;
  }
  const beginMs = state.nowMs();
  let computedMs: number | undefined;
  const onComputed = () => {
    computedMs = state.nowMs();
    turn.leave();
  };
  const asked = { variant: 0, rows, bucket, inputs: inputs.map((bytes) => [bytes]) };
  const result = await arrival.held.run(asked, onComputed);
  const runMs = (computedMs ?? state.nowMs()) - beginMs;
  return { result, queueMs: beginMs - arrival.arrivalMs, runMs };
}

/**
 * Checks again before the run: the lease, the deadline and the process may have ended meanwhile.
 */
function mayBegin(state: AgentState, { lease, deadlineMs: endMs, held, arrivalMs }: Arrival): void {
  checkLease(state, lease);
  const nowMs = state.nowMs();
  if (nowMs >= endMs) {
    const waited = `${Math.round(nowMs - arrivalMs)} ms after the request arrived`;
    throw refused(state, "late", 504, `${DEADLINE}: the deadline has passed, ${waited}`);
  }
  if (!held.isReady) {
    throw refused(state, "not_ready", 503, `${held.model.name}: its process is not ready`);
  }
}

function checkLease(state: AgentState, lease: Lease | null): void {
  try {
    state.fence.check(lease);
  } catch (error) {
    state.counts.onRefused("fenced");
    throw error;
  }
}

function refused(
  { counts }: AgentState,
  reason: BatchRefusal,
  status: number,
  message: string,
): HttpError {
  counts.onRefused(reason);
  return new HttpError(status, message, status === 503 ? RETRY_NOW : {});
}

/**
 * Returns the error for the front end: 502 if the process ended, 500 if the model refused the
 * batch.
 */
function failureOf(error: unknown): { failure: unknown; reason: FailureReason | undefined } {
  if (error instanceof WorkerLostError) {
    return { failure: new HttpError(502, error.message), reason: "worker-lost" };
  }
  if (error instanceof RowsRefusedError) return { failure: error, reason: "refused" };
  if (error instanceof InferenceError) {
    return { failure: new HttpError(500, error.message), reason: "inference" };
  }
  if (error instanceof HttpError && error.status === 499) {
    return { failure: error, reason: "cancelled" };
  }
  const isRefusal = error instanceof HttpError && error.status >= 409;
  return { failure: error, reason: isRefusal ? "shed" : undefined };
}

/** Header with the milliseconds that are left, as the request was sent. */
const DEADLINE = "stratagem-deadline-ms";

const FORM = /^\d{1,10}(?:\.\d{1,6})?$/;

/**
 * When an answer is of no use any more. @returns Infinity without the header. @throws HttpError 400
 */
export function deadlineMs(
  header: string | readonly string[] | undefined,
  arrivalMs: number,
): number {
  if (header === undefined) return Number.POSITIVE_INFINITY;
  const text = String(header);
  if (FORM.test(text)) return arrivalMs + Number(text);
  throw new HttpError(400, `${DEADLINE}: expected milliseconds such as 12.5, got "${text}"`);
}
