/**
 * Symphony as a peer: batches are deferred until one more query would make them late.
 *
 * One variant, chosen by the operator; only a batch that has waited so long takes a worker. Source:
 * Chen et al., "Symphony: Optimized DNN Model Serving using Deferred Batch Scheduling", arXiv
 * 2308.07470.
 */
import { beatMsOf } from "stratagem-runtime/internal/core/beat";
import {
  type CommandBuffer,
  DROP_LATE,
  DROP_QUEUE_FULL,
} from "stratagem-runtime/internal/core/command-buffer";
import { LoadMonitor } from "stratagem-runtime/internal/core/load-monitor";
import { DeadlineQueues } from "stratagem-runtime/internal/core/queue";
import { largestWithin } from "../baseline-bundle.ts";
import { IdleWorkers } from "./idle-workers.ts";
import type { Peer, PeerSetting, SimulatedDispatcher } from "./peer.ts";
import {
  type PeerCluster,
  type PeerVariant,
  QUEUE_CAPACITY,
  serviceMsOf,
  timelyVariants,
  variantForLoad,
} from "./peer-cluster.ts";

/**
 * Delays of the paper's cluster in addition to the batch: the scheduler's message, the inputs of
 * each query, and the answers.
 */
interface Delays {
  readonly controlMs: number;
  readonly dataMsPerQuery: number;
  readonly responseMs: number;
}

const PAPER_DELAYS: Delays = { controlMs: 0.1, dataMsPerQuery: 0.05, responseMs: 2 };
/** The simulated cluster has no network, so they would only be a reserve. */
const NO_DELAYS: Delays = { controlMs: 0, dataMsPerQuery: 0, responseMs: 0 };

/**
 * A wait ends a nanosecond early: differences of times are rounded, and a batch that waited as long
 * as possible must not be late.
 */
const ROUNDING_MS = 1e-6;

export const symphony: Peer = {
  paper: (cluster) => settingOf(cluster, variantForLoad(cluster), PAPER_DELAYS),
  tunings: (cluster) =>
    timelyVariants(cluster).flatMap((variant) =>
      [PAPER_DELAYS, NO_DELAYS].map((delays) => settingOf(cluster, variant, delays)),
    ),
};

function settingOf(cluster: PeerCluster, variant: PeerVariant, delays: Delays): PeerSetting {
  return {
    parameters: { variant: variant.name, ...delays },
    open: () => new SymphonyDispatcher(cluster, variant, delays),
  };
}

class SymphonyDispatcher implements SimulatedDispatcher {
  readonly workerCount: number;
  readonly waitingCapacity = QUEUE_CAPACITY;
  readonly commandCapacity: number;
  wakeMs = Number.POSITIVE_INFINITY;
  readonly #variant: PeerVariant;
  readonly #delays: Delays;
  readonly #sloMs: number;
  readonly #largestBatch: number;
  readonly #queues = new DeadlineQueues(1, QUEUE_CAPACITY);
  readonly #idle: IdleWorkers;
  readonly #monitor: LoadMonitor;

  constructor(cluster: PeerCluster, variant: PeerVariant, delays: Delays) {
    this.workerCount = cluster.workerCount;
    this.#monitor = new LoadMonitor(beatMsOf({ latencyMs: cluster.sloMs }));
    this.commandCapacity = QUEUE_CAPACITY + cluster.workerCount;
    this.#variant = variant;
    this.#delays = delays;
    this.#sloMs = cluster.sloMs;
    this.#largestBatch = cluster.largestBatch;
    this.#idle = new IdleWorkers(cluster.workerCount);
  }

