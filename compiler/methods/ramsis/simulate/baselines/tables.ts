/** Rules that are tables, as bundles: one variant, greedy, Jellyfish+ and ModelSwitching. */
import type { RamsisBundle } from "stratagem-runtime/internal/bundle/schema";
import { assert } from "stratagem-runtime/internal/core/assert";
import { decisionSloMs } from "stratagem-runtime/internal/core/decision-slo";
import { workerCountOf } from "stratagem-runtime/internal/methods/ramsis/core/workers";
import {
  type Decision,
  deadlineAwareBundle,
  fastestVariant,
  largestWithin,
  lastResort,
  loadGranularBundle,
  mostAccurate,
  serviceMsByVariant,
  taskOf,
} from "../baseline-bundle.ts";

/**
 * The same application served by one variant alone, as a bundle.
 *
 * At every load it runs the largest batch of the variant that meets the earliest deadline, or all
 * waiting queries if none does: these are late in any case, and the largest batch catches up
 * soonest.
 * @param variant index of the variant.
 */
export function fixedVariantBundle(bundle: RamsisBundle, variant: number): RamsisBundle {
  const serviceMs = serviceMsByVariant(bundle)[variant];
  assert(serviceMs !== undefined, "a variant has service times");
  return deadlineAwareBundle(bundle, (queued, slackMs) =>
    largestInTime(variant, serviceMs, queued, slackMs),
  );
}

/**
 * The largest batch of a variant within the slack; if none fits, the largest.
 * @param serviceMs by batch size less one, non-decreasing.
 */
function largestInTime(
  variant: number,
  serviceMs: Float64Array,
  queued: number,
  slackMs: number,
): Decision {
  const largest = Math.min(queued, serviceMs.length);
  const inTime = Math.min(largest, largestWithin(serviceMs, slackMs));
  return { variant, batch: inTime === 0 ? largest : inTime };
}

/**
 * The same application served greedily, as a bundle: each state runs the most accurate variant that
 * serves all queued queries within the slack; if none does, the fastest, with the largest batch
 * that it serves in time.
 *
 * Unlike a policy, it ignores the queries that arrive while the batch runs.
 */
export function greedyBundle(bundle: RamsisBundle): RamsisBundle {
  const task = taskOf(bundle);
  const serviceMs = serviceMsByVariant(bundle);
  return deadlineAwareBundle(bundle, (queued, slackMs) => {
    const inTime = mostAccurate(
      task,
      (variant) => (serviceMs[variant]?.[queued - 1] ?? Number.POSITIVE_INFINITY) <= slackMs,
    );
    if (inTime >= 0) return { variant: inTime, batch: queued };
    const largest = Math.min(queued, ...serviceMs.map(({ length }) => length));
    const fastest = fastestVariant(serviceMs, largest);
    return largestInTime(fastest, serviceMs[fastest] ?? new Float64Array(), queued, slackMs);
  });
}

/**
 * Throughput a variant must have over the load. The text of RAMSIS §7 has none, its published
 * artifact 5 %.
 */
const HEADROOM = 1.05;

/**
 * Jellyfish+ as a bundle: at each load the most accurate variant that has a batch size which takes
 * at most half the SLO and whose throughput on all workers exceeds the load; the largest such batch
 * is the largest it runs. The last resort if no variant has one.
 *
 * Half the SLO is for waiting. Source: RAMSIS §7 and appendix I; Nigade et al., "Jellyfish: Timely
 * Inference Serving for Dynamic Edge Networks", RTSS 2022, extended there to several workers.
 */
export function jellyfishBundle(bundle: RamsisBundle): RamsisBundle {
  const task = taskOf(bundle);
  const serviceMs = serviceMsByVariant(bundle);
  const workerCount = workerCountOf(bundle);
  const sloMs = decisionSloMs(bundle.cluster, bundle.slo.latencyMs);
  return loadGranularBundle(bundle, (loadQps): Decision => {
    const batches = serviceMs.map((byBatch) =>
      largestCarrying(byBatch, sloMs / 2, (HEADROOM * loadQps) / workerCount),
    );
    const variant = mostAccurate(task, (index) => (batches[index] ?? 0) > 0);
    if (variant >= 0) return { variant, batch: batches[variant] ?? 0 };
    return lastResort(bundle);
  });
}

/**
 * Largest batch that takes at most `limitMs` and serves at least `qps` on one worker; 0 if there is
 * no such batch.
 * @param serviceMs by batch size less one.
 */
function largestCarrying(serviceMs: Float64Array, limitMs: number, qps: number): number {
  return (
    serviceMs.findLastIndex((ms, index) => ms <= limitMs && (1000 * (index + 1)) / ms >= qps) + 1
  );
}

/**
 * Measures a cluster that runs one variant only at a steady load, given as a bundle of one level.
 * @returns 99th percentile of the latency from arrival to completion, ms; infinite if a query was
 * never served.
 */
export type ResponseLatencyProfiler = (cluster: RamsisBundle, loadQps: number) => number;

/**
 * ModelSwitching as a bundle: at each load the most accurate variant whose 99th percentile response
 * latency, measured beforehand on this cluster at this load, is within the SLO; the last resort
 * without one. The largest batch it runs takes half the SLO, as with Jellyfish+.
 *
 * The loads are profiled upwards, each from the variant of the load before: one whose response
 * latency is too long at a load is not tried at a higher one. Source: RAMSIS §7; Zhang et al.,
 * "Model-Switching: Dealing with Fluctuating Workloads in Machine-Learning-as-a-Service Systems",
 * HotCloud 2020.
 */
export function modelSwitchingBundle(
  bundle: RamsisBundle,
  profile: ResponseLatencyProfiler,
): RamsisBundle {
  const { slo, levels } = bundle;
  const { variants } = taskOf(bundle);
  const sloMs = decisionSloMs(bundle.cluster, slo.latencyMs);
  const accuracyOf = ({ variant }: Decision) => variants[variant]?.accuracy ?? Number.NaN;
  const candidates = serviceMsByVariant(bundle)
    .map((ms, variant) => ({ variant, batch: Math.max(1, largestWithin(ms, sloMs / 2)) }))
    .sort((a, b) => accuracyOf(b) - accuracyOf(a));
  const isInTime = (candidate: Decision, loadQps: number): boolean => {
    const steady = { ...bundle, levels: levels.filter((level) => level.loadQps === loadQps) };
    return (
      profile(
        loadGranularBundle(steady, () => candidate),
        loadQps,
      ) <= slo.latencyMs
    );
  };
  return loadGranularBundle(bundle, (loadQps) => {
    let candidate = candidates[0];
    while (candidate !== undefined && !isInTime(candidate, loadQps)) {
      candidates.shift();
      candidate = candidates[0];
    }
    return candidate ?? lastResort(bundle);
  });
}
