/**
 * Exact scaling in real arithmetic: the integer program of Themis §4.3, eq. 6, at a load lambda.
 *
 * Variables, for every task s: batch b(s), cores c(s) of one instance, instances n(s), all integers
 * above 0.
 *
 * min sum_s n(s) c(s) (eq. 6)
 * s.t. sum_{s on p} l(s, b(s), c(s)) + q(s, b(s)) + hop <= SLO for every path p (eq. 5)
 * lambda_s <= n(s) h(s, b(s), c(s)), h = 1000 b / l for every task s (eq. 6)
 *
 * lambda_s is the load times the mean queries of s per request. With `queueing: paper`, q(s, b) =
 * (b - 1) / lambda_s (eq. 4); `stochastic-options.ts` has the default. A mode (`ScalingMode`) fixes
 * n, for vertical scaling (§4.4.1), or c = 1, for horizontal (§4.4.2), or neither. Ours are: paths
 * instead of the paper's one chain, the hop, the cost of a core if pools differ in it, and the
 * least latency among the plans with the fewest cores.
 *
 * Only the Pareto frontier of (cores, latency) of each task matters, and of tasks in series or in
 * parallel only the merged one; the rest of a graph that is not series-parallel is searched. The
 * paper's dynamic programmes (Algorithms 1 and 2: `paper.ts`) keep one configuration per integer
 * millisecond instead.
 */
import assert from "node:assert/strict";
import {
  buckets,
  cheapestSeries,
  Frontier,
  mergeParallel,
  mergeSeries,
} from "../../../numeric/frontier.ts";
import { compositionOf, type Merge } from "./composition.ts";
import { PathSearch } from "./path-search.ts";
import type { NoScalingPlan, ScalingPlan, ScalingProblem, ScalingTask } from "./problem.ts";
import {
  limitsOf,
  type NarrowedMode,
  paperOptions,
  type ScalingMode,
  type TaskOptionsOf,
} from "./task-options.ts";

/**
 * Sums of the same latencies in another order differ in the last bits; this relative tolerance
 * keeps them within the SLO.
 */
const ROUNDING = 1e-12;

/** Solves one pipeline for many loads and modes; everything is allocated once. */
export class ExactScaler {
  readonly #problem: Omit<ScalingProblem, "loadQps">;
  readonly #optionsOf: TaskOptionsOf;
  readonly #merges: readonly Merge[];
  readonly #search: PathSearch;
  /** Indexed by part: the tasks, then the merges. */
  readonly #frontiers: readonly Frontier[];
  readonly #leastMs: Float64Array;
  readonly #limitMs: Float64Array;
  readonly #chosen: Int32Array;
  readonly #buckets = buckets();

  /**
   * @throws AssertionError unless latencies are above 0 (Infinity for disallowed options), scales
   * and the SLO above 0, and parents before their children.
   */
  constructor(problem: Omit<ScalingProblem, "loadQps">, optionsOf: TaskOptionsOf = paperOptions) {
    assertProblem(problem);
    const { merges, rest } = compositionOf(problem.stages.map(({ parents }) => parents));
    const partCount = problem.stages.length + merges.length;
    this.#problem = problem;
    this.#optionsOf = optionsOf;
    this.#merges = merges;
    this.#frontiers = Array.from({ length: partCount }, () => new Frontier());
    this.#search = new PathSearch(rest, this.#frontiers);
    this.#leastMs = new Float64Array(partCount);
    this.#limitMs = new Float64Array(partCount);
    this.#chosen = new Int32Array(partCount);
  }

  /**
   * Ties go to fewer cores at the tasks merged first (the earlier ones of a chain), then to fewer
   * cores per instance, then to the smaller batch.
   */
  solve(loadQps: number, mode: ScalingMode): ScalingPlan | NoScalingPlan {
    return this.find(loadQps, mode) ?? this.#binding(loadQps, mode);
  }