  onArrival(query: number, deadlineMs: number, nowMs: number, out: CommandBuffer): void {
    const { responseMs } = this.#delays;
    if (this.#queues.length(0) === QUEUE_CAPACITY) out.drop(0, query, DROP_QUEUE_FULL);
    else this.#queues.insert(0, query, deadlineMs - responseMs);
    this.#startBatches(nowMs, out);
    this.#monitor.recordArrival(nowMs);
  }

  onBatchDone(worker: number, nowMs: number, out: CommandBuffer): void {
    this.#idle.free(worker);
    this.#startBatches(nowMs, out);
  }

  onWake(nowMs: number, out: CommandBuffer): void {
    this.#startBatches(nowMs, out);
  }

  /**
   * Grants free workers to the current candidate. While none is free the candidate is parked: it is
   * computed again when one is, from the queries waiting then, and drops queries only then.
   */
  #startBatches(nowMs: number, out: CommandBuffer): void {
    const queues = this.#queues;
    this.wakeMs = Number.POSITIVE_INFINITY;
    while (this.#idle.count > 0 && queues.length(0) > 0) {
      const batch = this.#candidate(nowMs, out);
      if (batch === 0) return;
      const untilMs = this.#waitUntilMs(batch);
      if (untilMs > nowMs) {
        this.wakeMs = untilMs;
        return;
      }
      out.startBatch(this.#idle.take(), this.#variant.index, 0);
      for (let taken = 0; taken < batch; taken++) out.appendQuery(queues.take(0));
    }
  }

  /**
   * Drops the queries that prevent a batch of the target size.
   * @returns the size of the batch that the first of the queue make now.
   */
  #candidate(nowMs: number, out: CommandBuffer): number {
    const queues = this.#queues;
    const suffix = this.#suffix(nowMs);
    let batch = Math.min(this.#target(nowMs), suffix);
    let prefix = queues.length(0) - suffix;
    // If nothing is in time the whole queue is the prefix.
    const endMs = this.#endMs(Math.max(1, batch), nowMs);
    while (prefix > 0 && queues.earliestDeadlineMs(0) < endMs) {
      out.drop(0, queues.take(0), DROP_LATE);
      prefix--;
    }
    if (batch === 0) return 0;
    const queued = queues.length(0);
    const deadlineMs = queues.earliestDeadlineMs(0);
    while (batch < queued && this.#endMs(batch + 1, nowMs) <= deadlineMs) batch++;
    return batch;
  }

  /**
   * Number of the last queries in the queue that could make a separate batch in time: at most the
   * largest batch.
   */
  #suffix(nowMs: number): number {
    const queues = this.#queues;
    const queued = queues.length(0);
    const largest = Math.min(queued, this.#largestBatch);
    let suffix = 0;
    while (suffix < largest) {
      const deadlineMs = queues.deadlineMs(0, queued - suffix - 1);
      if (deadlineMs < this.#endMs(suffix + 1, nowMs)) break;
      suffix++;
    }
    return suffix;
  }

  /**
   * The batch size for the rate: each of n workers starts such a batch in turn, and a query waits
   * at most a turn for its worker.
   */
  #target(nowMs: number): number {
    const { serviceMs } = this.#variant;
    const perMs = this.#monitor.loadQps(nowMs) / 1000;
    if (!(perMs > 0)) return Math.max(1, largestWithin(serviceMs, this.#sloMs / 2));
    for (let batch = this.#largestBatch; batch > 1; batch--) {
      const ms = serviceMsOf(this.#variant, batch);
      const workers = (perMs * ms) / batch;
      const limitMs = this.#sloMs - this.#delays.dataMsPerQuery * batch;
      const turnMs = workers > 1 ? ms / workers : batch / perMs;
      if (ms + turnMs <= (workers > 1 ? limitMs : this.#sloMs)) return batch;
    }
    return 1;
  }

  /** The last time at which one more query could still join; in the past if that is over. */
  #waitUntilMs(batch: number): number {
    const queues = this.#queues;
    if (batch < queues.length(0) || batch === this.#largestBatch) return Number.NEGATIVE_INFINITY;
    const { controlMs, dataMsPerQuery } = this.#delays;
    const deadlineMs = queues.earliestDeadlineMs(0);
    const largerMs = deadlineMs - serviceMsOf(this.#variant, batch + 1) - dataMsPerQuery;
    const lastMs = deadlineMs - serviceMsOf(this.#variant, batch);
    return Math.min(largerMs, lastMs) - controlMs - dataMsPerQuery * batch - ROUNDING_MS;
  }

  /** End of a batch that starts now. */
  #endMs(batch: number, nowMs: number): number {
    const { controlMs, dataMsPerQuery } = this.#delays;
    return nowMs + controlMs + dataMsPerQuery * batch + serviceMsOf(this.#variant, batch);
  }
}
