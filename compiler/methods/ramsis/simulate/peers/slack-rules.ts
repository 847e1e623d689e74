/**
 * Peers that decide by the slack of the first query in one queue whenever a worker is free:
 * SlackFit in two readings, and two greedy rules, accuracy first or batch first.
 *
 * SlackFit is the scheduler of SuperServe, whose code is not public: variant and batch by the
 * bucket of the slack. Its text, as we know it, does not define the meaning of a bucket. Source:
 * Khare et al., "SuperServe: Fine-Grained Inference Serving for Unpredictable Workloads", NSDI
 * 2025.
 */
import {
  type CommandBuffer,
  DROP_LATE,
  DROP_QUEUE_FULL,
} from "stratagem-runtime/internal/core/command-buffer";
import { DeadlineQueues } from "stratagem-runtime/internal/core/queue";
import { IdleWorkers } from "./idle-workers.ts";
import type { Peer, PeerSetting, SimulatedDispatcher } from "./peer.ts";
import {
  fastestOf,
  type PeerCluster,
  type PeerVariant,
  QUEUE_CAPACITY,
  serviceMsOf,
} from "./peer-cluster.ts";

/** Equal parts of the latencies from the least to the SLO. */
const BUCKET_COUNT = 16;
const TRIED_BUCKET_COUNTS = [1, 2, 4, 8, 12, 16, 18, 24, 32, 40, 64, 100];

/**
 * A bucket stands for one tuple, the one of the largest batch: the highest bucket whose tuple fits
 * runs, on as many queries as wait.
 */
export const slackfitA: Peer = peerOf(chosenTupleRule, BUCKET_COUNT, TRIED_BUCKET_COUNTS);
/**
 * A bucket stands for all of its tuples: from the highest one down, the largest batch that fits and
 * that enough queries wait for.
 */
export const slackfitB: Peer = peerOf(queuedTupleRule, BUCKET_COUNT, TRIED_BUCKET_COUNTS);

/**
 * The most accurate variant that serves the first in time, with as many others as it can serve in
 * time.
 */
export const maxAccuracy: Peer = peerOf(mostAccurateRule, 0, [0]);
/**
 * Takes as many queries as the fastest variant serves in time, on the most accurate variant that
 * serves as many.
 */
export const maxBatch: Peer = peerOf(largestBatchRule, 0, [0]);

/** @param paper number of buckets, 0 for a rule that has none. */
function peerOf(
  ruleOf: (cluster: PeerCluster, buckets: number) => SlackRule,
  paper: number,
  tried: readonly number[],
): Peer {
  const settingOf = (cluster: PeerCluster, buckets: number, drop: boolean): PeerSetting => ({
    parameters: { ...(buckets > 0 && { buckets }), drop },
    open: () => new SlackDispatcher(cluster, ruleOf(cluster, buckets), drop),
  });
  return {
    paper: (cluster) => settingOf(cluster, paper, true),
    tunings: (cluster) =>
      tried.flatMap((buckets) => [true, false].map((drop) => settingOf(cluster, buckets, drop))),
  };
}

/** A variant and its maximum number of queries. */
interface Tuple {
  readonly variant: PeerVariant;
  readonly batch: number;
  readonly serviceMs: number;
}

/**
 * Decision for `queued` queries, at least one, of which the first has `slackMs` left; null if
 * nothing is in time.
 */
type SlackRule = (queued: number, slackMs: number) => Tuple | null;

/**
 * Slack is a rounded difference; this tolerance is a picosecond, far below any service time. The
 * dispatcher checks the deadline itself.
 */
const SLACK_ROUNDING_MS = 1e-9;

/**
 * Follows a slack rule; if nothing is in time, the first query is dropped or the fastest variant
 * runs for it alone.
 */
class SlackDispatcher implements SimulatedDispatcher {
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
function timelyTuples({ variants, sloMs }: PeerCluster): Tuple[] {
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

/**
 * @returns the tuples of each bucket that is not empty, the slowest bucket first; within one by
 * falling batch, then accuracy.
 */
function buckets(cluster: PeerCluster, count: number): Tuple[][] {
  const tuples = timelyTuples(cluster);
  const leastMs = Math.min(...tuples.map(({ serviceMs }) => serviceMs));
  const widthMs = (cluster.sloMs - leastMs) / count;
  const byBucket = Array.from({ length: count }, (): Tuple[] => []);
  for (const tuple of tuples) {
    const place = widthMs > 0 ? Math.floor((tuple.serviceMs - leastMs) / widthMs) : 0;
    byBucket[Math.min(place, count - 1)]?.push(tuple);
  }
  for (const bucket of byBucket) {
    bucket.sort((a, b) => b.batch - a.batch || b.variant.accuracy - a.variant.accuracy);
  }
  return byBucket.filter((bucket) => bucket.length > 0).reverse();
}

function chosenTupleRule(cluster: PeerCluster, bucketCount: number): SlackRule {
  const chosen = buckets(cluster, bucketCount).flatMap((bucket) => bucket.slice(0, 1));
  return (_, slackMs) => chosen.find(({ serviceMs }) => serviceMs <= slackMs) ?? null;
}

function queuedTupleRule(cluster: PeerCluster, bucketCount: number): SlackRule {
  const tuples = buckets(cluster, bucketCount).flat();
  return (queued, slackMs) =>
    tuples.find(({ serviceMs, batch }) => serviceMs <= slackMs && batch <= queued) ?? null;
}

function mostAccurateRule(cluster: PeerCluster): SlackRule {
  const tuples = timelyTuples(cluster).sort(
    (a, b) => b.variant.accuracy - a.variant.accuracy || b.batch - a.batch,
  );
  // Larger batches of one variant come first; one that fits at all fits with a batch of one.
  return (queued, slackMs) =>
    tuples.find(({ serviceMs, batch }) => serviceMs <= slackMs && batch <= queued) ?? null;
}

function largestBatchRule(cluster: PeerCluster): SlackRule {
  const fastest = fastestOf(cluster);
  const tuples = timelyTuples(cluster).sort((a, b) => b.variant.accuracy - a.variant.accuracy);
  const tuplesByBatch = Array.from({ length: cluster.largestBatch + 1 }, (_, batch): Tuple[] =>
    tuples.filter((tuple) => tuple.batch === batch),
  );
  return (queued, slackMs) => {
    let batch = Math.min(queued, cluster.largestBatch);
    while (batch > 0 && serviceMsOf(fastest, batch) > slackMs) batch--;
    return tuplesByBatch[batch]?.find(({ serviceMs }) => serviceMs <= slackMs) ?? null;
  };
}
