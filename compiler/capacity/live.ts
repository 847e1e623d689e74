/**
 * Capacity of a running server: the search sends open-loop load from a process of its own. A
 * machine varies over minutes, so trials of a load alternate with those at the other end.
 */
import { RuntimeError } from "stratagem-runtime/internal/base/errors";
import { inspectServer } from "stratagem-runtime/internal/commands/inspect-server";
import { beatMsOf } from "stratagem-runtime/internal/core/beat";
import type { LiveDocument } from "stratagem-runtime/internal/features/live-page/live";
import type { Window } from "../processes/level-request.ts";
import { LoadClient } from "../truth/load-client.ts";
import type { LoadContent, LoadOrder, SentRequests } from "../truth/load-messages.ts";
import { type Capacity, searchCapacity } from "./search.ts";

export interface LiveOptions {
  readonly url: string;
  /** Null for those that the server states. */
  readonly sloMs: number | null;
  readonly limit: number | null;
  readonly confidence: number;
  readonly durationMs: number;
  readonly content: LoadContent;
}

export interface LiveSurroundings {
  readonly signal: AbortSignal;
  /** Monotonic clock, ms. */
  readonly nowMs: () => number;
  readonly onProgress: (done: number, total: number, stage?: string) => void;
}

export interface LiveCapacity {
  readonly model: string;
  readonly sloMs: number;
  readonly limit: number;
  readonly seconds: number;
  readonly capacity: Capacity;
}

/** Machines vary more than simulations. */
const STEP = 1.08;
const TRIALS = [3, 12] as const;
const WINDOWS = 8;
/** Parts of the whole duration that trials take. */
const BRIEF_PART = 1 / 48;
const TRIAL_PART = 1 / 30;
/** Uncounted part before a trial, for the queue and the level of the server to settle. */
const LEAD_IN_PART = 0.3;
/** Load before the first trial: a full one would leave a queue, and workers that seem slow. */
const WARM_UP_MS = 3000;
const WARM_UP_PART = 0.5;
/** First load for a server that states no levels. */
const UNKNOWN_QPS = 20;
/** Time after its SLO, at least, until a request is given up: a trial ends with its last answer. */
const GRACE_MS = 1000;
const DEFAULT_LIMIT = 0.01;

interface Server {
  readonly sloMs: number;
  readonly limit: number;
  readonly startQps: number;
  readonly hasClasses: boolean;
}

/** @throws RuntimeError for a server that cannot be loaded, InputError for the contents. */
export async function liveCapacity(
  options: LiveOptions,
  around: LiveSurroundings,
): Promise<LiveCapacity> {
  const server = await serverAt(options);
  const { nowMs, signal, onProgress } = around;
  const load = new LoadClient(signal);
  const startMs = nowMs();
  try {
    const order = orderOf(options, server);
    onProgress(0, Math.ceil(options.durationMs / 1000), "warming up the server");
    const warm = order(WARM_UP_PART * server.startQps, WARM_UP_MS);
    const first = await load.send({ ...warm, leadInMs: 0 }, () => {});
    const { model } = first.result;
    const capacity = await searched(options, server, around, load, order, startMs);
    const { sloMs, limit } = server;
    return { model, sloMs, limit, capacity, seconds: (nowMs() - startMs) / 1000 };
  } finally {
    await load.close();
  }
}

type OrderOf = (loadQps: number, durationMs: number) => LoadOrder;

