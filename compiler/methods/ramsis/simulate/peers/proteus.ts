/**
 * Proteus as a peer: a program assigns variants to workers and traffic to variants.
 *
 * Queries are dealt at random by its shares, and a worker waits with its batch as long as the first
 * query allows. Source: Ahmad et al., "Proteus: A High-Throughput Inference-Serving System with
 * Accuracy Scaling", ASPLOS 2024.
 */
import { assert } from "stratagem-runtime/internal/core/assert";
import { beatMsOf } from "stratagem-runtime/internal/core/beat";
import {
  type CommandBuffer,
  DROP_LATE,
  DROP_QUEUE_FULL,
} from "stratagem-runtime/internal/core/command-buffer";
import { LoadMonitor } from "stratagem-runtime/internal/core/load-monitor";
import { DeadlineQueues } from "stratagem-runtime/internal/core/queue";
import { Rng } from "stratagem-runtime/internal/core/rng";
import type { Peer, PeerSetting, SimulatedDispatcher } from "./peer.ts";
import {
  type PeerCluster,
  QUEUE_CAPACITY,
  serviceMsOf,
  WORKER_QUEUE_CAPACITY,
} from "./peer-cluster.ts";
import { type ProteusPlan, ProteusPlanner, type ProteusVariant } from "./proteus-plan.ts";

interface ProteusParameters {
  readonly batchShare: number;
  readonly beta: number;
  /**
   * Whether the workers of a variant share a queue; in the paper each has its own, and loses much
   * by it.
   */
  readonly sharedQueues: boolean;
}

const PAPER: ProteusParameters = { batchShare: 1 / 2, beta: 1.05, sharedQueues: true };
const AS_PRINTED: ProteusParameters = { ...PAPER, sharedQueues: false };
const TRIED_SHARES = [0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1];
const TRIED_BETAS = [0.9, 0.95, 1, 1.05, 1.1, 1.2, 1.5];

/**
 * Polling interval of the demand, which is the window of the load monitor, and the weight of the
 * new value.
 */
const WINDOW_MS = 500;
const NEW_WEIGHT = 0.2;

const ROUTING_SEED = 1;
const ROUTING_STREAM = 0x70726f74;

/** Far above the rounding error of a difference of times, and far below a service time. */
const ROUNDING_MS = 1e-6;

export const proteus: Peer = {
  paper: (cluster) => settingOf(cluster, PAPER, plannerOf(cluster, PAPER.batchShare)),
  tunings: (cluster) => {
    const printed = settingOf(cluster, AS_PRINTED, plannerOf(cluster, AS_PRINTED.batchShare));
    const others = TRIED_SHARES.flatMap((batchShare) => {
      const planner = plannerOf(cluster, batchShare);
      return TRIED_BETAS.map((beta) =>
        settingOf(cluster, { batchShare, beta, sharedQueues: true }, planner),
      );
    });
    return [printed, ...others];
  },
};

/** Created on first use, once for all settings that plan with the same batches. */
function plannerOf(cluster: PeerCluster, batchShare: number): () => ProteusPlanner {
  let planner: ProteusPlanner | null = null;
  return () => {
    planner ??= new ProteusPlanner(cluster, batchShare);
    return planner;
  };
}

function settingOf(
  cluster: PeerCluster,
  parameters: ProteusParameters,
  planner: () => ProteusPlanner,
): PeerSetting {
  return {
    parameters: { ...parameters },
    open: () => new ProteusDispatcher(cluster, parameters, planner()),
  };
}

/** Workers belong to groups with a queue each: one for every worker, or one for every variant. */
class ProteusDispatcher implements SimulatedDispatcher {
  readonly workerCount: number;
  readonly waitingCapacity: number;
  readonly commandCapacity: number;
  readonly #planner: ProteusPlanner;
  readonly #beta: number;
  readonly #sharesQueues: boolean;
  readonly #monitor: LoadMonitor;
  readonly #rng = new Rng(ROUTING_SEED, ROUTING_STREAM);
  readonly #queues: DeadlineQueues;
  readonly #queueCapacity: number;
  readonly #variantByGroup: Uint16Array;
  /** Sums of the shares of the traffic up to each group. */
  readonly #shareUpTo: Float64Array;
  readonly #idleByGroup: Uint32Array;
  /**
   * Time until which the idle workers of a group wait with their queue; infinite if they do not.
   */
  readonly #wakeMsByGroup: Float64Array;
  /** Index of the variant among those of the planner. */
  readonly #variantByWorker: Uint16Array;
  readonly #isBusy: Uint8Array;
  #demandQps: number;
  #planMs = Number.NaN;

