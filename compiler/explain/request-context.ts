/** What went on in the server while one request was in it, from the other lines of the log. */
import type { LoggedRequest } from "./logged-request.ts";
import { BatchBook, busyWorkersMs, type SeenBatch } from "./ran-batches.ts";
import { criticalRuns } from "./steps.ts";

export interface RequestContext {
  /** That came before it and that nothing had been decided for when it came. */
  readonly ahead: { readonly requests: number; readonly rows: number };
  /** Rows that came in the half second before its last decision, per second; null without one. */
  readonly loadQps: number | null;
  /** Batches that ran while it waited, in the order of their starts, not its own. */
  readonly batchesBefore: readonly SeenBatch[];
  /** While it waited: how long fewer workers than there are were busy, ms. */
  readonly idleMs: number;
  /** Workers lost under other requests while it was there. */
  readonly lost: number;
  /** The longest time in which nothing began or ended while it was there, ms. */
  readonly silence: { readonly fromMs: number; readonly ms: number };
  /** Whether there were more lines than are kept for this. */
  readonly isCut: boolean;
}

/** As long as the server's monitor looks back. */
const LOAD_WINDOW_MS = 500;
/** Lines that are kept, and so the memory that one request takes. */
const MAX_KEPT = 200_000;

/** Gathers the requests that were in the server with one of them. */
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

/** When the first batch with a row of it was decided, or it was given up. */
function decidedOf(request: LoggedRequest): number {
  const decided = request.runs.flatMap(({ decidedMs }) => decidedMs ?? []);
  const first = decided.length === 0 ? (request.failedMs ?? request.totalMs) : Math.min(...decided);
  return request.timeMs + first;
}

/** From when its first batch was waited for until its last was decided, or it was given up. */
function waitOf(request: LoggedRequest): { readonly fromMs: number; readonly toMs: number } {
  const { timeMs, readMs, failedMs, totalMs } = request;
  const last = criticalRuns(request.runs).at(-1);
  const toMs = timeMs + (last?.decidedMs ?? failedMs ?? totalMs);
  return { fromMs: Math.min(timeMs + (readMs ?? 0), toMs), toMs };
}

/** What the server's monitor saw, as far as the log tells. */
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

/** When the server did something for a request. */
function momentsOf(request: LoggedRequest): number[] {
  const { timeMs, readMs, failedMs, totalMs, runs } = request;
  const since = [0, readMs, failedMs, totalMs];
  for (const { decidedMs, handedMs, doneMs } of runs) since.push(decidedMs, handedMs, doneMs);
  return since.filter((ms) => ms !== null).map((ms) => timeMs + ms);
}
