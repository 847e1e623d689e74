/**
 * Clockwork as a peer: the largest full batch of queries in time, at once.
 *
 * One variant, chosen by the operator. A worker never waits for more queries, and gets its next
 * batch a little before it finishes the current one. Source: Gujarati et al., "Serving DNNs like
 * Clockwork: Performance Predictability from the Bottom Up", OSDI 2020.
 */
import {
  type CommandBuffer,
  DROP_LATE,
  DROP_QUEUE_FULL,
} from "stratagem-runtime/internal/core/command-buffer";
import { DeadlineQueues } from "stratagem-runtime/internal/core/queue";
import type { Peer, PeerSetting, SimulatedDispatcher } from "./peer.ts";
import {
  type PeerCluster,
  type PeerVariant,
  QUEUE_CAPACITY,
  timelyVariants,
  variantForLoad,
} from "./peer-cluster.ts";

interface Margins {
  /** Time before a worker is free at which its next batch is chosen. */
  readonly aheadMs: number;
  /** Deadlines are earlier by this for the scheduler. */
  readonly reserveMs: number;
}

const PAPER_MARGINS: Margins = { aheadMs: 10, reserveMs: 5 };
/** They compensate for a network, which the simulated cluster does not have. */
const NO_MARGINS: Margins = { aheadMs: 0, reserveMs: 0 };

export const clockwork: Peer = {
  paper: (cluster) => settingOf(cluster, variantForLoad(cluster), PAPER_MARGINS),
  tunings: (cluster) =>
    timelyVariants(cluster).flatMap((variant) =>
      [PAPER_MARGINS, NO_MARGINS].map((margins) => settingOf(cluster, variant, margins)),
    ),
};

function settingOf(cluster: PeerCluster, variant: PeerVariant, margins: Margins): PeerSetting {
  return {
    parameters: { variant: variant.name, ...margins },
    open: () => new ClockworkDispatcher(cluster, variant, margins),
  };
}

/**
 * The paper has a queue per batch size and every request in all of them; requests leave a queue
 * when its batch would make them late. With one SLO these are suffixes of a single queue, from the
 * first request that such a batch serves in time, so only that is kept.
 */
class ClockworkDispatcher implements SimulatedDispatcher {
  readonly workerCount: number;
  readonly waitingCapacity: number;
  readonly commandCapacity: number;
  wakeMs = Number.POSITIVE_INFINITY;
  readonly #variant: PeerVariant;
  readonly #margins: Margins;
  readonly #largestBatch: number;
  readonly #times: RunTimes;
  readonly #queues = new DeadlineQueues(1, QUEUE_CAPACITY);
  /** Expected end of the worker's current batch; minus infinity if it is idle. */
  readonly #freeAtMs: Float64Array;
  /** Size and start of the worker's current batch. */
  readonly #batchByWorker: Uint32Array;
  readonly #startMsByWorker: Float64Array;
  /**
   * Next batch of a worker, shape (workerCount, largestBatch), with its size; 0 if it is not
   * chosen.
   */
  readonly #nextQueries: Uint32Array;
  readonly #nextBatch: Uint32Array;

  constructor(cluster: PeerCluster, variant: PeerVariant, margins: Margins) {
    const { workerCount, largestBatch } = cluster;
    this.workerCount = workerCount;
    this.waitingCapacity = QUEUE_CAPACITY + workerCount * largestBatch;
    this.commandCapacity = QUEUE_CAPACITY + workerCount;
    this.#variant = variant;
    this.#margins = margins;
    this.#largestBatch = largestBatch;
    this.#times = new RunTimes(variant.serviceMs);
    this.#freeAtMs = new Float64Array(workerCount).fill(Number.NEGATIVE_INFINITY);
    this.#batchByWorker = new Uint32Array(workerCount);
    this.#startMsByWorker = new Float64Array(workerCount);
    this.#nextQueries = new Uint32Array(workerCount * largestBatch);
    this.#nextBatch = new Uint32Array(workerCount);
  }

  onArrival(query: number, deadlineMs: number, nowMs: number, out: CommandBuffer): void {
    if (this.#queues.length(0) === QUEUE_CAPACITY) {
      out.drop(0, query, DROP_QUEUE_FULL);
      return;
    }
    this.#queues.insert(0, query, deadlineMs - this.#margins.reserveMs);
    this.#schedule(nowMs, out);
  }

