/** Serves by load alone, as Jellyfish+ does. */

import type { RamsisBundle } from "stratagem-runtime/internal/bundle/schema";
import { decisionSloMs } from "stratagem-runtime/internal/core/decision-slo";
import {
  type Decision,
  lastResort,
  loadGranularBundle,
  mostAccurate,
  serviceMsByVariant,
  taskOf,
  workerCountOf,
} from "../baseline-bundle.ts";

/**
 * Throughput a variant must have over the load. The text of RAMSIS §7 has none, its published
 * artifact 5 %.
 */
const HEADROOM = 1.05;

/**
 * Jellyfish+ as a bundle: at each load the most accurate variant that has a batch size which takes
 * at most half the SLO and whose throughput on all workers exceeds the load; the largest such batch
 * is the largest it runs. The last resort where no variant has one.
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
 * Largest batch that takes at most `limitMs` and serves at least `qps` on one worker; 0 if none
 * does.
 * @param serviceMs by batch size less one.
 */
function largestCarrying(serviceMs: Float64Array, limitMs: number, qps: number): number {
  return (
    serviceMs.findLastIndex((ms, index) => ms <= limitMs && (1000 * (index + 1)) / ms >= qps) + 1
  );
}
