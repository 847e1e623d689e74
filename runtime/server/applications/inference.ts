/** One inference request, whatever protocol it came by: from the door to its answer. */
import { bucketSizes } from "../../bundle/schema.ts";
import type { ByteHold } from "../bodies/body-memory.ts";
import { HttpError, RETRY_LATER } from "../connections/http-error.ts";
import type { InferRequest } from "../protocol/protocol.ts";
import type { Answer, Failure, FailureReason, GivenUp, Outcome } from "../requests/request.ts";
import { type RequestClass, requestClass } from "../requests/request-classes.ts";
import type { RequestRecord } from "../requests/request-record.ts";
import { paddedInputs } from "../tensors/padding.ts";
import type { HostedModel } from "./hosted-model.ts";
import type { House } from "./house.ts";

const STATUS_BY_REASON: Readonly<Record<FailureReason, number>> = {
  "queue-full": 429,
  shed: 503,
  late: 503,
  // Whoever asks again with the same timeout is not answered either.
  timeout: 504,
  "no-worker": 503,
  // The status is not 503: a request that makes workers end should not be sent again by itself.
  "worker-lost": 500,
  inference: 500,
  refused: 400,
  // Nobody is there to read it.
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

/** What a protocol does of it. */
export interface Inference {
  readonly hosted: HostedModel;
  /** As the client named it. */
  readonly modelName: string;
  /** What is noted of the request; undefined where nothing is. */
  readonly record?: RequestRecord | undefined;
  /** Name of the client's token; undefined or empty where it has shown none. */
  readonly client?: string | undefined;
  /** By which its client knows the request, once it was read; left out where by none. */
  readonly id?: () => string | undefined;
  /**
   * Takes the request in. @param hold of the budget for its bytes. @throws HttpError, BadRequest
   */
  read(hold: ByteHold): Promise<InferRequest>;
  /** Calls back when the client is gone, at once where it is already. @returns what ends that. */
  onceGone(act: (why?: GivenUp) => void): () => void;
  /** @throws HttpError, or Error for an answer that cannot be said. */
  write(request: InferRequest, answer: Answer, sloClass: RequestClass): Promise<void> | void;
}

interface Arrival {
  /** Before it was seen. */
  readonly arrivalMs: number;
  /** How far the event loop was behind then. */
  readonly lagMs: number;
}

/** @throws HttpError, BadRequest, or what `write` throws; it is counted already. */
export async function infer(house: House, inference: Inference): Promise<void> {
  const { hosted, modelName, record } = inference;
  const { nowMs } = house;
  const { answered } = house.features;
  const { metrics, classes } = hosted.model;
  const seenMs = nowMs();
  const lagMs = house.lag.onRequest();
  const arrival = { arrivalMs: seenMs - lagMs, lagMs };
  let reason: FailureReason | undefined;
  let isAnswered = false;
  const hold = house.budget.hold();
  const { application } = hosted;
  if (record !== undefined) noteArrival(record, hosted, modelName, lagMs);
  application.enter();
  hosted.latencies.pending++;
  try {
    if (house.isDraining) {
      reason = "closed";
      throw new HttpError(503, "the server is shutting down", RETRY_LATER);
    }
    const read = ownSequence(await inference.read(hold), inference.client);
    const { request, kind } = inBucket(hosted.model, read, hold);
    if (record !== undefined) record.rows = request.rows;
    const { sloMs } = application;
    const sloClass = { ...requestClass(classes, modelName, request.sloClass, sloMs), ...kind };
    if (record !== undefined) noteKind(record, sloClass, request, nowMs());
    const outcome = await inTurn(house, inference, sloClass, request, arrival);
    if (outcome.kind === "failed") {
      reason = outcome.reason;
      throw errorOf(outcome);
    }
    isAnswered = true;
    if (answered.length > 0) {
      const { id, client = "" } = inference;
      const { rows } = request;
      const told = { hosted, rows, answer: outcome, id: id?.(), client };
      for (const hook of answered) hook(told);
    }
    if (record !== undefined) noteAnswer(record, outcome);
    const written = inference.write(read, outcome, sloClass);
    if (written !== undefined) await written;
    const writtenMs = nowMs();
    const requestMs = writtenMs - arrival.arrivalMs;
    const outputMs = writtenMs - outcome.doneMs;
    const { queueMs, inputMs, inferMs } = outcome;
    metrics.onRequestAnswered({ requestMs, queueMs, inputMs, inferMs, outputMs }, writtenMs);
    hosted.latencies.onAnswered(requestMs, queueMs, inferMs);
    house.trials.onSettled(application, requestMs <= sloClass.sloMs);
  } catch (error) {
    // What cannot be written is no answer.
    if (isAnswered || (reason !== undefined && VIOLATIONS.has(reason))) {
      house.trials.onSettled(application, false);
    }
    if (record !== undefined && reason !== undefined) noteFailure(record, reason, nowMs());
    metrics.onRequestFailed(reason, nowMs() - arrival.arrivalMs, nowMs());
    throw error;
  } finally {
    hold.release();
    hosted.latencies.pending--;
    application.leave();
  }
}

/**
 * Fills a request up to its bucket, which takes the place of a class: a model has no classes then.
 */
function inBucket(
  { signature, metrics }: HostedModel["model"],
  request: InferRequest,
  hold: ByteHold,
): { readonly request: InferRequest; readonly kind: Partial<RequestClass> } {
  const { axes } = signature;
  const { sizes } = request;
  if (axes === undefined || sizes === undefined) return { request, kind: {} };
  const grow = (bytes: number) => hold.growTo(hold.bytes + bytes);
  const { bucket, inputs, filled, elements } = paddedInputs(signature, request, sizes, grow);
  metrics.onPadded({ bucket, filled, elements });
  const name = bucketSizes(axes, bucket).join("x");
  return { request: { ...request, inputs }, kind: { index: bucket, bucket: name } };
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

/** Sequences of the same id that are another client's are others. */
function ownSequence(request: InferRequest, client = ""): InferRequest {
  const { sequence } = request;
  if (sequence === undefined || client === "") return request;
  return { ...request, sequence: { ...sequence, client } };
}

/**
 * Requests of a sequence are let in one after another. The deadline counts from the arrival of the
 * request, before its body was read, and before it was seen; of the time that is left, the answer
 * may wait as long for the loop as the request did.
 */
function inTurn(
  house: House,
  inference: Inference,
  sloClass: RequestClass,
  request: InferRequest,
  arrival: Arrival,
): Outcome | Promise<Outcome> {
  const { model } = inference.hosted;
  const { onceGone } = inference;
  const { sequence: step, inputs } = request;
  if (model.sequences === undefined || step === undefined) {
    return admitted(house, inference, sloClass, request, arrival);
  }
  const serve = (filled: readonly Uint8Array[]) => {
    return admitted(house, inference, sloClass, { ...request, inputs: filled }, arrival);
  };
  return model.sequences.inTurn({ step, inputs, onceGone, serve });
}

/** Lets a request in whose turn it is, or refuses it. */
function admitted(
  { nowMs }: House,
  { hosted: { model, application }, onceGone }: Inference,
  { index, sloMs }: RequestClass,
  { rows, inputs, timeoutMs, isHigh, variant }: InferRequest,
  { arrivalMs, lagMs }: Arrival,
): Outcome | Promise<Outcome> {
  const { gate } = application;
  const namedMs = typeof variant === "number" ? model.variantMs?.(variant) : undefined;
  const refusal = timeoutRefusal(timeoutMs, namedMs, model.fastestMs);
  if (refusal !== null) {
    model.onTurnedAway(rows, index);
    return refusal;
  }
  const deadlineMs = arrivalMs + Math.min(sloMs, timeoutMs ?? sloMs) - lagMs;
  if (!gate.admits(model, rows, isHigh)) {
    model.onTurnedAway(rows, index);
    return { kind: "failed", reason: "shed", message: "no room: it would not be answered in time" };
  }
  const entry = gate.enter(model, rows, isHigh, { arrivalMs, sloMs });
  const { outcome, cancel } = model.submit({ rows, inputs, variant }, deadlineMs, isHigh, index);
  const stayed = onceGone(cancel);
  return outcome.then((found) => {
    const settled = ownTimeout(found, timeoutMs !== undefined && timeoutMs < sloMs);
    gate.leave(entry, settled, nowMs());
    stayed();
    return settled;
  });
}

/** Why a timeout that a client states cannot be met whatever is done; null where it may be. */
function timeoutRefusal(
  timeoutMs: number | undefined,
  namedMs: number | undefined,
  fastestMs: number,
): Failure | null {
  const leastMs = namedMs ?? fastestMs;
  if (timeoutMs === undefined || timeoutMs >= leastMs) return null;
  const [leastUs, timeoutUs] = [Math.ceil(leastMs * 1000), Math.round(timeoutMs * 1000)];
  const whose = namedMs === undefined ? "the fastest variant" : "that variant";
  const expected = `expected at least ${leastUs} µs, the time of ${whose}`;
  const message = `parameters.timeout: ${expected}, got ${timeoutUs}`;
  return { kind: "failed", reason: "timeout", message };
}

/** What is late for a deadline of the client's own is not late for the SLO. */
function ownTimeout(outcome: Outcome, isOwn: boolean): Outcome {
  if (!isOwn || outcome.kind === "answered" || outcome.reason !== "late") return outcome;
  return { ...outcome, reason: "timeout" };
}

function errorOf({ reason, message }: Failure): HttpError {
  const status = STATUS_BY_REASON[reason];
  return new HttpError(status, message, status === 429 || status === 503 ? RETRY_LATER : {});
}

/** As HTTP has it; other protocols have a status for each. */
export interface ShutDoor {
  readonly status: 429 | 503;
  readonly message: string;
}

const FULL: ShutDoor = { status: 429, message: "no room: as many queries wait as may" };
const LATE: ShutDoor = {
  status: 503,
  message: "no room: the request would not be answered in time",
};

/** @returns undefined where a request for the model may come in. */
export function shutDoor(house: House, { model, application }: HostedModel): ShutDoor | undefined {
  // Time for the way in and the way out, and then nothing is left.
  if (2 * house.lag.onRequest() >= application.sloMs) return LATE;
  if (!application.gate.isShut(model)) return undefined;
  return model.isFull === undefined ? LATE : FULL;
}

/** A request has gone from a door that is shut. @param record what is noted of it, if anything. */
export function onTurnedAway(house: House, hosted: HostedModel, record?: RequestRecord): void {
  const { model, application } = hosted;
  model.onTurnedAway(1, 0);
  model.metrics.onRequestFailed("shed", 0, house.nowMs());
  house.trials.onSettled(application, false);
  if (record === undefined) return;
  record.model = model.signature.names[0] ?? "";
  record.sloMs = application.sloMs;
  record.bundleSha256 = application.endpoint.bundleSha256;
  record.failedMs = house.nowMs();
  record.error = "turned away at the door";
  record.reason = "shed";
}
