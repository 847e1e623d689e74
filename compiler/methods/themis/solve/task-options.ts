/** Options of one task at a load, offered to its frontier. Source: Themis §4.3. */
import type { Frontier } from "../../../numeric/frontier.ts";
import type { ScalingTask, TaskScale } from "./problem.ts";

/** Allowed choices; arrays are in the order of the tasks. */
export type ScalingMode =
  /** Instances of one core. */
  | { readonly kind: "horizontal" }
  /** A fixed number of instances of each task, all with equal cores, at least `leastCores` each. */
  | {
      readonly kind: "vertical";
      readonly instances: readonly number[];
      readonly leastCores?: readonly number[];
    }
  /** Instances with a fixed number of cores. */
  | { readonly kind: "sized"; readonly cores: readonly number[] }
  | { readonly kind: "joint" };

/** Instances of one task, with any batches. */
export type InstancesOf = Pick<TaskScale, "cores" | "instances">;

/**
 * A mode in which the first tasks have these instances, the one after them none of the excluded
 * ones, and the following tasks all that the mode allows.
 */
export interface NarrowedMode {
  readonly kind: "narrowed";
  readonly of: ScalingMode;
  readonly fixed: readonly InstancesOf[];
  readonly except: readonly InstancesOf[];
}

/**
 * Allowed choices of one task: cores of an instance, both ends included, and a number of instances,
 * or any (null).
 */
export interface TaskLimits {
  readonly leastCores: number;
  readonly mostCores: number;
  readonly instances: number | null;
  /** Excluded instances; default: none. */
  readonly except?: readonly InstancesOf[];
}

/**
 * Offers a frontier the options of a task: cost of all of its cores, ms without the hop, batch,
 * cores of one instance.
 * @param stageQps queries of this task per second. Options above `out.limitMs` need not be offered.
 */
export type TaskOptionsOf = (
  stage: ScalingTask,
  stageQps: number,
  limits: TaskLimits,
  out: Frontier,
) => void;

/**
 * Options with the paper's queueing, (b - 1) / lambda: more instances than carry the load never
 * help. Fewest cores, then the smallest batch first.
 */
export const paperOptions: TaskOptionsOf = (stage, stageQps, limits, out) => {
  const { maxBatch, latencyMs, coreCost = 1 } = stage;
  const { leastCores, mostCores, instances } = limits;
  const limitMs = out.limitMs - out.addedMs;
  const betweenMs = 1000 / stageQps;
  const fewestPossible = instances ?? 1;
  for (let cores = leastCores; cores <= mostCores; cores++) {
    const row = (cores - 1) * maxBatch - 1;
    let fewest = Number.POSITIVE_INFINITY;
    let leastMs = Number.POSITIVE_INFINITY;
    for (let batch = 1; batch <= maxBatch; batch++) {
      const processingMs = latencyMs[row + batch] as number;
      const totalMs = processingMs + (batch - 1) * betweenMs;
      if (totalMs > limitMs) continue;
      // A smaller batch did as well with the same cores each, so a batch that is no faster must
      // need fewer instances.
      const isSlower = totalMs >= leastMs;
      if (isSlower && fewest === fewestPossible) continue;
      const capacityQps = throughputQps(batch, processingMs);
      if (isSlower && !carries(fewest - 1, capacityQps, stageQps)) continue;
      if (instances !== null && !carries(instances, capacityQps, stageQps)) continue;
      const count = instances ?? leastInstances(capacityQps, stageQps);
      fewest = count;
      leastMs = totalMs;
      if (isExcept(limits, cores, count)) continue;
      out.offer(count * cores * coreCost, totalMs, batch, cores);
    }
  }
};

/** Returns whether a number of instances of a number of cores is excluded. */
export function isExcept({ except }: TaskLimits, cores: number, instances: number): boolean {
  return except?.some((one) => one.cores === cores && one.instances === instances) ?? false;
}

/**
 * Throughput of one instance with full batches; the authors' code adds queueing to the latency and
 * rounds, so that batches could never help.
 */
export function throughputQps(batch: number, processingMs: number): number {
  return (1000 * batch) / processingMs;
}

/** Returns whether a task is stable; utilisation 1 is allowed. */
export function carries(instances: number, capacityQps: number, stageQps: number): boolean {
  return instances * capacityQps >= stageQps;
}

/** Fewest instances that carry a load, by `carries` to the last bit. */
export function leastInstances(capacityQps: number, stageQps: number): number {
  const count = Math.ceil(stageQps / capacityQps);
  if (!carries(count, capacityQps, stageQps)) return count + 1;
  return count > 1 && carries(count - 1, capacityQps, stageQps) ? count - 1 : count;
}

/** Returns what a mode allows one task; no cores at all if it needs more than there are. */
export function limitsOf(
  mode: ScalingMode | NarrowedMode,
  stage: ScalingTask,
  at: number,
): TaskLimits {
  const { maxCores } = stage;
  if (mode.kind === "narrowed") {
    const fixed = mode.fixed[at];
    if (fixed !== undefined) {
      const { cores, instances } = fixed;
      return { leastCores: cores, mostCores: cores, instances };
    }
    const limits = limitsOf(mode.of, stage, at);
    return at === mode.fixed.length ? { ...limits, except: mode.except } : limits;
  }
  if (mode.kind === "joint") return { leastCores: 1, mostCores: maxCores, instances: null };
  if (mode.kind === "horizontal") return { leastCores: 1, mostCores: 1, instances: null };
  if (mode.kind === "sized") {
    const cores = wholeAt(mode.cores, at);
    return { leastCores: cores, mostCores: Math.min(cores, maxCores), instances: null };
  }
  const leastCores = mode.leastCores === undefined ? 1 : wholeAt(mode.leastCores, at);
  return { leastCores, mostCores: maxCores, instances: wholeAt(mode.instances, at) };
}

function wholeAt(numbers: readonly number[], at: number): number {
  const number = numbers[at];
  if (number === undefined || !Number.isInteger(number) || number < 1) {
    throw new RangeError("a scaling mode has an integer of at least 1 for each stage");
  }
  return number;
}
