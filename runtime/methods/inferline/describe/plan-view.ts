/** Plan of an InferLine level with tasks, variants and hardware by name. */
import type {
  InferlineBundle,
  InferlineLevel,
  Pool,
  TrafficSample,
} from "../../../bundle/schema.ts";

export interface PlanView {
  /** In the unit of the pools' prices. */
  readonly costPerHour: number;
  /** In the order of the tasks. */
  readonly stages: readonly StageView[];
  /** Figures by the estimator, on all sample traces. */
  readonly estimate: TrafficSample["estimate"];
  /** Cost of the greedy plan alone; null if it found no plan. */
  readonly greedyCostPerHour: number | null;
  /** The optimum costs at most this fraction less. */
  readonly provenGap: number;
}

interface StageView {
  readonly task: string;
  readonly hardware: string;
  readonly batch: number;
  readonly replicas: number;
  readonly variant: string;
  readonly pool: string;
  /** Time of a full batch. */
  readonly latencyMs: number;
  readonly throughputQps: number;
  /** Mean queries per request. */
  readonly scaleFactor: number;
  /** Load over the throughput of all replicas. */
  readonly provisioningRatio: number;
}

export function planView(
  { tasks, cluster }: Pick<InferlineBundle, "tasks" | "cluster">,
  { plan, sample, solve }: Pick<InferlineLevel, "plan" | "sample" | "solve">,
): PlanView {
  return {
    costPerHour: plan.costPerHour,
    stages: plan.stages.map(({ variant, pool: index, batch, replicas, ...figures }, task) => {
      const pool = cluster.pools[index];
      return {
        task: tasks[task]?.name ?? "",
        hardware: pool === undefined ? "" : hardwareOf(pool),
        batch,
        replicas,
        variant: tasks[task]?.variants[variant]?.name ?? "",
        pool: pool?.name ?? "",
        ...figures,
      };
    }),
    estimate: sample.estimate,
    greedyCostPerHour: solve.greedyCostPerHour,
    provenGap: solve.provenGap,
  };
}

/** A pool without stated hardware is called by its name. */
export function hardwareOf({ name, hardware }: Pool): string {
  return hardware ?? name;
}

export interface TrafficView extends Omit<TrafficSample, "envelope" | "estimate"> {
  readonly envelope: readonly EnvelopeWindow[];
}

interface EnvelopeWindow {
  readonly windowMs: number;
  /** Largest number in any window of that length. */
  readonly requests: number;
  /** Requests over the length of the window. */
  readonly qps: number;
}

/** Returns a sample with its envelope window by window. */
export function trafficView({ envelope, estimate: _, ...sample }: TrafficSample): TrafficView {
  const requestsByWindow = envelope.requests.data;
  const windows = Array.from(envelope.windowMs.data, (windowMs, window) => {
    const requests = requestsByWindow[window] ?? Number.NaN;
    return { windowMs, requests, qps: (1000 * requests) / windowMs };
  });
  return { ...sample, envelope: windows };
}
