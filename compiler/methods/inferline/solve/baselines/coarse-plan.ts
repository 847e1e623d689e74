/** Plans the pipeline as one black box: the baseline of InferLine §6. */
import {
  type InferlineBundle,
  MICROS,
  type ProvisioningPlan,
  priceMicros,
  type StagePlan,
} from "stratagem-runtime/internal/bundle/schema";
import { taskGraphOf } from "stratagem-runtime/internal/core/graph/task-graph";
import { slidingPeakRate } from "../../../../numeric/traffic-envelope.ts";
import { serviceTimeMs } from "../service-time.ts";

interface CoarseOptions {
  /** Sample trace, non-decreasing, from 0 to `durationMs`. */
  readonly arrivalMs: Float64Array;
  readonly durationMs: number;
  /** [taskCount]: mean queries that reach a task per request. */
  readonly scaleFactors: readonly number[];
  /**
   * Mean: CG-Mean, for the mean rate of the sample. Peak: CG-Peak, for the highest in a sliding
   * window as long as the SLO.
   */
  readonly sizing: "mean" | "peak";
}

/** Hardware of a task. */
interface Place {
  readonly variant: number;
  readonly pool: number;
  readonly priceMicros: number;
  /** Profiled sizes, ascending. */
  readonly sizes: readonly number[];
  /** Service time of a batch of b at index b − 1. */
  readonly batchMs: Float64Array;
}

/**
 * Coarse-grained provisioning: the pipeline is one black box that is replicated as a unit, one
 * replica of every task. Source: InferLine §6.
 *
 * Fixed here: every task is on the hardware where a batch of one takes least (of equals the
 * cheapest). The unit has one maximum batch, the largest profiled size of any task with which the
 * longest path without waiting still meets the SLO; a task takes the largest of its own sizes that
 * is not above it, or its smallest. The capacity of a unit is that of its slowest task, and there
 * are as many units as the rate needs.
 *
 * @returns null if no batch meets the SLO, or the pools have too few workers.
 */
export function coarsePlan(
  frame: Pick<InferlineBundle, "tasks" | "entryBranch" | "cluster" | "slo">,
  { arrivalMs, durationMs, scaleFactors, sizing }: CoarseOptions,
): ProvisioningPlan | null {
  const places = frame.tasks.map((_, task) => fastestPlace(frame, task));
  const batches = largestBatches(frame, places);
  if (batches === null) return null;
  const meanQps = (1000 * arrivalMs.length) / durationMs;
  const rateQps = sizing === "mean" ? meanQps : slidingPeakRate(arrivalMs, frame.slo.latencyMs);
  const throughputs = places.map((place, task) => throughputQps(place, batches[task] ?? 1));
  const unitQps = Math.min(...throughputs.map((qps, task) => qps / (scaleFactors[task] ?? 1)));
  const units = Math.max(1, Math.ceil(rateQps / unitQps));
  const stages = places.map(({ variant, pool, batchMs }, task): StagePlan => {
    const batch = batches[task] ?? 1;
    const own = throughputs[task] ?? Number.NaN;
    const scaleFactor = scaleFactors[task] ?? 1;
    return {
      variant,
      pool,
      batch,
      replicas: units,
      latencyMs: batchMs[batch - 1] ?? Number.NaN,
      throughputQps: own,
      scaleFactor,
      provisioningRatio: (meanQps * scaleFactor) / (units * own),
    };
  });
  const isTooMuch = frame.cluster.pools.some(({ workers }, pool) => {
    return units * places.filter((place) => place.pool === pool).length > workers;
  });
  if (isTooMuch) return null;
  const micros = places.reduce((sum, { priceMicros }) => sum + units * priceMicros, 0);
  return { costPerHour: micros / MICROS, stages };
}

function fastestPlace(
  { tasks, cluster }: Pick<InferlineBundle, "tasks" | "cluster">,
  task: number,
): Place {
  const places = (tasks[task]?.variants ?? []).flatMap(({ profiles }, variant) =>
    profiles.flatMap((profile, pool): Place[] => {
      const priced = cluster.pools[pool];
      if (profile === null || priced === undefined) return [];
      return [
        {
          variant,
          pool,
          priceMicros: priceMicros(priced),
          sizes: Array.from(profile.batches.data),
          batchMs: Float64Array.from(profile.serviceTimes.decisionMs.data),
        },
      ];
    }),
  );
  const [fastest] = places.sort(
    (a, b) =>
      (a.batchMs[0] ?? Number.NaN) - (b.batchMs[0] ?? Number.NaN) ||
      a.priceMicros - b.priceMicros ||
      a.pool - b.pool,
  );
  if (fastest === undefined) throw new RangeError("stage without hardware with a price");
  return fastest;
}

/**
 * Returns the largest common batch size that meets the SLO, per task; null if the smallest does
 * not.
 */
function largestBatches(
  frame: Pick<InferlineBundle, "tasks" | "entryBranch" | "cluster" | "slo">,
  places: readonly Place[],
): number[] | null {
  const graph = taskGraphOf(frame);
  const hopMs = frame.cluster.communicationLatencyMs;
  const sizes = [...new Set(places.flatMap((place) => place.sizes))].sort((a, b) => b - a);
  for (const size of sizes) {
    const batches = places.map((place) => {
      return place.sizes.findLast((own) => own <= size) ?? place.sizes[0] ?? 1;
    });
    const stageMs = places.map(({ batchMs }, task) => {
      return batchMs[(batches[task] ?? 1) - 1] ?? Number.POSITIVE_INFINITY;
    });
    if (serviceTimeMs({ graph, hopMs }, stageMs) <= frame.slo.latencyMs) return batches;
  }
  return null;
}

function throughputQps({ batchMs }: Place, batch: number): number {
  return (1000 * batch) / (batchMs[batch - 1] ?? Number.POSITIVE_INFINITY);
}
