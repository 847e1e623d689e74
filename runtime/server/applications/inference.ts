/**
 * Steps of an inference request, for all protocols: read, classify, admit, submit, write. Features
 * and trials have hooks at fixed steps; a feature that is off costs one check.
 */
import type { Socket } from "node:net";
import { bucketSizes } from "../../bundle/schema.ts";
import { ByteHold } from "../bodies/body-memory.ts";
import { HttpError, RETRY_LATER } from "../connections/http-error.ts";
import type { InferRequest } from "../protocol/protocol.ts";
import type { EndpointModel } from "../requests/endpoint.ts";
import type { Answer, Failure, FailureReason, GivenUp, Outcome } from "../requests/request.ts";
import { type RequestClass, requestClass } from "../requests/request-classes.ts";
import type { RequestRecord } from "../requests/request-record.ts";
import type { VariantWish } from "../requests/variant-wish.ts";
import { type PaddedInputs, paddedInputs } from "../tensors/padding.ts";
import type { ClientSignature } from "../tensors/signature.ts";
import type { HostedModel } from "./hosted-model.ts";
import type { ServerState } from "./server-state.ts";

const STATUS_BY_REASON: Readonly<Record<FailureReason, number>> = {
  "queue-full": 429,
  shed: 503,
  late: 503,
  // A retry with the same timeout would fail too.
  timeout: 504,
  "no-worker": 503,
  // The status is not 503: a request that makes workers end should not be sent again by itself.
  "worker-lost": 500,
  inference: 500,
  refused: 400,
  // The client is gone, so the status appears in logs only.
  cancelled: 499,
  "sequence-not-open": 400,
  "sequences-full": 429,
  closed: 503,
};

/** Failures that the server, a model or a worker is to blame for, and no client. */
const VIOLATIONS: ReadonlySet<FailureReason> = new Set([
  "queue-full",
  "shed",
  "late",
  "no-worker",
  "worker-lost",
  "inference",
]);

/** An inference request as one protocol provides it. */
export interface Inference {
  readonly hosted: HostedModel;
  /** Name that the client used. */
  readonly modelName: string;
  /** Record for logs and traces; undefined where the request is not recorded. */
  readonly record?: RequestRecord | undefined;
  /** Name of the client's token; undefined or empty without a token. */
  readonly client?: string | undefined;
  /** Memory of the request so far, or the client's connection. */
  readonly holder: ByteHold | Socket;
  /** Client's id of the request, once the request was read. Default: none. */
  readonly id?: () => string | undefined;
  /**
   * Takes the request in. @param hold of the budget for its bytes. @throws HttpError, BadRequest
   */
  read(hold: ByteHold): Promise<InferRequest>;
  /** Calls back when the client is gone, at once where it is already. @returns what ends that. */
  onceGone(act: (why?: GivenUp) => void): () => void;
  /** @throws HttpError, or Error for an answer that the protocol cannot express. */
  write(request: InferRequest, answer: Answer, sloClass: RequestClass): Promise<void> | void;
}

interface Arrival {
  /** Before it was seen. */
  readonly arrivalMs: number;
  /** Delay of the event loop at that time. */
  readonly lagMs: number;
}

/**
 * Reads a request, classifies it, admits it, submits it and writes its answer.
 * @throws HttpError, BadRequest, or what `write` throws; it is counted already.
 */