  constructor(cluster: PeerCluster, parameters: ProteusParameters, planner: ProteusPlanner) {
    const { workerCount, initialQps } = cluster;
    this.workerCount = workerCount;
    this.#monitor = new LoadMonitor(beatMsOf({ latencyMs: cluster.sloMs }));
    this.#planner = planner;
    this.#beta = parameters.beta;
    this.#sharesQueues = parameters.sharedQueues;
    const groups = parameters.sharedQueues ? this.#planner.variants.length : workerCount;
    this.#queueCapacity = parameters.sharedQueues ? QUEUE_CAPACITY : WORKER_QUEUE_CAPACITY;
    this.waitingCapacity = groups * this.#queueCapacity;
    this.commandCapacity = this.waitingCapacity + workerCount;
    this.#queues = new DeadlineQueues(groups, this.#queueCapacity);
    this.#variantByGroup = Uint16Array.from({ length: groups }, (_, group) =>
      parameters.sharedQueues ? group : 0,
    );
    this.#shareUpTo = new Float64Array(groups);
    this.#idleByGroup = new Uint32Array(groups);
    this.#wakeMsByGroup = new Float64Array(groups).fill(Number.POSITIVE_INFINITY);
    this.#variantByWorker = new Uint16Array(workerCount);
    this.#isBusy = new Uint8Array(workerCount);
    this.#demandQps = initialQps;
    this.#follow(this.#planner.plan(this.#demandQps, this.#beta));
  }

  get wakeMs(): number {
    let wakeMs = Number.POSITIVE_INFINITY;
    for (const ms of this.#wakeMsByGroup) if (ms < wakeMs) wakeMs = ms;
    return wakeMs;
  }

  onArrival(query: number, deadlineMs: number, nowMs: number, out: CommandBuffer): void {
    this.#updatePlan(nowMs, out);
    const group = this.#route();
    const queues = this.#queues;
    if (queues.length(group) === this.#queueCapacity) out.drop(0, query, DROP_QUEUE_FULL);
    else {
      queues.insert(group, query, deadlineMs);
      this.#takeAlong(group, nowMs, out);
    }
    this.#monitor.recordArrival(nowMs);
  }

  onBatchDone(worker: number, nowMs: number, out: CommandBuffer): void {
    const group = this.#groupOf(worker);
    this.#isBusy[worker] = 0;
    this.#idleByGroup[group] = (this.#idleByGroup[group] ?? 0) + 1;
    this.#serve(group, nowMs, out);
  }

  onWake(nowMs: number, out: CommandBuffer): void {
    for (const [group, wakeMs] of this.#wakeMsByGroup.entries()) {
      if (wakeMs <= nowMs) this.#serve(group, nowMs, out);
    }
  }

  /**
   * Handles a query that has joined those that an idle worker waits with: if it would make the
   * first late, the others start without it.
   */
  #takeAlong(group: number, nowMs: number, out: CommandBuffer): void {
    const queues = this.#queues;
    const others = queues.length(group) - 1;
    if (this.#idleByGroup[group] !== 0 && others > 0) {
      const { variant } = this.#variantOf(group);
      const endMs = nowMs + serviceMsOf(variant, others + 1);
      if (queues.earliestDeadlineMs(group) < endMs) this.#start(group, others, out);
    }
    this.#serve(group, nowMs, out);
  }

  /**
   * Drops the first while the waiting queries, as one batch, would make it late; then runs a full
   * batch, or waits for it.
   */
  #serve(group: number, nowMs: number, out: CommandBuffer): void {
    const queues = this.#queues;
    const { variant, batch: fullBatch } = this.#variantOf(group);
    this.#wakeMsByGroup[group] = Number.POSITIVE_INFINITY;
    while (this.#idleByGroup[group] !== 0 && queues.length(group) > 0) {
      const batch = Math.min(queues.length(group), fullBatch);
      const serviceMs = serviceMsOf(variant, batch);
      const deadlineMs = queues.earliestDeadlineMs(group);
      if (deadlineMs < nowMs + serviceMs) {
        out.drop(0, queues.take(group), DROP_LATE);
        continue;
      }
      const lastMs = latestStartMs(deadlineMs, serviceMs);
      if (batch < fullBatch && lastMs > nowMs) {
        this.#wakeMsByGroup[group] = lastMs;
        return;
      }
      this.#start(group, batch, out);
    }
  }

  #start(group: number, batch: number, out: CommandBuffer): void {
    const worker = this.#idleWorker(group);
    out.startBatch(worker, this.#variantOf(group).variant.index, 0);
    for (let taken = 0; taken < batch; taken++) out.appendQuery(this.#queues.take(group));
    this.#isBusy[worker] = 1;
    this.#idleByGroup[group] = (this.#idleByGroup[group] ?? 0) - 1;
  }

  /** The first idle worker of a group that has one. */
  #idleWorker(group: number): number {
    let worker = 0;
    while (this.#isBusy[worker] !== 0 || this.#groupOf(worker) !== group) worker++;
    return worker;
  }

  #groupOf(worker: number): number {
    return this.#sharesQueues ? (this.#variantByWorker[worker] ?? 0) : worker;
  }

  #variantOf(group: number): ProteusVariant {
    const variant = this.#planner.variants[this.#variantByGroup[group] ?? 0];
    assert(variant !== undefined, "a group runs a variant of the plan");
    return variant;
  }

  /** Draws a group by the shares. */
  #route(): number {
    const coin = this.#rng.nextFloat();
    const shares = this.#shareUpTo;
    let low = 0;
    let high = shares.length - 1;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((shares[middle] ?? 0) <= coin) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The first arrival of a window changes the plan to the load of the previous window. */
  #updatePlan(nowMs: number, out: CommandBuffer): void {
    if (Number.isNaN(this.#planMs)) this.#planMs = nowMs + WINDOW_MS;
    if (nowMs < this.#planMs) return;
    this.#planMs = nowMs + WINDOW_MS;
    const loadQps = this.#monitor.loadQps(nowMs);
    if (!(loadQps > 0)) return;
    this.#demandQps += NEW_WEIGHT * (loadQps - this.#demandQps);
    const plan = this.#planner.plan(this.#demandQps, this.#beta);
    this.#follow(plan);
    if (this.#sharesQueues) this.#handOver(plan, out);
    for (let group = 0; group < this.#shareUpTo.length; group++) this.#serve(group, nowMs, out);
  }

  /**
   * Workers that run a variant which is still wanted keep it; a variant's share is the same for all
   * of its workers.
   */
  #follow({ workers, shares }: ProteusPlan): void {
    this.#assign(workers);
    const groupCount = this.#shareUpTo.length;
    let upTo = 0;
    let lastServed = 0;
    for (let group = 0; group < groupCount; group++) {
      const variant = this.#sharesQueues ? group : (this.#variantByWorker[group] ?? 0);
      this.#variantByGroup[group] = variant;
      const groupsOfVariant = this.#sharesQueues ? 1 : (workers[variant] ?? Number.NaN);
      const share = (shares[variant] ?? 0) / groupsOfVariant;
      upTo += share;
      if (share > 0) lastServed = group;
      this.#shareUpTo[group] = upTo;
    }
    // The traffic that rounding leaves goes to the last group that serves some.
    this.#shareUpTo.fill(1, lastServed);
    this.#idleByGroup.fill(0);
    for (let worker = 0; worker < this.workerCount; worker++) {
      if (this.#isBusy[worker] !== 0) continue;
      const group = this.#groupOf(worker);
      this.#idleByGroup[group] = (this.#idleByGroup[group] ?? 0) + 1;
    }
  }

  #assign(workers: readonly number[]): void {
    const missing = Float64Array.from(workers);
    const isKept = Array.from(this.#variantByWorker, (variant) => {
      if ((missing[variant] ?? 0) === 0) return false;
      missing[variant] = (missing[variant] ?? 0) - 1;
      return true;
    });
    let variant = 0;
    for (let worker = 0; worker < this.workerCount; worker++) {
      if (isKept[worker]) continue;
      while ((missing[variant] ?? 0) === 0) variant++;
      missing[variant] = (missing[variant] ?? 0) - 1;
      this.#variantByWorker[worker] = variant;
    }
  }

  /**
   * Queries that wait for a variant that no worker runs any more go to the one with the largest
   * share, up to its capacity.
   */
  #handOver({ workers, shares }: ProteusPlan, out: CommandBuffer): void {
    const queues = this.#queues;
    const heir = shares.indexOf(Math.max(...shares));
    for (const [group, count] of workers.entries()) {
      if (count > 0) continue;
      while (queues.length(group) > 0) {
        const deadlineMs = queues.earliestDeadlineMs(group);
        const query = queues.take(group);
        if (queues.length(heir) < this.#queueCapacity) queues.insert(heir, query, deadlineMs);
        else out.drop(0, query, DROP_QUEUE_FULL);
      }
    }
  }
}

/** The last time at which a batch is in time, after rounding. */
function latestStartMs(deadlineMs: number, serviceMs: number): number {
  const lastMs = deadlineMs - serviceMs;
  return lastMs + serviceMs <= deadlineMs ? lastMs : lastMs - ROUNDING_MS;
}
