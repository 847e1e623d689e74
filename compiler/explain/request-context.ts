/** Activity in the server while one request was in it, from the other lines of the log. */
import type { LoggedRequest } from "./logged-request.ts";
import { BatchBook, busyWorkersMs, type SeenBatch } from "./ran-batches.ts";
import { criticalRuns } from "./steps.ts";

export interface RequestContext {
  /** Requests that arrived earlier and were still undecided at its arrival. */
  readonly ahead: { readonly requests: number; readonly rows: number };
  /**
   * Arrival rate in the half second before its last decision, rows per second; null without a
   * decision.
   */
  readonly loadQps: number | null;
  /** Other batches that ran while it waited, in order of their starts. */
  readonly batchesBefore: readonly SeenBatch[];
  /** Time in its wait during which a worker was idle, ms. */
  readonly idleMs: number;
  /** Workers lost under other requests while it was in the server. */
  readonly lost: number;
  /** Longest interval without any event while it was in the server, ms. */
  readonly silence: { readonly fromMs: number; readonly ms: number };
  /** True if the log had more concurrent lines than are kept. */
  readonly isCut: boolean;
}

/** Window of the server's load monitor. */
const LOAD_WINDOW_MS = 500;
/** Bound on the lines kept for one request, and so on memory. */
const MAX_KEPT = 200_000;

/** Collects the requests that were in the server together with one request. */
export class ContextGatherer {
  readonly #request: LoggedRequest;
  readonly #workerCount: number;
  readonly #others: LoggedRequest[] = [];
  #isCut = false;

  constructor(request: LoggedRequest, workerCount: number) {
    this.#request = request;
    this.#workerCount = workerCount;
  }

  take(other: LoggedRequest): void {
    const { timeMs, totalMs, id } = this.#request;
    if (other.timeMs > timeMs + totalMs || endOf(other) < timeMs - LOAD_WINDOW_MS) return;
    if (other.id === id && other.timeMs === timeMs) return;
    if (this.#others.length < MAX_KEPT) this.#others.push(other);
    else this.#isCut = true;
  }

  context(): RequestContext {
    const request = this.#request;
    const others = this.#others;
    const { fromMs, toMs } = waitOf(request);
    const book = new BatchBook();
    book.newOf(request);
    const batches = others.flatMap((other) => book.newOf(other));
    const during = batches
      .filter(({ startMs, endMs }) => startMs < toMs && endMs > fromMs)
      .sort((a, b) => a.startMs - b.startMs);
    const busyMs = busyWorkersMs(batches, fromMs, toMs);
    let idleMs = 0;
    for (const [busy, ms] of busyMs) if (busy < this.#workerCount) idleMs += ms;
    const ahead = others.filter((other) => {
      return other.timeMs < request.timeMs && decidedOf(other) > request.timeMs;
    });
    return {
      ahead: { requests: ahead.length, rows: ahead.reduce((sum, { rows }) => sum + rows, 0) },
      loadQps: loadOf(request, others, toMs),
      batchesBefore: during,
      idleMs,
      lost: batches.filter(({ run, endMs }) => run.isLost && endMs >= request.timeMs).length,
      silence: silenceOf(request, others),
      isCut: this.#isCut,
    };
  }
}

function endOf({ timeMs, totalMs }: LoggedRequest): number {
  return timeMs + totalMs;
}

/** Time when the first batch with one of its rows was decided, or it was given up. */
function decidedOf(request: LoggedRequest): number {
  const decided = request.runs.flatMap(({ decidedMs }) => decidedMs ?? []);
  const first = decided.length === 0 ? (request.failedMs ?? request.totalMs) : Math.min(...decided);
  return request.timeMs + first;
}

/**
 * Interval from its arrival in the queue to the decision of its last batch, or until it was given
 * up.
 */
function waitOf(request: LoggedRequest): { readonly fromMs: number; readonly toMs: number } {
  const { timeMs, readMs, failedMs, totalMs } = request;
  const last = criticalRuns(request.runs).at(-1);
  const toMs = timeMs + (last?.decidedMs ?? failedMs ?? totalMs);
  return { fromMs: Math.min(timeMs + (readMs ?? 0), toMs), toMs };
}

/** Estimates what the server's load monitor measured, from the log. */
function loadOf(
  request: LoggedRequest,
  others: readonly LoggedRequest[],
  toMs: number,
): number | null {
  let rows = 0;
  for (const { timeMs, rows: own } of [request, ...others]) {
    if (timeMs > toMs - LOAD_WINDOW_MS && timeMs <= toMs) rows += Math.max(1, own);
  }
  return rows === 0 ? null : (rows * 1000) / LOAD_WINDOW_MS;
}

function silenceOf(
  request: LoggedRequest,
  others: readonly LoggedRequest[],
): RequestContext["silence"] {
  const beginMs = request.timeMs;
  const endMs = endOf(request);
  const times = [request, ...others].flatMap(momentsOf).filter((ms) => ms > beginMs && ms < endMs);
  times.push(beginMs, endMs);
  times.sort((a, b) => a - b);
  let silence = { fromMs: beginMs, ms: 0 };
  for (let index = 1; index < times.length; index++) {
    const fromMs = times[index - 1] ?? 0;
    const ms = (times[index] ?? 0) - fromMs;
    if (ms > silence.ms) silence = { fromMs, ms };
  }
  return silence;
}

/** Times of all server events for a request. */
function momentsOf(request: LoggedRequest): number[] {
  const { timeMs, readMs, failedMs, totalMs, runs } = request;
  const since = [0, readMs, failedMs, totalMs];
  for (const { decidedMs, handedMs, doneMs } of runs) since.push(decidedMs, handedMs, doneMs);
  return since.filter((ms) => ms !== null).map((ms) => timeMs + ms);
}
