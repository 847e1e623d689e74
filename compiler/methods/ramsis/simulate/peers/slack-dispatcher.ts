/** Peers that decide by the slack of the first in one queue whenever a worker is free. */
import {
  type CommandBuffer,
  DROP_LATE,
  DROP_QUEUE_FULL,
} from "stratagem-runtime/internal/core/command-buffer";
import { DeadlineQueues } from "stratagem-runtime/internal/core/queue";
import { IdleWorkers } from "./idle-workers.ts";
import type { SimulatedDispatcher } from "./peer.ts";
import { fastestOf, type PeerCluster, type PeerVariant, QUEUE_CAPACITY } from "./peer-cluster.ts";

/** A variant and the number of queries it is given at most. */
export interface Tuple {
  readonly variant: PeerVariant;
  readonly batch: number;
  readonly serviceMs: number;
}

/**
 * What to run for `queued` queries, at least one, of which the first has `slackMs` left; null if
 * nothing is in time.
 */
export type SlackRule = (queued: number, slackMs: number) => Tuple | null;

/**
 * Slack is a rounded difference; a picosecond, far below any service time, makes up for it. The
 * dispatcher checks the deadline itself.
 */
const SLACK_ROUNDING_MS = 1e-9;

/**
 * Follows a slack rule; if nothing is in time, the first query is dropped or the fastest variant
 * runs for it alone.
 */
export class SlackDispatcher implements SimulatedDispatcher {
  readonly workerCount: number;
  readonly waitingCapacity = QUEUE_CAPACITY;
  readonly commandCapacity: number;
  readonly wakeMs = Number.POSITIVE_INFINITY;
  readonly #rule: SlackRule;
  readonly #drops: boolean;
  readonly #fastest: PeerVariant;
  readonly #queues = new DeadlineQueues(1, QUEUE_CAPACITY);
  readonly #idle: IdleWorkers;

  constructor(cluster: PeerCluster, rule: SlackRule, drops: boolean) {
    this.workerCount = cluster.workerCount;
    this.commandCapacity = QUEUE_CAPACITY + cluster.workerCount;
    this.#rule = rule;
    this.#drops = drops;
    this.#fastest = fastestOf(cluster);
    this.#idle = new IdleWorkers(cluster.workerCount);
  }

  onArrival(query: number, deadlineMs: number, nowMs: number, out: CommandBuffer): void {
    if (this.#queues.length(0) === QUEUE_CAPACITY) {
      out.drop(0, query, DROP_QUEUE_FULL);
      return;
    }
    this.#queues.insert(0, query, deadlineMs);
    this.#startBatches(nowMs, out);
  }

  onBatchDone(worker: number, nowMs: number, out: CommandBuffer): void {
    this.#idle.free(worker);
    this.#startBatches(nowMs, out);
  }

  onWake(): void {}

  #startBatches(nowMs: number, out: CommandBuffer): void {
    const queues = this.#queues;
    while (this.#idle.count > 0 && queues.length(0) > 0) {
      const queued = queues.length(0);
      const slackMs = queues.earliestDeadlineMs(0) - nowMs + SLACK_ROUNDING_MS;
      const tuple = this.#rule(queued, slackMs);
      if (tuple !== null) this.#start(tuple.variant, Math.min(tuple.batch, queued), out);
      else if (this.#drops) out.drop(0, queues.take(0), DROP_LATE);
      else this.#start(this.#fastest, 1, out);
    }
  }

  #start(variant: PeerVariant, batch: number, out: CommandBuffer): void {
    out.startBatch(this.#idle.take(), variant.index, 0);
    for (let taken = 0; taken < batch; taken++) out.appendQuery(this.#queues.take(0));
  }
}

/**
 * Every variant with every batch that takes no longer than the SLO, variants in their order and
 * batches ascending.
 */
export function timelyTuples({ variants, sloMs }: PeerCluster): Tuple[] {
  return variants
    .flatMap((variant) =>
      Array.from(variant.serviceMs, (serviceMs, index) => ({
        variant,
        batch: index + 1,
        serviceMs,
      })),
    )
    .filter(({ serviceMs }) => serviceMs <= sloMs);
}