  /** Finds what `solve` finds, or null without a plan: finding the reason takes as long again. */
  find(loadQps: number, mode: ScalingMode | NarrowedMode): ScalingPlan | null {
    assert(loadQps > 0 && loadQps < Number.POSITIVE_INFINITY, "a load is above 0");
    const { sloMs } = this.#problem;
    this.#offerStages(loadQps, mode, sloMs * (1 + 2 * ROUNDING));
    const criticalMs = this.#criticalMs();
    if (!(criticalMs <= sloMs * (1 + ROUNDING))) return null;
    this.#narrow(criticalMs);
    this.#merge();
    return this.#plan();
  }

  /** Fewest cores of each task in any plan for the last call of `find`, if there was one. */
  fewestCores(): number[] {
    return this.#problem.stages.map(({ coreCost = 1 }, at) => {
      const { start, cores } = this.#frontier(at);
      return (cores[start] as number) / coreCost;
    });
  }

  #offerStages(loadQps: number, mode: ScalingMode | NarrowedMode, limitMs: number): void {
    const { stages, hopMs } = this.#problem;
    for (let at = 0; at < stages.length; at++) {
      const stage = stages[at] as ScalingTask;
      const frontier = this.#frontier(at);
      frontier.clear(hopMs, limitMs);
      this.#optionsOf(stage, loadQps * stage.scale, limitsOf(mode, stage, at), frontier);
      this.#leastMs[at] = frontier.leastMs();
    }
  }

  /** Latency of the longest path with every task at its fastest. */
  #criticalMs(): number {
    const least = this.#leastMs;
    let part = this.#problem.stages.length;
    for (const { kind, left, right } of this.#merges) {
      const [a, b] = [least[left] as number, least[right] as number];
      least[part++] = kind === "series" ? a + b : Math.max(a, b);
    }
    return this.#search.longestMs(least);
  }

  /**
   * Removes options that are too slow even with the fastest of all other tasks, and options that
   * cost more than a quickly found plan.
   */
  #narrow(criticalMs: number): void {
    const limit = this.#limitMs;
    const least = this.#leastMs;
    const { sloMs } = this.#problem;
    const allowedMs = sloMs * (1 + 2 * ROUNDING);
    this.#search.limits(allowedMs, least, limit);
    const stageCount = this.#problem.stages.length;
    for (let index = this.#merges.length - 1; index >= 0; index--) {
      const { kind, left, right } = this.#merges[index] as Merge;
      const partMs = limit[stageCount + index] as number;
      limit[left] = kind === "series" ? partMs - (least[right] as number) : partMs;
      limit[right] = kind === "series" ? partMs - (least[left] as number) : partMs;
    }
    // If every task is slower than its fastest by the ratio of the SLO to the longest path, the
    // plan meets the SLO.
    const slower = Math.max(1, sloMs / criticalMs);
    let found = 0;
    let fewest = 0;
    for (let at = 0; at < stageCount; at++) {
      const frontier = this.#frontier(at);
      frontier.trim(limit[at] as number);
      const point = frontier.indexWithin((least[at] as number) * slower);
      found += frontier.cores[point] as number;
      fewest += frontier.cores[frontier.start] as number;
    }
    for (let at = 0; at < stageCount; at++) {
      const frontier = this.#frontier(at);
      frontier.cut(found - fewest + (frontier.cores[frontier.start] as number));
    }
  }

  #merge(): void {
    const last = this.#merges.length - 1;
    const isWhole = this.#search.partCount === 1;
    let part = this.#problem.stages.length;
    for (let index = 0; index <= last; index++) {
      const { kind, left, right } = this.#merges[index] as Merge;
      const [a, b, out] = [this.#frontier(left), this.#frontier(right), this.#frontier(part)];
      const limitMs = this.#limitMs[part] as number;
      if (kind === "parallel") mergeParallel(a, b, limitMs, out);
      else if (isWhole && index === last) cheapestSeries(a, b, limitMs, out);
      else mergeSeries(a, b, limitMs, this.#buckets, out);
      part++;
    }
  }

  #plan(): ScalingPlan {
    const { stages, sloMs } = this.#problem;
    const chosen = this.#chosen;
    const { cores: cost, latencyMs } = this.#search.cheapest(sloMs * (1 + 2 * ROUNDING), chosen);
    for (let index = this.#merges.length - 1; index >= 0; index--) {
      const { left, right } = this.#merges[index] as Merge;
      const part = stages.length + index;
      const { first, second } = this.#frontier(part);
      chosen[left] = first[chosen[part] as number] as number;
      chosen[right] = second[chosen[part] as number] as number;
    }
    const scales = stages.map(({ coreCost = 1 }, at) => {
      const { cores: total, first, second } = this.#frontier(at);
      const point = chosen[at] as number;
      const each = second[point] as number;
      return {
        batch: first[point] as number,
        cores: each,
        instances: (total[point] as number) / (each * coreCost),
      };
    });
    const cores = scales.reduce((sum, one) => sum + one.cores * one.instances, 0);
    return { cores, cost, latencyMs: Math.min(latencyMs, sloMs), stages: scales };
  }

  /** Offers the tasks again without the SLO, which had cut them. */
  #binding(loadQps: number, mode: ScalingMode): NoScalingPlan {
    this.#offerStages(loadQps, mode, Number.MAX_VALUE);
    const least = this.#leastMs;
    const overloaded = this.#problem.stages.findIndex((_, at) => this.#frontier(at).count === 0);
    if (overloaded >= 0) {
      return { bindingStage: overloaded, leastLatencyMs: Number.POSITIVE_INFINITY };
    }
    return bindingOf(this.#problem.stages, least);
  }

  #frontier(part: number): Frontier {
    return this.#frontiers[part] as Frontier;
  }
}