  onBatchDone(worker: number, nowMs: number, out: CommandBuffer): void {
    this.#times.record(
      this.#batchByWorker[worker] ?? 0,
      nowMs - (this.#startMsByWorker[worker] ?? 0),
    );
    this.#freeAtMs[worker] = Number.NEGATIVE_INFINITY;
    const batch = this.#nextBatch[worker] ?? 0;
    if (batch > 0) {
      this.#nextBatch[worker] = 0;
      this.#start(worker, batch, nowMs, out);
      const start = worker * this.#largestBatch;
      for (let place = start; place < start + batch; place++) {
        out.appendQuery(this.#nextQueries[place] ?? 0);
      }
    }
    this.#schedule(nowMs, out);
  }

  onWake(nowMs: number, out: CommandBuffer): void {
    this.#schedule(nowMs, out);
  }

  /** Gives batches to the workers that are free, or will be so soon, the earliest first. */
  #schedule(nowMs: number, out: CommandBuffer): void {
    this.wakeMs = Number.POSITIVE_INFINITY;
    while (this.#queues.length(0) > 0) {
      const worker = this.#nextFree();
      if (worker < 0) return;
      const freeAtMs = this.#freeAtMs[worker] ?? Number.NaN;
      const scheduleMs = freeAtMs - this.#margins.aheadMs;
      if (scheduleMs > nowMs) {
        this.wakeMs = scheduleMs;
        return;
      }
      const batch = this.#largestFull(Math.max(nowMs, freeAtMs), out);
      if (batch > 0) this.#assign(worker, batch, nowMs, out);
    }
  }

  /**
   * Finds the worker that is free first among those with nothing to run next; ties go to the first,
   * −1 without one.
   */
  #nextFree(): number {
    let best = -1;
    let bestMs = Number.POSITIVE_INFINITY;
    for (let worker = 0; worker < this.workerCount; worker++) {
      const freeAtMs = this.#freeAtMs[worker] ?? Number.NaN;
      if (this.#nextBatch[worker] !== 0 || freeAtMs >= bestMs) continue;
      best = worker;
      bestMs = freeAtMs;
    }
    return best;
  }

  /**
   * Drops the queries before the largest batch that is full of queries in time. Sizes are tried
   * upwards until one is not full.
   * @returns its size, 0 if nothing is in time.
   */
  #largestFull(freeAtMs: number, out: CommandBuffer): number {
    const queues = this.#queues;
    const queued = queues.length(0);
    let full = 0;
    // A query that misses even a batch of one is in no queue.
    let first = this.#firstInTime(freeAtMs + this.#times.estimateMs(1));
    for (let batch = 1; batch <= this.#largestBatch; batch++) {
      const position = this.#firstInTime(freeAtMs + this.#times.estimateMs(batch));
      if (queued - position < batch) break;
      full = batch;
      first = position;
    }
    for (let dropped = 0; dropped < first; dropped++) out.drop(0, queues.take(0), DROP_LATE);
    return full;
  }

  /**
   * Position of the first query whose deadline is not before a time; the length of the queue
   * without one.
   */
  #firstInTime(endMs: number): number {
    let low = 0;
    let high = this.#queues.length(0);
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#queues.deadlineMs(0, middle) < endMs) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #assign(worker: number, batch: number, nowMs: number, out: CommandBuffer): void {
    const isIdle = this.#freeAtMs[worker] === Number.NEGATIVE_INFINITY;
    if (isIdle) this.#start(worker, batch, nowMs, out);
    else this.#nextBatch[worker] = batch;
    const start = worker * this.#largestBatch;
    for (let taken = 0; taken < batch; taken++) {
      const query = this.#queues.take(0);
      if (isIdle) out.appendQuery(query);
      else this.#nextQueries[start + taken] = query;
    }
  }

  /** Opens the command; its queries follow. */
  #start(worker: number, batch: number, nowMs: number, out: CommandBuffer): void {
    out.startBatch(worker, this.#variant.index, 0);
    this.#batchByWorker[worker] = batch;
    this.#startMsByWorker[worker] = nowMs;
    this.#freeAtMs[worker] = nowMs + this.#times.estimateMs(batch);
  }
}

/** Number of recent batches measured for each size of a variant. */
const RUNS = 10;

/**
 * The 99th percentile of the last ten runs, which is the slowest of them. Until ten have been
 * measured the profile is used for the others.
 */
class RunTimes {
  /** Shape (largestBatch, RUNS). */
  readonly #runMs: Float64Array;
  readonly #nextByBatch: Uint8Array;
  readonly #estimateMs: Float64Array;

  /** @param serviceMs of the profile, by batch size less one. */
  constructor(serviceMs: Float64Array) {
    this.#runMs = Float64Array.from(
      { length: serviceMs.length * RUNS },
      (_, cell) => serviceMs[Math.floor(cell / RUNS)] ?? Number.NaN,
    );
    this.#nextByBatch = new Uint8Array(serviceMs.length);
    this.#estimateMs = serviceMs.slice();
  }

  /**
   * @param batch at least 1.
   * @returns infinity beyond the largest.
   */
  estimateMs(batch: number): number {
    return this.#estimateMs[batch - 1] ?? Number.POSITIVE_INFINITY;
  }

  record(batch: number, ms: number): void {
    const start = (batch - 1) * RUNS;
    const next = this.#nextByBatch[batch - 1] ?? 0;
    this.#runMs[start + next] = ms;
    this.#nextByBatch[batch - 1] = (next + 1) % RUNS;
    let slowestMs = 0;
    for (let run = start; run < start + RUNS; run++) {
      slowestMs = Math.max(slowestMs, this.#runMs[run] ?? 0);
    }
    this.#estimateMs[batch - 1] = slowestMs;
  }
}
