/** Plans of one choice of variants at any load and waiting quantile. */
import {
  type Pool,
  priceMicros,
  type ScaledVariant,
  type ThemisOptions,
  violationCeiling,
} from "stratagem-runtime/internal/bundle/schema";
import { type TaskGraph, taskGraphOf } from "stratagem-runtime/internal/core/graph/task-graph";
import { PoolFits } from "stratagem-runtime/internal/methods/themis/core/pool-fits";
import type { ServedTasks } from "../../../graph/served-tasks.ts";
import type { ThemisFrame } from "../../../model/frames.ts";
import { ExactScaler } from "./exact.ts";
import { packedPlan } from "./packed-plan.ts";
import { solveAsPaper } from "./paper.ts";
import { isPlan, type NoScalingPlan, type ScalingPlan, type ScalingProblem } from "./problem.ts";
import { stochasticOptions } from "./stochastic-options.ts";
import type { ScalingMode } from "./task-options.ts";

/** Maximum plans of several pools to try for one that fits: the cheapest pool is often full. */
const MAX_TRIED = 512;

/** So slow that the second query of a batch would never arrive in time. */
const ALONE_QPS = 1e-9;

/**
 * The plans of an application whose tasks have one variant each, at any load and for any quantile
 * of the waiting times. Problems are built once.
 */
export class ThemisPlanner {
  readonly problem: Omit<ScalingProblem, "loadQps">;
  /** Cores that all instances may have together, and the machines with these cores. */
  readonly coreBudget: number;
  readonly machines: PoolFits;
  /** Indexed by task. */
  readonly #pools: readonly number[];
  /** Cost of all cores. */
  readonly #mostCost: number;
  readonly #options: ThemisOptions;
  readonly #dispersion: number;
  /** Keyed by quantile; null is the paper's queueing. */
  readonly #scalers = new Map<number | null, ExactScaler>();

