/**
 * Explains why a task of an InferLine plan is not cheaper: the effect of one replica less, a larger
 * batch or cheaper hardware, from the profiles alone.
 */
import {
  type InferlineBundle,
  type InferlineLevel,
  MICROS,
  type PoolProfile,
  priceMicros,
  type StagePlan,
  type StageTask,
} from "../../../bundle/schema.ts";
import { longestPathMs } from "../../../core/graph/longest-path.ts";
import { hardwareOf } from "./plan-view.ts";

export interface TaskLimits {
  readonly task: string;
  /** Null with one replica. */
  readonly oneReplicaLess: FewerReplicas | null;
  /** Null if the batch is the largest profiled one. */
  readonly nextBatch: LargerBatch | null;
  /** Pools with a lower price that can run the task, most expensive first. */
  readonly cheaperHardware: readonly CheaperHardware[];
}

export interface FewerReplicas {
  /** Load over the remaining throughput. */
  readonly provisioningRatio: number;
  /** Throughput: below the load. Queues: enough in the mean, but waiting exceeds the SLO. */
  readonly binds: "throughput" | "queues";
}

export interface LargerBatch {
  readonly batch: number;
  readonly latencyMs: number;
  /** Longest path through the pipeline with full batches at every task. */
  readonly pathMs: number;
  readonly binds: "latency" | "queues";
}

export interface CheaperHardware {
  readonly hardware: string;
  /** Longest path through the pipeline with single queries at every task. */
  readonly pathMs: number;
  /** Replicas that carry the mean load of the task, with the batch of the highest throughput. */
  readonly leastReplicas: number;
  readonly leastCostPerHour: number;
  /**
   * Latency: single queries miss the SLO. Workers: the pool has too few left. Cost: not cheaper.
   * Queues: any other reason.
   */
  readonly binds: "latency" | "workers" | "cost" | "queues";
}

/** In the order of the tasks. */
export function taskLimits(bundle: InferlineBundle, level: InferlineLevel): TaskLimits[] {
  return level.plan.stages.map((stage, task) => ({
    task: bundle.tasks[task]?.name ?? "",
    oneReplicaLess: fewerReplicas(stage),
    nextBatch: largerBatch(bundle, level, task, stage),
    cheaperHardware: cheaperHardware(bundle, level, task, stage),
  }));
}

function fewerReplicas({ replicas, provisioningRatio }: StagePlan): FewerReplicas | null {
  if (replicas === 1) return null;
  const ratio = (provisioningRatio * replicas) / (replicas - 1);
  return { provisioningRatio: ratio, binds: ratio > 1 ? "throughput" : "queues" };
}

function largerBatch(
  bundle: InferlineBundle,
  level: InferlineLevel,
  task: number,
  stage: StagePlan,
): LargerBatch | null {
  const profile = bundle.tasks[task]?.variants[stage.variant]?.profiles[stage.pool];
  const batch = profile?.batches.data.find((size) => size > stage.batch);
  if (profile === null || profile === undefined || batch === undefined) return null;
  const latencyMs = serviceMs(profile, batch);
  const latencies = level.plan.stages.map((one) => one.latencyMs).with(task, latencyMs);
  const pathMs = longestPathMs(bundle, latencies);
  return { batch, latencyMs, pathMs, binds: isLate(bundle, level, pathMs) ? "latency" : "queues" };
}

function cheaperHardware(
  bundle: InferlineBundle,
  level: InferlineLevel,
  task: number,
  stage: StagePlan,
): CheaperHardware[] {
  const { pools } = bundle.cluster;
  const of = bundle.tasks[task];
  const planned = pools[stage.pool];
  if (of === undefined || planned === undefined) return [];
  const price = priceMicros(planned);
  return pools
    .map((pool, index) => ({ pool, index, price: priceMicros(pool) }))
    .filter((other) => other.price < price)
    .sort((a, b) => b.price - a.price || a.index - b.index)
    .flatMap(({ pool, index, price: poolPrice }) => {
      const profile = profileOn(of, index);
      if (profile === null) return [];
      const pathMs = singlePathMs(bundle, level, task, serviceMs(profile, 1));
      const leastReplicas = Math.max(
        1,
        Math.ceil((level.sample.meanQps * stage.scaleFactor) / bestThroughputQps(profile)),
      );
      const leastMicros = leastReplicas * poolPrice;
      const taken = level.plan.stages.reduce(
        (sum, one, other) => sum + (one.pool === index && other !== task ? one.replicas : 0),
        0,
      );
      const binds = isLate(bundle, level, pathMs)
        ? "latency"
        : leastReplicas > pool.workers - taken
          ? "workers"
          : leastMicros >= stage.replicas * price
            ? "cost"
            : "queues";
      const leastCostPerHour = leastMicros / MICROS;
      return { hardware: hardwareOf(pool), pathMs, leastReplicas, leastCostPerHour, binds };
    });
}

/** Returns the profile of the variant that runs on a pool; null if no variant does. */
function profileOn({ variants }: StageTask, pool: number): PoolProfile | null {
  return variants.map(({ profiles }) => profiles[pool] ?? null).find((one) => one !== null) ?? null;
}

/** Returns the highest throughput of one replica over all batches. */
export function bestThroughputQps(profile: PoolProfile): number {
  const rates = Array.from(
    profile.batches.data,
    (size) => (1000 * size) / serviceMs(profile, size),
  );
  return Math.max(...rates);
}

function serviceMs({ serviceTimes }: PoolProfile, batch: number): number {
  return serviceTimes.decisionMs.data[batch - 1] ?? Number.NaN;
}

/** Returns the longest path with other hardware at one task. */
function singlePathMs(
  bundle: InferlineBundle,
  { plan }: InferlineLevel,
  task: number,
  ms: number,
): number {
  const latencies = plan.stages.map(({ variant, pool }, other) => {
    const profile = bundle.tasks[other]?.variants[variant]?.profiles[pool];
    return profile === null || profile === undefined ? Number.NaN : serviceMs(profile, 1);
  });
  return longestPathMs(bundle, latencies.with(task, ms));
}

/** Whether a path exceeds the part of the SLO that plans may use. */
function isLate({ slo }: InferlineBundle, { sample }: InferlineLevel, pathMs: number): boolean {
  return pathMs > slo.latencyMs * (1 - sample.margin);
}
