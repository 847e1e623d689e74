/** The greedy peers: first the accuracy and then the batch, or the other way round. */
import type { Peer, PeerSetting } from "./peer.ts";
import { fastestOf, type PeerCluster, serviceMsOf } from "./peer-cluster.ts";
import { SlackDispatcher, type SlackRule, type Tuple, timelyTuples } from "./slack-dispatcher.ts";

/** The most accurate variant that serves the first in time, and then as many as it can. */
export const maxAccuracy: Peer = peerOf(mostAccurateRule);
/**
 * Takes as many queries as the fastest variant serves in time, on the most accurate variant that
 * serves as many.
 */
export const maxBatch: Peer = peerOf(largestBatchRule);

function peerOf(ruleOf: (cluster: PeerCluster) => SlackRule): Peer {
  const settingOf = (cluster: PeerCluster, drop: boolean): PeerSetting => ({
    parameters: { drop },
    open: () => new SlackDispatcher(cluster, ruleOf(cluster), drop),
  });
  return {
    paper: (cluster) => settingOf(cluster, true),
    tunings: (cluster) => [true, false].map((drop) => settingOf(cluster, drop)),
  };
}

function mostAccurateRule(cluster: PeerCluster): SlackRule {
  const tuples = timelyTuples(cluster).sort(
    (a, b) => b.variant.accuracy - a.variant.accuracy || b.batch - a.batch,
  );
  // Of one variant the larger batches come first; one that fits at all fits with a batch of one.
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
