/** Reconstructs the batches that a server ran from the requests that were in them. */
import type { LoggedRequest, LoggedRun } from "./logged-request.ts";

/** Times are ms since 1970. */
export interface SeenBatch {
  readonly run: LoggedRun;
  /** Class or bucket of the first request that listed the batch. */
  readonly kind: string | null;
  readonly startMs: number;
  readonly endMs: number;
}

/**
 * Start times of one batch, logged in microseconds, differ by less; two batches of a worker by
 * more.
 */
const SAME_MS = 0.02;
/**
 * Most recent batches of a worker to which further requests may belong: lines are in order of their
 * ends.
 */
const OPEN_BATCHES = 64;

/** Recognizes a batch by its worker and its start time. */
export class BatchBook {
  readonly #lastByWorker = new Map<string, SeenBatch[]>();

  /** Returns the batches of a request that no earlier request listed. */
  newOf({ runs, timeMs, kind }: LoggedRequest): SeenBatch[] {
    const found: SeenBatch[] = [];
    for (const run of runs) {
      const { decidedMs, doneMs } = run;
      if (decidedMs === null || doneMs === null) continue;
      const batch = { run, kind, startMs: timeMs + decidedMs, endMs: timeMs + doneMs };
      if (this.#isNew(batch)) found.push(batch);
    }
    return found;
  }

  #isNew(batch: SeenBatch): boolean {
    const key = workersOf(batch.run);
    const known = this.#lastByWorker.get(key) ?? [];
    const isKnown = known.some(({ startMs, run }) => {
      const isThen = Math.abs(startMs - batch.startMs) < SAME_MS;
      return isThen && run.variant === batch.run.variant && run.task === batch.run.task;
    });
    if (isKnown) return false;
    known.push(batch);
    if (known.length > OPEN_BATCHES) known.shift();
    this.#lastByWorker.set(key, known);
    return true;
  }
}

function workersOf({ worker, places }: LoggedRun): string {
  return places === null ? String(worker) : places.join();
}

/** Measures how long each number of workers was busy in an interval. @returns ms, by number. */
export function busyWorkersMs(
  batches: readonly SeenBatch[],
  fromMs: number,
  toMs: number,
): Map<number, number> {
  const edges: { readonly atMs: number; readonly change: number }[] = [];
  for (const { startMs, endMs, run } of batches) {
    const begin = Math.max(startMs, fromMs);
    const end = Math.min(endMs, toMs);
    if (begin >= end) continue;
    const change = run.places?.length ?? 1;
    edges.push({ atMs: begin, change }, { atMs: end, change: -change });
  }
  edges.sort((a, b) => a.atMs - b.atMs);
  const msByCount = new Map<number, number>();
  let busy = 0;
  let atMs = fromMs;
  for (const edge of [...edges, { atMs: toMs, change: 0 }]) {
    const forMs = edge.atMs - atMs;
    if (forMs > 0) msByCount.set(busy, (msByCount.get(busy) ?? 0) + forMs);
    busy += edge.change;
    atMs = edge.atMs;
  }
  return msByCount;
}
