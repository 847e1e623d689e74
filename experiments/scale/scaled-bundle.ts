/** The policy of a committed bundle, solved again for another cluster. */

import { ramsisMethod } from "stratagem/internal/methods/ramsis/ramsis";
import type { RamsisBundle } from "stratagem-runtime/internal/bundle/schema";

export interface ClusterSketch {
  readonly workers: number;
  /** What a batch takes to its worker and back beside its computing, ms; the worker waits. */
  readonly roundTripMs: number;
  readonly loadQps: number;
}

export interface ScaledBundle {
  readonly bundle: RamsisBundle;
  readonly solveMs: number;
}

/** One level, for its load; service times are those of the bundle and a round trip each. */
export async function scaledBundle(
  bundle: RamsisBundle,
  { workers, roundTripMs, loadQps }: ClusterSketch,
  nowMs: () => number,
): Promise<ScaledBundle> {
  const { serviceTimes, ...task } = bundle.tasks[0] ?? missing();
  const { decisionMs } = serviceTimes;
  const data = Float64Array.from(decisionMs.data, (ms) => ms + roundTripMs);
  const remote = { ...serviceTimes, decisionMs: { ...decisionMs, data } as typeof decisionMs };
  const pools = bundle.cluster.pools.map((pool) => ({ ...pool, workers }));
  const frame = ramsisMethod.frameOf({
    ...bundle,
    tasks: [{ ...task, serviceTimes: { ...remote, quantiles: null } }],
    cluster: { ...bundle.cluster, pools },
  });
  const startMs = nowMs();
  const { level } = await ramsisMethod.solveLevel(frame, loadQps, nowMs);
  const solveMs = nowMs() - startMs;
  return { bundle: ramsisMethod.bundle(frame, [level], bundle.provenance), solveMs };
}

function missing(): never {
  throw new RangeError("a bundle of RAMSIS has a task");
}