export async function infer(state: ServerState, inference: Inference): Promise<void> {
  const { hosted, modelName, record, holder } = inference;
  const { application, model, latencies } = hosted;
  const { nowMs, trials, features } = state;
  const { metrics } = model;
  const lagMs = state.lag.onRequest();
  const arrival = { arrivalMs: nowMs() - lagMs, lagMs };
  const hold = holder instanceof ByteHold ? holder : state.budget.hold(holder, inference.client);
  let reason: FailureReason | undefined;
  let isAnswered = false;
  if (record !== undefined) noteArrival(record, hosted, modelName, lagMs);
  application.enter();
  latencies.pending++;
  try {
    if (state.isDraining) {
      reason = "closed";
      throw new HttpError(503, "the server is shutting down", RETRY_LATER);
    }
    const read = await inference.read(hold);
    if (record !== undefined) record.rows = read.rows;
    const { request, sloClass } = classified(hosted, modelName, read, hold);
    if (record !== undefined) noteKind(record, sloClass, request, nowMs());
    const isOfSequence = model.sequences !== undefined && request.sequence !== undefined;
    const admit = isOfSequence ? admittedInTurn : admitted;
    const outcome = await admit(state, inference, sloClass, request, arrival);
    if (outcome.kind === "failed") {
      reason = outcome.reason;
      throw errorOf(outcome);
    }
    isAnswered = true;
    for (const hook of features.answered) {
      const { id, client = "" } = inference;
      hook({ hosted, rows: request.rows, answer: outcome, id: id?.(), client });
    }
    if (record !== undefined) noteAnswer(record, outcome);
    const written = inference.write(read, outcome, sloClass);
    if (written !== undefined) await written;
    const writtenMs = nowMs();
    const requestMs = writtenMs - arrival.arrivalMs;
    const outputMs = writtenMs - outcome.doneMs;
    const { queueMs, inputMs, inferMs } = outcome;
    metrics.onRequestAnswered({ requestMs, queueMs, inputMs, inferMs, outputMs }, writtenMs);
    latencies.onAnswered(requestMs, queueMs, inferMs);
    if (trials.openCount > 0) trials.onSettled(application, requestMs <= sloClass.sloMs);
  } catch (error) {
    // An answer that cannot be written is a violation.
    const isViolated = isAnswered || (reason !== undefined && VIOLATIONS.has(reason));
    if (isViolated && trials.openCount > 0) trials.onSettled(application, false);
    if (record !== undefined && reason !== undefined) noteFailure(record, reason, nowMs());
    metrics.onRequestFailed(reason, nowMs() - arrival.arrivalMs, nowMs());
    throw error;
  } finally {
    hold.release();
    latencies.pending--;
    application.leave();
  }
}

interface Classified {
  /** Request with inputs padded to its bucket. */
  readonly request: InferRequest;
  readonly sloClass: RequestClass;
}

/** Finds the class of a request, or its bucket; a model has at most one of both. */
function classified(
  { model: { classes, signature, metrics }, application: { sloMs } }: HostedModel,
  modelName: string,
  request: InferRequest,
  hold: ByteHold,
): Classified {
  const { sizes, sloClass: asked } = request;
  const isPlain = classes === undefined && asked === undefined;
  const padded = sizes === undefined ? undefined : paddedTo(signature, request, sizes, hold);
  const sloClass = isPlain
    ? { index: 0, name: null, sloMs }
    : requestClass(classes, modelName, asked, sloMs);
  if (padded === undefined) return { request, sloClass };
  metrics.onPadded(padded);
  const { bucket, inputs } = padded;
  const name = bucketSizes(signature.axes ?? [], bucket).join("x");
  return {
    request: { ...request, inputs },
    sloClass: { ...sloClass, index: bucket, bucket: name },
  };
}

function paddedTo(
  signature: ClientSignature,
  request: InferRequest,
  sizes: readonly number[],
  hold: ByteHold,
): PaddedInputs {
  return paddedInputs(signature, request, sizes, (bytes) => hold.growTo(hold.bytes + bytes));
}

function noteArrival(
  record: RequestRecord,
  { application }: HostedModel,
  modelName: string,
  lagMs: number,
): void {
  record.model = modelName;
  record.application = application.name;
  record.lagMs = lagMs;
  record.sloMs = application.sloMs;
  record.bundleSha256 = application.endpoint.bundleSha256;
}

function noteKind(
  record: RequestRecord,
  { name, bucket, sloMs }: RequestClass,
  { timeoutMs, variant }: Pick<InferRequest, "timeoutMs" | "variant">,
  readMs: number,
): void {
  record.isNamed = variant !== undefined;
  record.readMs = readMs;
  record.sloMs = Math.min(sloMs, timeoutMs ?? sloMs);
  record.kind = bucket ?? name ?? "";
}

function noteFailure(record: RequestRecord, reason: FailureReason, nowMs: number): void {
  record.reason = reason;
  record.failedMs = nowMs;
}

function noteAnswer(record: RequestRecord, answer: Answer): void {
  const { answerer, queueMs, inferMs, runs, waitsMs } = answer;
  record.queueMs = queueMs;
  record.computeMs = inferMs;
  record.variant = answerer.variant;
  record.accuracy = answerer.accuracy;
  record.runs = runs;
  record.waitsMs = waitsMs ?? [];
}

/**
 * Admits the requests of a sequence one after another. The same id of another client names another
 * sequence.
 */
function admittedInTurn(
  state: ServerState,
  inference: Inference,
  sloClass: RequestClass,
  request: InferRequest,
  arrival: Arrival,
): Outcome | Promise<Outcome> {
  const { sequences } = inference.hosted.model;
  const { onceGone, client = "" } = inference;
  const { sequence, inputs } = request;
  if (sequences === undefined || sequence === undefined) {
    throw new Error("a request of a sequence is for a model that keeps state");
  }
  const step = client === "" ? sequence : { ...sequence, client };
  const serve = (filled: readonly Uint8Array[]) => {
    return admitted(state, inference, sloClass, { ...request, inputs: filled }, arrival);
  };
  return sequences.inTurn({ step, inputs, onceGone, serve });
}