async function searched(
  { confidence, durationMs }: LiveOptions,
  { sloMs, limit, startQps }: Server,
  { nowMs, signal, onProgress }: LiveSurroundings,
  load: LoadClient,
  order: OrderOf,
  startMs: number,
): Promise<Capacity> {
  const known = { startQps, belowQps: Number.POSITIVE_INFINITY, limit, confidence };
  const search = searchCapacity({ ...known, step: STEP, trials: TRIALS });
  let step = search.next();
  // The seed after each is that of its lead-in.
  for (let seed = 1; !step.done; seed += 2) {
    const { loadQps, isBrief } = step.value;
    const ofMs = durationMs * (isBrief ? BRIEF_PART : TRIAL_PART);
    const elapsedMs = nowMs() - startMs;
    const total = Math.ceil(durationMs / 1000);
    onProgress(Math.floor(elapsedMs / 1000), total, `${loadQps} requests/s`);
    const asked = { ...order(loadQps, ofMs), seed };
    const isOver = elapsedMs + asked.leadInMs + ofMs > durationMs;
    const done = isOver ? null : await load.send(asked, () => {}).catch(nullIf(signal));
    const windows = done === null ? null : windowsOf(done.sent, ofMs, sloMs);
    step = search.next(windows);
  }
  return step.value;
}

function nullIf(signal: AbortSignal): (error: unknown) => null {
  return (error) => {
    if (signal.aborted) return null;
    throw error;
  };
}

function orderOf({ url, content, durationMs }: LiveOptions, server: Server): OrderOf {
  const { sloMs, hasClasses } = server;
  return (loadQps, ofMs) => ({
    ...{ url, content, hasClasses, sloMs, durationMs: ofMs, seed: 1 },
    arrivals: { kind: "poisson", qps: loadQps },
    warmUpQueries: 0,
    warmUpLimitMs: WARM_UP_MS,
    leadInMs: Math.min(beatMsOf({ latencyMs: sloMs }), LEAD_IN_PART * ofMs, durationMs / 20),
    timeoutMs: sloMs + Math.max(sloMs, GRACE_MS),
  });
}

/** Counts requests by their scheduled arrival. */
function windowsOf(sent: SentRequests, durationMs: number, sloMs: number): Window[] {
  const windows = Array.from({ length: WINDOWS }, () => {
    return { queries: 0, late: 0, serverLate: 0, slow: 0 };
  });
  const { scheduledMs, sentMs, endMs, isAnswered } = sent;
  for (const [index, arrivalMs] of scheduledMs.entries()) {
    const window = windows[Math.floor((arrivalMs * WINDOWS) / durationMs)];
    if (window === undefined) continue;
    const own = sent.sloMs[index] ?? sloMs;
    const limitMs = Number.isFinite(own) ? own : sloMs;
    const end = isAnswered[index] === 1 ? (endMs[index] ?? Number.NaN) : Number.NaN;
    window.queries++;
    if (!(end - arrivalMs <= limitMs)) window.late++;
    if (!(end - (sentMs[index] ?? 0) <= limitMs)) window.serverLate++;
    if (!(end - arrivalMs <= limitMs / 2)) window.slow++;
  }
  return windows;
}

/** Null for a server without the document of a live page. */
async function liveDocument(url: string): Promise<LiveDocument | null> {
  try {
    return (await inspectServer(url)).json as LiveDocument;
  } catch (error) {
    if (error instanceof RuntimeError) return null;
    throw error;
  }
}

/** @throws RuntimeError RUNTIME_USAGE without an SLO. */
async function serverAt({ url, sloMs, limit }: LiveOptions): Promise<Server> {
  const application = (await liveDocument(url))?.applications[0];
  const stated = application?.slo;
  const own = sloMs ?? stated?.latencyMs;
  if (own === undefined) {
    const message = `expected --slo for ${url}, which is no server of Stratagem that states one`;
    throw new RuntimeError("RUNTIME_USAGE", message);
  }
  const levels = application?.levels.filter(({ pace, feasible }) => feasible && pace === 1) ?? [];
  return {
    sloMs: own,
    limit: limit ?? stated?.maxViolationRate ?? DEFAULT_LIMIT,
    startQps: levels.at(-1)?.loadQps ?? UNKNOWN_QPS,
    hasClasses: sloMs === null && (application?.classes.length ?? 0) > 0,
  };
}