/** Finds the slowest task on the longest path when every task is at its fastest. */
export function bindingOf(stages: readonly ScalingTask[], leastMs: Float64Array): NoScalingPlan {
  const endMs = new Float64Array(stages.length);
  const before = new Int32Array(stages.length).fill(-1);
  let end = 0;
  for (const [at, { parents }] of stages.entries()) {
    let startMs = 0;
    for (const parent of parents) {
      const readyMs = endMs[parent] as number;
      if (readyMs <= startMs) continue;
      startMs = readyMs;
      before[at] = parent;
    }
    endMs[at] = startMs + (leastMs[at] as number);
    if ((endMs[at] as number) > (endMs[end] as number)) end = at;
  }
  let bindingStage = end;
  for (let at = end; at >= 0; at = before[at] as number) {
    if ((leastMs[at] as number) >= (leastMs[bindingStage] as number)) bindingStage = at;
  }
  return { bindingStage, leastLatencyMs: endMs[end] as number };
}

export function assertProblem({ sloMs, hopMs, stages }: Omit<ScalingProblem, "loadQps">): void {
  assert(sloMs > 0 && sloMs < Number.POSITIVE_INFINITY, "an SLO is above 0");
  assert(hopMs >= 0 && hopMs < Number.POSITIVE_INFINITY, "a hop takes at least 0 ms");
  assert(stages.length > 0, "a pipeline has stages");
  for (const [at, { parents, scale, maxBatch, maxCores, latencyMs }] of stages.entries()) {
    assert(scale > 0 && scale < Number.POSITIVE_INFINITY, "a stage has queries");
    assert(maxBatch >= 1 && maxCores >= 1, "a stage has a batch and a core at least");
    assert(latencyMs.length === maxBatch * maxCores, "latencies by cores and batch");
    assert(
      latencyMs.every((ms) => ms > 0),
      "latencies are above 0",
    );
    assert(
      parents.every((parent) => parent >= 0 && parent < at),
      "parents come first",
    );
  }
}