/**
 * Submits a request, or rejects one that would be late. The deadline counts from the arrival of the
 * request, before its body was read, and before it was seen; of the time that is left, the answer
 * may wait as long for the loop as the request did.
 */
function admitted(
  { nowMs }: ServerState,
  { hosted: { model, application }, onceGone }: Inference,
  { index, sloMs }: RequestClass,
  { rows, inputs, timeoutMs, isHigh, variant }: InferRequest,
  { arrivalMs, lagMs }: Arrival,
): Outcome | Promise<Outcome> {
  const { gate } = application;
  if (timeoutMs !== undefined) {
    const rejection = timeoutRejection(timeoutMs, model, variant);
    if (rejection !== null) {
      model.onRejected(rows, index);
      return rejection;
    }
  }
  const isOwn = timeoutMs !== undefined && timeoutMs < sloMs;
  const deadlineMs = arrivalMs + (isOwn ? timeoutMs : sloMs) - lagMs;
  if (!gate.admits(model, rows, isHigh)) {
    model.onRejected(rows, index);
    return {
      kind: "failed",
      reason: "shed",
      message: "overloaded: the request would not be answered in time",
    };
  }
  const entry = gate.enter(model, rows, isHigh, { arrivalMs, sloMs }, nowMs());
  const { outcome, cancel } = model.submit({ rows, inputs, variant }, deadlineMs, isHigh, index);
  const stayed = onceGone(cancel);
  return outcome.then((found) => {
    // Late for the client's own deadline is not late for the SLO.
    const isOwnTimeout = isOwn && found.kind === "failed" && found.reason === "late";
    const settled: Outcome = isOwnTimeout ? { ...found, reason: "timeout" } : found;
    gate.leave(entry, settled, nowMs());
    stayed();
    return settled;
  });
}

/** Returns why a timeout that a client states can never be met, or null. */
function timeoutRejection(
  timeoutMs: number,
  model: EndpointModel,
  variant: VariantWish | undefined,
): Failure | null {
  const namedMs = typeof variant === "number" ? model.variantMs?.(variant) : undefined;
  const leastMs = namedMs ?? model.fastestMs;
  if (timeoutMs >= leastMs) return null;
  const [leastUs, timeoutUs] = [Math.ceil(leastMs * 1000), Math.round(timeoutMs * 1000)];
  const whose = namedMs === undefined ? "the fastest variant" : "that variant";
  const expected = `expected at least ${leastUs} µs, the time of ${whose}`;
  const message = `parameters.timeout: ${expected}, got ${timeoutUs}`;
  return { kind: "failed", reason: "timeout", message };
}

function errorOf({ reason, message }: Failure): HttpError {
  const status = STATUS_BY_REASON[reason];
  return new HttpError(status, message, status === 429 || status === 503 ? RETRY_LATER : {});
}

/** Rejects a request before its body is read; other protocols translate the status. */
export interface EarlyRejection {
  readonly status: 429 | 503;
  readonly message: string;
}

const QUEUE_FULL: EarlyRejection = {
  status: 429,
  message: "queue full: the maximum number of queries is waiting",
};
const LATE: EarlyRejection = {
  status: 503,
  message: "overloaded: the request would not be answered in time",
};

/** @returns undefined where a request for the model is admitted. */
export function earlyRejection(
  state: ServerState,
  { model, application }: HostedModel,
): EarlyRejection | undefined {
  // Request and answer both wait for the event loop, so no time is left.
  if (2 * state.lag.onRequest() >= application.sloMs) return LATE;
  if (!application.gate.isShut(model)) return undefined;
  return model.isFull === undefined ? LATE : QUEUE_FULL;
}

/** Counts a request that was rejected early. @param record of the request, if there is one. */
export function onRejected(state: ServerState, hosted: HostedModel, record?: RequestRecord): void {
  const { model, application } = hosted;
  model.onRejected(1, 0);
  model.metrics.onRequestFailed("shed", 0, state.nowMs());
  if (state.trials.openCount > 0) state.trials.onSettled(application, false);
  if (record === undefined) return;
  record.model = model.signature.names[0] ?? "";
  record.sloMs = application.sloMs;
  record.bundleSha256 = application.endpoint.bundleSha256;
  record.failedMs = state.nowMs();
  record.error = "rejected before its body was read";
  record.reason = "shed";
}
