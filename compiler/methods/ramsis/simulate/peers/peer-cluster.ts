/** The cluster and the profiles of a bundle, as input of peers. */
import type { RamsisBundle } from "stratagem-runtime/internal/bundle/schema";
import { assert } from "stratagem-runtime/internal/core/assert";
import { decisionSloMs } from "stratagem-runtime/internal/core/decision-slo";
import { workerCountOf } from "stratagem-runtime/internal/methods/ramsis/core/workers";
import { largestWithin, serviceMsByVariant, taskOf } from "../baseline-bundle.ts";

export interface PeerVariant {
  readonly index: number;
  readonly name: string;
  readonly accuracy: number;
  /** Service time by batch size less one, non-decreasing, up to its largest batch. */
  readonly serviceMs: Float64Array;
}

export interface PeerCluster {
  readonly workerCount: number;
  /** Part of the SLO that decisions may spend. */
  readonly sloMs: number;
  /** The variants that no other dominates, in the order of the bundle; at least one. */
  readonly variants: readonly PeerVariant[];
  readonly largestBatch: number;
  /**
   * The load that an operator would configure the peer for: the offered one, or the highest of the
   * bundle if that changes.
   */
  readonly sizingQps: number;
  /** The load at time 0, as known to a running system; the one above if that is not known, or 0. */
  readonly initialQps: number;
}

/** Capacity of a common queue: seconds of work, so queries beyond it would be very late. */
export const QUEUE_CAPACITY = 16_384;
export const WORKER_QUEUE_CAPACITY = 2048;

/** Ratio of the throughput of a manually chosen variant to the load. */
const HEADROOM = 1.05;

/**
 * @param initialQps NaN if it is not known.
 * @param isSteady whether the load stays as it is at first.
 */
export function peerCluster(
  bundle: RamsisBundle,
  { initialQps, isSteady }: { readonly initialQps: number; readonly isSteady: boolean },
): PeerCluster {
  const task = taskOf(bundle);
  const allMs = serviceMsByVariant(bundle).map((ms) => ms.slice(0, bundle.policy.maxQueue));
  const variants = task.variants.flatMap(({ name, accuracy, dominated }, index): PeerVariant[] => {
    return dominated
      ? []
      : [{ index, name, accuracy, serviceMs: allMs[index] ?? new Float64Array() }];
  });
  const largestBatch = Math.max(...variants.map(({ serviceMs }) => serviceMs.length));
  assert(largestBatch > 0, "a bundle has a variant that is worth running");
  const sizingQps = isSteady ? initialQps : (bundle.levels.at(-1)?.loadQps ?? Number.NaN);
  return {
    workerCount: workerCountOf(bundle),
    sloMs: decisionSloMs(bundle.cluster, bundle.slo.latencyMs),
    variants,
    largestBatch,
    sizingQps,
    initialQps: initialQps > 0 ? initialQps : sizingQps,
  };
}

/**
 * Time of a batch; infinite beyond the largest one.
 * @param batch at least 1.
 */
export function serviceMsOf({ serviceMs }: PeerVariant, batch: number): number {
  return serviceMs[batch - 1] ?? Number.POSITIVE_INFINITY;
}

/** Queries per second that one worker serves in batches of a size. */
export function rateOf(variant: PeerVariant, batch: number): number {
  return (1000 * batch) / serviceMsOf(variant, batch);
}

/** The variant that serves a query soonest; ties go to the first. */
export function fastestOf({ variants }: PeerCluster): PeerVariant {
  return variants.reduce((fastest, variant) =>
    serviceMsOf(variant, 1) < serviceMsOf(fastest, 1) ? variant : fastest,
  );
}

/** The variants that can serve a query in time at all, or the fastest alone. */
export function timelyVariants(cluster: PeerCluster): readonly PeerVariant[] {
  const timely = cluster.variants.filter((variant) => serviceMsOf(variant, 1) <= cluster.sloMs);
  return timely.length > 0 ? timely : [fastestOf(cluster)];
}

/**
 * The variant that an operator chooses for a system which serves just one: the most accurate that
 * carries the load with a small reserve in batches of half the SLO, or the one of the highest
 * throughput without one. Ties go to the first.
 */
export function variantForLoad(cluster: PeerCluster): PeerVariant {
  const { workerCount, sloMs, sizingQps } = cluster;
  const capacityOf = (variant: PeerVariant): number => {
    const batch = Math.max(1, largestWithin(variant.serviceMs, sloMs / 2));
    return workerCount * rateOf(variant, batch);
  };
  const variants = timelyVariants(cluster);
  const carrying = variants.filter((variant) => capacityOf(variant) >= HEADROOM * sizingQps);
  const isBetter =
    carrying.length > 0
      ? (one: PeerVariant, other: PeerVariant) => one.accuracy > other.accuracy
      : (one: PeerVariant, other: PeerVariant) => capacityOf(one) > capacityOf(other);
  const candidates = carrying.length > 0 ? carrying : variants;
  return candidates.reduce((best, variant) => (isBetter(variant, best) ? variant : best));
}
