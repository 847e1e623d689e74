/** Sources of policies and the cluster that a server opens before its bundles. */
import type { Notice } from "../base/notice.ts";
import { packageVersion } from "../base/version.ts";
import type { Trust } from "../bundles/trust/trust.ts";
import type { ClusterFrontEnd, ClusterSettings } from "../features/cluster/cluster-front-end.ts";
import type { PolicySources, SourceSettings } from "../features/sources/policy-sources.ts";
import { policyUrlOf } from "../features/sources/policy-url.ts";

export interface OpenedSourcesOptions {
  readonly policy: string | readonly string[];
  readonly sources?: SourceSettings | undefined;
  readonly models?: string | readonly string[] | undefined;
  readonly onNotice?: Notice;
}

export function policiesOf(policy: string | readonly string[]): readonly string[] {
  return typeof policy === "string" ? [policy] : policy;
}

/**
 * @param trust null to accept unsigned bundles. @returns null if all bundles are files.
 * @throws RuntimeError RUNTIME_USAGE for a URL of another scheme; RuntimeError, BundleError if a
 * source has no bundle to start with.
 */
export async function openedSources(
  options: OpenedSourcesOptions,
  trust: Trust | null,
): Promise<PolicySources | null> {
  const { policy, sources, models, onNotice = () => {} } = options;
  const policies = policiesOf(policy);
  // Every policy is read, so that a URL of another scheme is refused.
  const urls = policies.filter((text) => policyUrlOf(text) !== null);
  if (sources === undefined || urls.length === 0) return null;
  const { PolicySources } = await import("../features/sources/policy-sources.ts");
  return PolicySources.open({
    ...sources,
    policies,
    hasOwnModels: models !== undefined,
    trust,
    version: packageVersion(),
    nowEpochMs: Date.now,
    onNotice,
  });
}

export interface ClusterOptions {
  /** Cluster of workers; by default workers are on this machine, or at given URLs. */
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
