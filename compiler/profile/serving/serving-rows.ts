/** Computes the serving path from samples; pure arithmetic. */
import type { Spread } from "stratagem-runtime/internal/bundle/schema";
import type { ServingSpec } from "../../spec/schema/profile-schema.ts";
import { type ContentionRound, contentionCurve } from "./contention-curve.ts";
import type { PathWindow } from "./path-window.ts";
import {
  meanOf,
  medianOf,
  partOf,
  rounded,
  scaledTo,
  spreadOf,
  withoutOutliers,
} from "./spread.ts";
import type { StallsSeen } from "./stall-watch.ts";

/** Measurements through the server, and of workers without it. */
export interface PathSamples {
  readonly processors: number;
  /** Length of the request body. */
  readonly requestBytes: number;
  /** One request at a time, with everything idle before it. */
  readonly single: readonly PathWindow[];
  /** Many requests at once, so that the server does not sleep. */
  readonly many: readonly PathWindow[];
  /** Many requests with more rows; null if the application does not accept them. */
  readonly large: { readonly windows: readonly PathWindow[]; readonly bytes: number } | null;
  readonly workers: WorkerSamples;
  /** Processor time taken by the host during the measurement; null if none was observed. */
  readonly stalls: StallsSeen | null;
}

/** Runs of workers without a server, ms. */
export interface WorkerSamples {
  /** True if they ran the same variant as single requests through the server, in batches of one. */
  readonly isOfPath: boolean;
  /** Back-to-back runs, and runs after a pause. */
  readonly steadyMs: readonly number[];
  readonly wokenMs: readonly number[];
  readonly contention: readonly (readonly ContentionRound[])[];
}

/** Rows of a profile written by tools: complete, with quantiles. */
export interface ServingRows extends ServingSpec {
  readonly requestMs: Spread;
  readonly batchMs: Spread;
  readonly answerMs: Spread;
  readonly wakeMs: Spread;
  readonly wireMs: Spread;
  readonly contention: number[];
}

/** Largest part of a request's processor time that one component may take. */
const MOST_PART = 0.4;
/**
 * Wake-ups in a request of one batch that model profiles do not include: of the server at arrival,
 * and of a worker. The wake-up of the server for the result is in the profile.
 */
const WAKES = 2;
const MIB = 2 ** 20;

/**
 * Computes rows that add up to the observations.
 * Under load, a request costs the processor time of the server per request; the server's time
 * stamps divide it into components. Alone it takes longer: the additional time between arrival and
 * answer is waking, the rest is wire. So wire, request, batch, answer and wake add up to the round
 * trip without the time in workers.
 */
export function servingRows(samples: PathSamples): ServingRows {
  const { processors, requestBytes, single, many, workers } = samples;
  const hot = hotTimes(many);
  const seen = single.flatMap(({ requests }) => requests);
  // Uses requests that do not wait: the simulated station has its own queue.
  const form = spreadOf(seen.map(serverMs));
  const all = [...single, ...many];
  const steals = all.flatMap(({ machine }) => machine.steal ?? []);
  return {
    processors,
    requestBytes,
    requestMs: scaledTo(rounded(hot.requestMs), form),
    batchMs: scaledTo(rounded(hot.batchMs), form),
    answerMs: scaledTo(rounded(hot.answerMs), form),
    perMiBMs: rounded(perMiB(samples, hot)),
    wakeMs: wakeOf(samples, hot),
    wireMs: spreadOf(withoutOutliers(seen.map(wireMs))),
    contention: contentionCurve(workers.contention),
    ...(samples.stalls === null ? {} : { stalls: samples.stalls }),
    ...(steals.length === 0 ? {} : { stealShare: toThousandths(meanOf(steals)) }),
    generatorShare: toThousandths(meanOf(all.map(({ machine }) => machine.generator))),
  };
}

/**
 * Computes the wake time of requests: their time in the server without waiting, minus the model's
 * profiled time, which includes the transfer to the worker and back, and minus the server's time
 * under load. If the model is unknown or varies, it is the additional time of a worker after a
 * pause.
 */
function wakeOf({ single, workers }: PathSamples, hot: HotTimes): Spread {
  const { isOfPath, steadyMs, wokenMs } = workers;
  const steady = medianOf(steadyMs);
  if (!isOfPath) return spreadOf(withoutOutliers(wokenMs.map((ms) => Math.max(0, ms - steady))));
  const batches = weighted(single, (window) => window.batches);
  const hotMs = hot.requestMs + hot.answerMs + hot.batchMs * Math.min(1, batches);
  const wakesMs = single.flatMap(({ requests }) =>
    requests.map(({ totalMs, queueMs }) => Math.max(0, totalMs - queueMs - steady - hotMs)),
  );
  return partOf(withoutOutliers(wakesMs), WAKES);
}

/** Time of a request in the server outside workers and queue, ms. */
function serverMs({ totalMs, queueMs, computeMs }: PathWindow["requests"][number]): number {
  return Math.max(0, totalMs - queueMs - computeMs);
}

/** Time between client and server, both ways, ms. */
function wireMs({ roundTripMs, totalMs }: PathWindow["requests"][number]): number {
  return Math.max(0, roundTripMs - totalMs);
}

interface HotTimes {
  readonly requestMs: number;
  readonly batchMs: number;
  readonly answerMs: number;
}

/**
 * Answers of a batch are written in sequence, so each of B waits (B + 1) / 2 answers on average. A
 * batch costs its dispatch; the rest, including the cost of its queries, is the request's, since
 * the number of queries does not depend on batching.
 */
function hotTimes(many: readonly PathWindow[]): HotTimes {
  const processorMs = weighted(many, (window) => window.processorMs);
  const batches = Math.max(
    1e-6,
    weighted(many, (window) => window.batches),
  );
  const sizes = many.flatMap(({ requests }) => requests.map(({ batch }) => batch));
  const written = (2 * weighted(many, (window) => window.outputMs)) / (meanOf(sizes) + 1);
  const sent = weighted(many, (window) => window.inputMs);
  const answerMs = Math.min(MOST_PART * processorMs, written);
  const batchMs = Math.min((MOST_PART * processorMs) / batches, sent);
  return { requestMs: Math.max(0, processorMs - answerMs - batchMs * batches), batchMs, answerMs };
}

/** Time per additional MiB; 0 without larger requests. */
function perMiB({ large, many, requestBytes }: PathSamples, hot: HotTimes): number {
  if (large === null || large.windows.length === 0) return 0;
  const bytesOf = (windows: readonly PathWindow[]) =>
    meanOf(windows.flatMap(({ requests }) => requests.map(({ responseBytes }) => responseBytes)));
  const more = large.bytes - requestBytes + bytesOf(large.windows) - bytesOf(many);
  const batches = weighted(large.windows, (window) => window.batches);
  const oneMs = hot.requestMs + hot.answerMs + hot.batchMs * batches;
  const beyondMs = weighted(large.windows, (window) => window.processorMs) - oneMs;
  return more <= 0 ? 0 : Math.max(0, beyondMs / (more / MIB));
}

/** Mean over the requests of the windows. */
function weighted(windows: readonly PathWindow[], of: (window: PathWindow) => number): number {
  const count = windows.reduce((sum, { answered }) => sum + answered, 0);
  return (
    windows.reduce((sum, window) => sum + of(window) * window.answered, 0) / Math.max(1, count)
  );
}

function toThousandths(share: number): number {
  return Math.round(share * 1000) / 1000;
}
