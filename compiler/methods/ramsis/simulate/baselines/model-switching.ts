/** Serves by measured response latencies, as ModelSwitching does. */

import type { RamsisBundle } from "stratagem-runtime/internal/bundle/schema";
import { decisionSloMs } from "stratagem-runtime/internal/core/decision-slo";
import {
  type Decision,
  largestWithin,
  lastResort,
  loadGranularBundle,
  serviceMsByVariant,
  taskOf,
} from "../baseline-bundle.ts";

/**
 * Measures a cluster that runs one variant only at a steady load, given as a bundle of one level.
 * @returns 99th percentile of the latency from arrival to completion, ms; infinite if a query was
 * never served.
 */
export type ResponseLatencyProfiler = (cluster: RamsisBundle, loadQps: number) => number;

/**
 * ModelSwitching as a bundle: at each load the most accurate variant whose 99th percentile response
 * latency, measured beforehand on this cluster at this load, is within the SLO; the last resort
 * where none is. The largest batch it runs takes half the SLO, as with Jellyfish+.
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
