/**
 * Nexus as a peer: batches of a fixed size, and early drops.
 *
 * One variant, chosen by the operator. Queries are dealt to the workers in turn; each drops the
 * queries that its next batch would make late. Source: Shen et al., "Nexus: A GPU Cluster Engine
 * for Accelerating DNN-Based Video Analysis", SOSP 2019.
 */
import {
  type CommandBuffer,
  DROP_LATE,
  DROP_QUEUE_FULL,
} from "stratagem-runtime/internal/core/command-buffer";
import { DeadlineQueues } from "stratagem-runtime/internal/core/queue";
import { largestWithin } from "../baseline-bundle.ts";
import type { Peer, PeerSetting, SimulatedDispatcher } from "./peer.ts";
import {
  type PeerCluster,
  type PeerVariant,
  serviceMsOf,
  timelyVariants,
  variantForLoad,
  WORKER_QUEUE_CAPACITY,
} from "./peer-cluster.ts";

/**
 * A query that just misses a batch waits for it and is served by the next, so a batch may take half
 * the SLO.
 */
const BATCH_SHARE = 1 / 2;
const TRIED_SHARES = [1 / 2, 3 / 4, 1];

export const nexus: Peer = {
  paper: (cluster) => settingOf(cluster, variantForLoad(cluster), BATCH_SHARE),
  tunings: (cluster) =>
    timelyVariants(cluster).flatMap((variant) =>
      TRIED_SHARES.map((share) => settingOf(cluster, variant, share)),
    ),
};

function settingOf(cluster: PeerCluster, variant: PeerVariant, share: number): PeerSetting {
  const batch = Math.max(1, largestWithin(variant.serviceMs, share * cluster.sloMs));
  return {
    parameters: { variant: variant.name, batch },
    open: () => new NexusDispatcher(cluster.workerCount, variant, batch),
  };
}

class NexusDispatcher implements SimulatedDispatcher {
  readonly workerCount: number;
  readonly waitingCapacity: number;
  readonly commandCapacity = WORKER_QUEUE_CAPACITY + 1;
  readonly wakeMs = Number.POSITIVE_INFINITY;
  readonly #variant: PeerVariant;
  readonly #batch: number;
  readonly #queues: DeadlineQueues;
  readonly #isBusy: Uint8Array;
  #nextWorker = 0;

  constructor(workerCount: number, variant: PeerVariant, batch: number) {
    this.workerCount = workerCount;
    this.waitingCapacity = workerCount * WORKER_QUEUE_CAPACITY;
    this.#variant = variant;
    this.#batch = batch;
    this.#queues = new DeadlineQueues(workerCount, WORKER_QUEUE_CAPACITY);
    this.#isBusy = new Uint8Array(workerCount);
  }

  onArrival(query: number, deadlineMs: number, nowMs: number, out: CommandBuffer): void {
    const worker = this.#nextWorker;
    this.#nextWorker = (worker + 1) % this.workerCount;
    if (this.#queues.length(worker) === WORKER_QUEUE_CAPACITY) {
      out.drop(worker, query, DROP_QUEUE_FULL);
      return;
    }
    this.#queues.insert(worker, query, deadlineMs);
    if (this.#isBusy[worker] === 0) this.#startBatch(worker, nowMs, out);
  }

  onBatchDone(worker: number, nowMs: number, out: CommandBuffer): void {
    this.#isBusy[worker] = 0;
    this.#startBatch(worker, nowMs, out);
  }

  onWake(): void {}

  /**
   * Slides a window of the fixed size, or of all waiting queries, over the queue until its first is
   * in time; drops the queries before it.
   */
  #startBatch(worker: number, nowMs: number, out: CommandBuffer): void {
    const queues = this.#queues;
    for (;;) {
      const batch = Math.min(this.#batch, queues.length(worker));
      if (batch === 0) return;
      if (queues.earliestDeadlineMs(worker) >= nowMs + serviceMsOf(this.#variant, batch)) {
        out.startBatch(worker, this.#variant.index, 0);
        for (let taken = 0; taken < batch; taken++) out.appendQuery(queues.take(worker));
        this.#isBusy[worker] = 1;
        return;
      }
      out.drop(worker, queues.take(worker), DROP_LATE);
    }
  }
}
