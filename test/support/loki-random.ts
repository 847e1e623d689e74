import type { PipelineProblem, PipelineTask } from "../../compiler/model/pipeline.ts";
import { Rng } from "../../runtime/core/rng.ts";

export interface RandomShape {
  /** Parent of each task, null for entries. */
  readonly parents: readonly (number | null)[];
  readonly variants: number;
  readonly batches: number;
  readonly servers: readonly number[];
  readonly oneBatchPerVariant: boolean;
  /** Whether accuracies are a product of the tasks' or any table. */
  readonly isProduct: boolean;
  /** Chance of a fan-out of 0. */
  readonly zeroFanout: number;
  /** Limit of a path, as a multiple of the sum of the slowest variants' latencies at batch 1. */
  readonly tightness: number;
}

/**
 * A problem whose more accurate variants are slower, with batches that take less time per query.
 * Deterministic.
 */
export function randomProblem(seed: number, shape: RandomShape): PipelineProblem {
  const rng = new Rng(seed, 7);
  const between = (low: number, high: number) => low + (high - low) * rng.nextFloat();
  const { parents } = shape;
  const childrenOf = parents.map((_, task) =>
    parents.flatMap((p, child) => (p === task ? [child] : [])),
  );
  const tasks = parents.map((parent, task): PipelineTask => {
    const children = childrenOf[task] ?? [];
    const slowest = between(5, 40);
    return {
      name: `task${task}`,
      parent,
      children,
      entryShare: parent === null ? between(0.3, 1) : 1,
      variants: Array.from({ length: shape.variants }, (_, variant) => {
        const rank = (variant + 1) / shape.variants;
        const oneMs = slowest * rank ** 1.5 * between(0.8, 1.2);
        return {
          name: `v${variant}`,
          accuracy: Math.round(1000 * (0.5 + 0.5 * rank ** 0.7)) / 1000,
          fanouts: children.map(() => (rng.nextFloat() < shape.zeroFanout ? 0 : between(0.3, 3))),
          configurations: shape.servers.flatMap((_, pool) =>
            Array.from({ length: shape.batches }, (__, power) => {
              const batch = 2 ** power;
              const latencyMs = oneMs * (1 + pool * 0.7) * (0.4 + 0.6 * batch ** 0.85);
              return { pool, batch, latencyMs, throughputQps: (1000 * batch) / latencyMs };
            }),
          ),
        };
      }),
    };
  });
  const ends = tasks.flatMap(({ children }, task) => (children.length === 0 ? [task] : []));
  const leaves = ends.map((task) => {
    const path: number[] = [];
    for (let at: number | null = task; at !== null; at = parents[at] ?? null) path.unshift(at);
    const slowest = path.map((step) =>
      Math.max(...(tasks[step]?.variants ?? []).map((v) => v.configurations[0]?.latencyMs ?? 0)),
    );
    const table = path.reduce(
      (rows: number[], step) =>
        rows.flatMap((row) => (tasks[step]?.variants ?? []).map(({ accuracy }) => row * accuracy)),
      [1],
    );
    return {
      task,
      weight: 1 / ends.length,
      path,
      latencyLimitMs: shape.tightness * slowest.reduce((sum, ms) => sum + ms, 0),
      accuracyByPath: Float64Array.from(table, (accuracy) =>
        shape.isProduct ? accuracy : Math.round(20 * rng.nextFloat()) / 20,
      ),
    };
  });
  const { servers, oneBatchPerVariant } = shape;
  return { tasks, servers, leaves, oneBatchPerVariant };
}

/** A shape small enough for brute force: chains, trees, forests, one or two pools. */
export function tinyShape(seed: number): RandomShape {
  const rng = new Rng(seed, 8);
  const pick = <T>(items: readonly T[]): T => {
    const item = items[Math.floor(rng.nextFloat() * items.length)];
    if (item === undefined) throw new Error("nothing to pick from");
    return item;
  };
  const parents = pick([
    [null],
    [null, 0],
    [null, 0],
    [null, null],
    [null, 0, 0],
    [null, 0, 1],
    [null, 0, null],
  ]);
  const isTwoPools = parents.length < 3 && rng.nextFloat() < 0.35;
  const variants = parents.length === 3 ? 2 : pick([2, 3]);
  return {
    parents,
    variants,
    batches: isTwoPools || parents.length * variants >= 6 ? pick([1, 2]) : 2,
    servers: isTwoPools
      ? pick([
          [2, 2],
          [1, 3],
          [3, 1],
        ])
      : [pick(parents.length === 3 ? [3, 4] : [3, 4, 5])],
    oneBatchPerVariant: rng.nextFloat() < 0.7,
    isProduct: rng.nextFloat() < 0.6,
    zeroFanout: pick([0, 0, 0.3]),
    tightness: pick([0.6, 0.9, 1.2, 2]),
  };
}
