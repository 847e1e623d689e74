/** The serving path from what was seen of it: pure arithmetic on samples. */
import type { Spread } from "stratagem-runtime/internal/bundle/schema";
import type { ServingSpec } from "../../spec/schema/profile-schema.ts";
import { type ContentionRound, contentionCurve } from "./contention-curve.ts";
import { PaceLooks } from "./pace-looks.ts";
import type { PathWindow } from "./path-window.ts";
import { meanOf, medianOf, partOf, rounded, scaledTo, spreadOf } from "./spread.ts";
import type { StallsSeen } from "./stall-watch.ts";

/** What was measured through the server, and of workers without it. */
export interface PathSamples {
  readonly processors: number;
  /** Body of the request. */
  readonly requestBytes: number;
  /** One request at a time, everything asleep before it. */
  readonly single: readonly PathWindow[];
  /** Many requests at once, so that the server does not sleep. */
  readonly many: readonly PathWindow[];
  /** The same of requests with more rows; null where the application takes none. */
  readonly large: { readonly windows: readonly PathWindow[]; readonly bytes: number } | null;
  readonly workers: WorkerSamples;
  /** What the host took while all this was measured; null where it took nothing that is seen. */
  readonly stalls: StallsSeen | null;
}

/** Runs of workers that no server stands before, ms. */
export interface WorkerSamples {
  /** Whether those who ran are who answered one request at a time, in one batch of one. */
  readonly isOfPath: boolean;
  /** One right after the other, and each after a while of nothing. */
  readonly steadyMs: readonly number[];
  readonly wokenMs: readonly number[];
  readonly contention: readonly (readonly ContentionRound[])[];
  /** On every processor a worker that never rests, after they ran alone. */
  readonly paced: PacedRuns;
}

export interface PacedRuns {
  /** Runs of one worker alone, ms. */
  readonly aloneMs: readonly number[];
  /** When each run beside others ended, on any clock, who ran it, and what it took. */
  readonly beside: readonly { readonly atMs: number; readonly who: number; readonly ms: number }[];
}

/** Rows of a profile that tools write: all of them, with their quantiles. */
export interface ServingRows extends ServingSpec {
  readonly requestMs: Spread;
  readonly batchMs: Spread;
  readonly answerMs: Spread;
  readonly wakeMs: Spread;
  readonly wireMs: Spread;
  readonly contention: number[];
}

/** Of the processor time of a request, what one of its parts takes at most. */
const MOST_PART = 0.4;
/**
 * Sleepers on the way of a request of one batch whose waking no profile of a model has: the server
 * when it comes, and a worker. The server wakes for its result as whoever profiles does.
 */
const WAKES = 2;
const MIB = 2 ** 20;

/**
 * The rows that add up to what was seen.
 *
 * Hot, a request takes of the server what its process took of the processors while many were under
 * way; the server's own time stamps divide that. Alone, it takes longer: what of that passes
 * between taking the request up and its answer are wakes, the rest is wire. So that wire, requests,
 * batches, answers and wakes make the round trip again, less the time in workers.
 */
export function servingRows(samples: PathSamples): ServingRows {
  const { processors, requestBytes, single, many, workers } = samples;
  const hot = hotTimes(many);
  const contention = contentionCurve(workers.contention);
  const seen = single.flatMap(({ requests }) => requests);
  // Of requests that wait for nobody: the station has a queue of its own.
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
    wireMs: spreadOf(seen.map(({ roundTripMs, totalMs }) => Math.max(0, roundTripMs - totalMs))),
    contention,
    ...(samples.stalls === null ? {} : { stalls: samples.stalls }),
    ...slowOf(workers, contention),
    ...(steals.length === 0 ? {} : { stealShare: toThousandths(meanOf(steals)) }),
    generatorShare: toThousandths(meanOf(all.map(({ machine }) => machine.generator))),
  };
}

/**
 * Of requests whose model is known: what they take from being taken up to their answer beyond what
 * they wait, what the profile says of the model, in whose times the way to a worker and back is,
 * and what the server takes hot. Where it is not, or differs from request to request, what a worker
 * takes longer that has slept.
 */
function wakeOf({ single, workers }: PathSamples, hot: HotTimes): Spread {
  const { isOfPath, steadyMs, wokenMs } = workers;
  const steady = medianOf(steadyMs);
  if (!isOfPath) return spreadOf(wokenMs.map((ms) => Math.max(0, ms - steady)));
  const batches = weighted(single, (window) => window.batches);
  const hotMs = hot.requestMs + hot.answerMs + hot.batchMs * Math.min(1, batches);
  const wakesMs = single.flatMap(({ requests }) =>
    requests.map(({ totalMs, queueMs }) => Math.max(0, totalMs - queueMs - steady - hotMs)),
  );
  return partOf(wakesMs, WAKES);
}

/**
 * Slow spells while all processors work, as they do in service: who works alone is slowed less.
 * What is fast there is told relative to what a run takes alone, and to what workers beside each
 * other take, for both are reckoned with already. Left out where nothing was slow.
 */
function slowOf(
  { paced: { aloneMs, beside } }: WorkerSamples,
  contention: readonly number[],
): Pick<ServingSpec, "slow"> {
  const looks = new PaceLooks();
  for (const { atMs, ms, who } of beside) looks.add(atMs, ms, who);
  const seen = looks.slow(Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY);
  if (seen === null) return {};
  const width = new Set(beside.map(({ who }) => who)).size;
  const usualMs = medianOf(aloneMs) * (contention[width - 1] ?? contention.at(-1) ?? 1);
  const { share, factor, spellMs, fastMs } = seen;
  return { slow: { share, factor, spellMs, fast: toThousandths(fastMs / usualMs) } };
}

/** Time of a request in the server that no worker had it, and that it did not wait, ms. */
function serverMs({ totalMs, queueMs, computeMs }: PathWindow["requests"][number]): number {
  return Math.max(0, totalMs - queueMs - computeMs);
}

interface HotTimes {
  readonly requestMs: number;
  readonly batchMs: number;
  readonly answerMs: number;
}

/**
 * Answers of a batch are written one after the other, so each of B waits (B + 1) / 2 answers in the
 * mean until its own is written. A batch takes what sending one took; all else is the request's,
 * what its queries take among it: there are as many of them however batches are made.
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

/** What more bytes take, 0 where nothing was sent with more. */
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
