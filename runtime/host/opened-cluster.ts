/** Opens the cluster of a server; nothing of it is loaded where there is none. */

import type { Notice } from "../base/notice.ts";
import type { ClusterFrontEnd, ClusterSettings } from "../features/cluster/cluster-front-end.ts";

export interface ClusterOptions {
  /** Left out, workers are those of this machine, or of URLs. */
  readonly cluster?: ClusterSettings | undefined;
}

/** @throws RuntimeError RUNTIME_USAGE, RUNTIME_CLUSTER, RUNTIME_UNREADABLE */
export async function openedCluster(
  { cluster }: ClusterOptions,
  nowMs: () => number,
  onNotice: Notice = () => {},
): Promise<ClusterFrontEnd | null> {
  if (cluster === undefined) return null;
  const { ClusterFrontEnd } = await import("../features/cluster/cluster-front-end.ts");
  return ClusterFrontEnd.open({ ...cluster, nowMs, onNotice });
}
