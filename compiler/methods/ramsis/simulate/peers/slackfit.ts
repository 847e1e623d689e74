/**
 * SlackFit as a peer, in two readings: variant and batch by the bucket of the slack.
 *
 * It is the scheduler of SuperServe, whose code is not public; its text, as we know it, leaves open
 * what a bucket stands for. Source: Khare et al., "SuperServe: Fine-Grained Inference Serving for
 * Unpredictable Workloads", NSDI 2025.
 */
import type { Peer, PeerSetting } from "./peer.ts";
import type { PeerCluster } from "./peer-cluster.ts";
import { SlackDispatcher, type SlackRule, type Tuple, timelyTuples } from "./slack-dispatcher.ts";

/** Equal parts of the latencies from the least to the SLO. */
const BUCKET_COUNT = 16;
const TRIED_BUCKET_COUNTS = [1, 2, 4, 8, 12, 16, 18, 24, 32, 40, 64, 100];

/**
 * A bucket stands for one tuple, the one of the largest batch: the highest bucket whose tuple fits
 * runs on as many as wait.
 */
export const slackfitA: Peer = peerOf(chosenTupleRule);
/**
 * A bucket stands for all of its tuples: from the highest one down, the largest batch that fits and
 * that enough queries wait for.
 */
export const slackfitB: Peer = peerOf(queuedTupleRule);

function peerOf(ruleOf: (cluster: PeerCluster, bucketCount: number) => SlackRule): Peer {
  const settingOf = (cluster: PeerCluster, buckets: number, drop: boolean): PeerSetting => ({
    parameters: { buckets, drop },
    open: () => new SlackDispatcher(cluster, ruleOf(cluster, buckets), drop),
  });
  return {
    paper: (cluster) => settingOf(cluster, BUCKET_COUNT, true),
    tunings: (cluster) =>
      TRIED_BUCKET_COUNTS.flatMap((buckets) =>
        [true, false].map((drop) => settingOf(cluster, buckets, drop)),
      ),
  };
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
