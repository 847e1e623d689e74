/**
 * INFaaS as a peer: clients request an accuracy and a latency, and an autoscaler follows the load.
 *
 * A query goes to the slowest running type that meets both; a type that is short
 * of capacity is replicated or moved to one of more throughput. Nothing is dropped for its
 * deadline. Source: Romero et al., "INFaaS: Automated Model-less Inference Serving", ATC 2021.
 */
import {
  type CommandBuffer,
  DROP_QUEUE_FULL,
} from "stratagem-runtime/internal/core/command-buffer";
import { DeadlineQueues } from "stratagem-runtime/internal/core/queue";
import {
  type InfaasOptions,
  InfaasScaler,
  type InstanceType,
  instanceTypes,
} from "./infaas-scaler.ts";
import type { Peer, PeerSetting, SimulatedDispatcher } from "./peer.ts";
import {
  type PeerCluster,
  timelyVariants,
  variantForLoad,
  WORKER_QUEUE_CAPACITY,
} from "./peer-cluster.ts";

/** A twentieth of the throughput of an instance is kept in reserve. */
const CAPACITY_SHARE = 0.95;
const TRIED_CAPACITY_SHARES = [0.95, 0.75];
const TRIED_LATENCY_SHARES = [1, 0.5];

/** Period of the autoscaler. */
const PERIOD_MS = 1000;
export const infaas: Peer = {
  paper: (cluster) =>
    settingOf(cluster, {
      leastAccuracy: variantForLoad(cluster).accuracy,
      latencyShare: 1,
      capacityShare: CAPACITY_SHARE,
    }),
  tunings: (cluster) =>
    timelyVariants(cluster).flatMap(({ accuracy: leastAccuracy }) =>
      TRIED_LATENCY_SHARES.flatMap((latencyShare) =>
        TRIED_CAPACITY_SHARES.map((capacityShare) =>
          settingOf(cluster, { leastAccuracy, latencyShare, capacityShare }),
        ),
      ),
    ),
};

function settingOf(cluster: PeerCluster, options: InfaasOptions): PeerSetting {
  return { parameters: { ...options }, open: () => new InfaasDispatcher(cluster, options) };
}

class InfaasDispatcher implements SimulatedDispatcher {
  readonly workerCount: number;
  readonly waitingCapacity: number;
  readonly commandCapacity: number;
  readonly wakeMs = Number.POSITIVE_INFINITY;
  readonly #types: readonly InstanceType[];
  readonly #scaler: InfaasScaler;
  readonly #queues: DeadlineQueues;
  /** The type that a worker holds; a type that gets no more queries finishes those it has. */
  readonly #typeByWorker: Uint16Array;
  readonly #isOffered: Uint8Array;
  readonly #isBusy: Uint8Array;
  /** Queries sent to each type since the period began. */
  readonly #sent: Float64Array;
  #periodMs = Number.NaN;

  constructor(cluster: PeerCluster, options: InfaasOptions) {
    const { workerCount, initialQps } = cluster;
    this.workerCount = workerCount;
    this.waitingCapacity = workerCount * WORKER_QUEUE_CAPACITY;
    this.commandCapacity = workerCount + 1;
    this.#types = instanceTypes(cluster, options);
    this.#scaler = new InfaasScaler(this.#types, workerCount, options);
    this.#queues = new DeadlineQueues(workerCount, WORKER_QUEUE_CAPACITY);
    this.#typeByWorker = new Uint16Array(workerCount);
    this.#isOffered = new Uint8Array(workerCount);
    this.#isBusy = new Uint8Array(workerCount);
    this.#sent = new Float64Array(this.#types.length);
    this.#scaler.start(initialQps);
    this.#follow();
  }

  onArrival(query: number, deadlineMs: number, nowMs: number, out: CommandBuffer): void {
    if (!(nowMs < this.#periodMs)) this.#endPeriod(nowMs);
    const type = this.#slowestRunning();
    const worker = this.#leastLoaded(type);
    this.#sent[type] = (this.#sent[type] ?? 0) + 1;
    if (this.#queues.length(worker) === WORKER_QUEUE_CAPACITY) {
      out.drop(worker, query, DROP_QUEUE_FULL);
      return;
    }
    this.#queues.insert(worker, query, deadlineMs);
    if (this.#isBusy[worker] === 0) this.#startBatch(worker, out);
  }

  onBatchDone(worker: number, _nowMs: number, out: CommandBuffer): void {
    this.#isBusy[worker] = 0;
    if (this.#queues.length(worker) > 0) this.#startBatch(worker, out);
  }

  onWake(): void {}

  #startBatch(worker: number, out: CommandBuffer): void {
    const type = this.#types[this.#typeByWorker[worker] ?? 0];
    if (type === undefined) throw new RangeError("worker without a type");
    const batch = Math.min(type.batch, this.#queues.length(worker));
    out.startBatch(worker, type.variant.index, 0);
    for (let taken = 0; taken < batch; taken++) out.appendQuery(this.#queues.take(worker));
    this.#isBusy[worker] = 1;
  }

  /** All types meet the request; the slowest one costs the least. Ties go to the first. */
  #slowestRunning(): number {
    let slowest = -1;
    let slowestMs = Number.NEGATIVE_INFINITY;
    for (const [type, { serviceMs }] of this.#types.entries()) {
      if (this.#scaler.replicas[type] === 0 || serviceMs <= slowestMs) continue;
      slowest = type;
      slowestMs = serviceMs;
    }
    return slowest;
  }

  /** The instance of a type with the fewest queries, waiting or running; ties go to the first. */
  #leastLoaded(type: number): number {
    let best = -1;
    let bestLoad = Number.POSITIVE_INFINITY;
    for (let worker = 0; worker < this.workerCount; worker++) {
      if (this.#isOffered[worker] === 0 || this.#typeByWorker[worker] !== type) continue;
      const load = this.#queues.length(worker) + (this.#isBusy[worker] ?? 0);
      if (load >= bestLoad) continue;
      best = worker;
      bestLoad = load;
    }
    return best;
  }

  #endPeriod(nowMs: number): void {
    const sinceMs = this.#periodMs - PERIOD_MS;
    this.#periodMs = nowMs + PERIOD_MS;
    if (Number.isNaN(sinceMs)) return;
    const loadQps = this.#sent.map((count) => (1000 * count) / (nowMs - sinceMs));
    this.#sent.fill(0);
    this.#scaler.update(loadQps, nowMs);
    this.#follow();
  }

  /**
   * Workers keep their type as long as it is wanted, and switch at once: models are loaded
   * everywhere.
   */
  #follow(): void {
    const missing = Uint32Array.from(this.#scaler.replicas);
    const isFree = new Uint8Array(this.workerCount).fill(1);
    for (let worker = 0; worker < this.workerCount; worker++) {
      const type = this.#typeByWorker[worker] ?? 0;
      if (this.#isOffered[worker] === 0 || (missing[type] ?? 0) === 0) continue;
      missing[type] = (missing[type] ?? 0) - 1;
      isFree[worker] = 0;
    }
    let type = 0;
    for (let worker = 0; worker < this.workerCount; worker++) {
      if (isFree[worker] === 0) continue;
      while (type < missing.length && missing[type] === 0) type++;
      this.#isOffered[worker] = type < missing.length ? 1 : 0;
      if (type === missing.length) continue;
      missing[type] = (missing[type] ?? 0) - 1;
      this.#typeByWorker[worker] = type;
    }
  }
}