  constructor({ slo, arrivals, cluster, tasks, entryBranch, policy }: ThemisFrame) {
    const groups = groupsOf(taskGraphOf({ tasks, entryBranch }));
    this.#options = policy;
    this.#dispersion =
      arrivals.process === "gamma"
        ? arrivals.cv2
        : arrivals.process === "trace"
          ? arrivals.dispersion
          : 1;
    this.coreBudget = cluster.pools.reduce(
      (sum, { workers, cores }) => sum + workers * (cores ?? 1),
      0,
    );
    this.machines = new PoolFits(cluster);
    this.#pools = tasks.map(({ variants }) => onlyOf(variants).pool ?? 0);
    const coreCosts = coreCostsOf(cluster.pools);
    this.#mostCost = cluster.pools.reduce(
      (sum, { workers, cores }, pool) => sum + workers * (cores ?? 1) * (coreCosts?.[pool] ?? 1),
      0,
    );
    this.problem = {
      sloMs: slo.latencyMs,
      hopMs: cluster.communicationLatencyMs,
      stages: tasks.map(({ edges, scaleFactor, variants }, index) => {
        const { latency, pool = 0 } = onlyOf(variants);
        const { shape, data } = latency.ms;
        const [maxCores = 1, maxBatch = 1] = shape;
        return {
          ...(coreCosts === null ? {} : { coreCost: coreCosts[pool] ?? 1 }),
          parents: edges.flatMap(({ parent }) => (parent === null ? [] : [parent])),
          scale: scaleFactor,
          group: groups[index] ?? 1,
          maxBatch,
          maxCores,
          latencyMs: data as Float64Array,
        };
      }),
    };
  }

  /**
   * Returns the plan with the fewest cores, or the least cost if pools differ in the cost of a
   * core, that fits into the machines; if none fits, the one with the fewest cores.
   * @param quantile of the waiting times; null for the paper's queueing.
   */
  plan(loadQps: number, mode: ScalingMode, quantile: number | null): ScalingPlan | NoScalingPlan {
    if (this.#options.solver === "paper") return this.#asPaper(loadQps, mode);
    const scaler = this.#scaler(quantile);
    const answer = scaler.solve(loadQps, mode);
    return isPlan(answer) ? (this.#packed(scaler, answer, loadQps, mode) ?? answer) : answer;
  }

  /** Like `plan`, but null if no plan fits into the machines. */
  find(loadQps: number, mode: ScalingMode, quantile: number | null): ScalingPlan | null {
    if (this.#options.solver === "paper") {
      const answer = this.#asPaper(loadQps, mode);
      return isPlan(answer) && this.fits(answer) ? answer : null;
    }
    const scaler = this.#scaler(quantile);
    const answer = scaler.find(loadQps, mode);
    return answer === null ? null : this.#packed(scaler, answer, loadQps, mode);
  }

  /** Plans for queries so rare that none meets another. */
  alone(kind: "horizontal" | "joint"): ScalingPlan | NoScalingPlan {
    const scaler = this.#scaler(null);
    const answer = scaler.solve(ALONE_QPS, { kind });
    if (!isPlan(answer)) return answer;
    return this.#packed(scaler, answer, ALONE_QPS, { kind }) ?? answer;
  }

  /** Returns whether the instances of plans fit into the machines, all of them together. */
  fits(...plans: readonly Pick<ScalingPlan, "stages">[]): boolean {
    this.machines.clear();
    for (const { stages } of plans) {
      for (const [task, { instances, cores }] of stages.entries()) {
        this.machines.add(this.#pools[task] ?? 0, instances, cores);
      }
    }
    return this.machines.fits();
  }

  #packed(
    scaler: ExactScaler,
    first: ScalingPlan,
    loadQps: number,
    mode: ScalingMode,
  ): ScalingPlan | null {
    if (this.fits(first)) return first;
    if (!this.#hasRoom(scaler.fewestCores())) return null;
    const packed = packedPlan(first, {
      mode,
      mostCost: this.#mostCost,
      ...(this.machines.pools.length > 1 ? { maxTried: MAX_TRIED } : {}),
      fits: (plan) => this.fits(plan),
      find: (narrowed) => scaler.find(loadQps, narrowed),
    });
    if (packed !== null || mode.kind !== "joint") return packed;
    // Instances of one core fit wherever there are as many cores.
    const horizontal = scaler.find(loadQps, { kind: "horizontal" });
    return horizontal !== null && this.fits(horizontal) ? horizontal : null;
  }

  /**
   * Returns whether every pool has the least cores of its tasks: this rejects most combinations of
   * pools that do not fit.
   */
  #hasRoom(fewestCores: readonly number[]): boolean {
    return this.machines.pools.every(({ machines, machineCores }, pool) => {
      const own = fewestCores.filter((_, task) => this.#pools[task] === pool);
      return own.reduce((sum, cores) => sum + cores, 0) <= machines * machineCores;
    });
  }

  /** The paper has either horizontal or vertical scaling, not joint scaling. */
  #asPaper(loadQps: number, mode: ScalingMode): ScalingPlan | NoScalingPlan {
    const problem = { ...this.problem, loadQps };
    if (mode.kind !== "joint") return solveAsPaper(problem, mode);
    const horizontal = solveAsPaper(problem, { kind: "horizontal" });
    const vertical = solveAsPaper(problem, {
      kind: "vertical",
      instances: this.problem.stages.map(() => 1),
    });
    if (!isPlan(vertical)) return horizontal;
    return isPlan(horizontal) && horizontal.cores <= vertical.cores ? horizontal : vertical;
  }

  #scaler(quantile: number | null): ExactScaler {
    let scaler = this.#scalers.get(quantile);
    if (scaler === undefined) {
      const mostBatch = Math.max(...this.problem.stages.map(({ maxBatch }) => maxBatch));
      scaler =
        quantile === null
          ? new ExactScaler(this.problem)
          : new ExactScaler(this.problem, stochasticOptions(quantile, this.#dispersion, mostBatch));
      this.#scalers.set(quantile, scaler);
    }
    return scaler;
  }
}

/**
 * Cost of a core in each pool, in integer parts of a price; null if all cost the same, or some pool
 * has no price: then cores count.
 */
function coreCostsOf(pools: readonly Pool[]): number[] | null {
  const [first, ...others] = pools;
  if (first === undefined || others.length === 0) return null;
  if (pools.some(({ pricePerHour }) => pricePerHour === null || pricePerHour <= 0)) return null;
  const parts = pools.reduce((product, { cores }) => product * (cores ?? 1), 1);
  const costs = pools.map((pool) => (priceMicros(pool) * parts) / (pool.cores ?? 1));
  const divisor = costs.reduce(commonDivisor);
  return costs.map((cost) => cost / divisor);
}

function commonDivisor(a: number, b: number): number {
  return b === 0 ? a : commonDivisor(b, a % b);
}

/** Per task, mean queries that a fan-out makes of one row, which arrive at once. */
function groupsOf({ scopes, scopeByTask }: TaskGraph): number[] {
  const made: number[] = [];
  for (const { fanout, gathered } of scopes) {
    made.push(gathered === null ? (fanout ?? 1) : (made[gathered.scope] ?? 1) / gathered.window);
  }
  return Array.from(scopeByTask, (scope) => Math.max(1, made[scope] ?? 1));
}

/** Tasks for the estimator, whose hardware options are numbers of cores. */
export function servedTasksOf({ slo, cluster, tasks, entryBranch }: ThemisFrame): ServedTasks {
  return {
    graph: taskGraphOf({ tasks, entryBranch }),
    hopMs: cluster.communicationLatencyMs,
    violationCeiling: violationCeiling(slo),
    stages: tasks.map(({ variants }) => {
      const { shape, data } = onlyOf(variants).latency.ms;
      const [maxCores = 1, maxBatch = 1] = shape;
      return {
        hardware: Array.from({ length: maxCores }, (_, row) => ({
          batchMs: (data as Float64Array).subarray(row * maxBatch, (row + 1) * maxBatch),
        })),
      };
    }),
  };
}

function onlyOf(variants: readonly ScaledVariant[]): ScaledVariant {
  const [variant] = variants;
  if (variant === undefined) throw new RangeError("task without a variant");
  return variant;
}
