/** Pipelines that are made up, from a seed: variants whose time and accuracy rise together. */
import type { Leaf, PipelineProblem, PipelineTask } from "stratagem/internal/model/pipeline";
import { present } from "../harness/numbers.ts";

interface SeededShape {
  readonly seed: number;
  /** Of each task, null for the first. */
  readonly parents: readonly (number | null)[];
  readonly variants: number;
  /** Sizes 1, 2, 4, …, which take less and less per query. */
  readonly batches: number;
  /** By pool, each slower than the one before. */
  readonly servers: readonly number[];
}

interface DrawnVariant {
  readonly accuracy: number;
  readonly oneMs: number;
  /** To every task. */
  readonly fanouts: readonly number[];
}

export function seededPipeline({ seed, parents, ...shape }: SeededShape): PipelineProblem {
  const between = randomBetween(seed);
  const drawn = parents.map(() => {
    const slowestMs = between(8, 40);
    return Array.from({ length: shape.variants }, (_, index): DrawnVariant => {
      const rank = (index + 1) / shape.variants;
      const oneMs = slowestMs * rank ** 1.6 * between(0.85, 1.15);
      const fanouts = parents.map(() => between(0.5, 2.5));
      return { oneMs, fanouts, accuracy: 0.6 + 0.4 * rank ** 0.8 * between(0.98, 1) };
    });
  });
  const childrenOf = (task: number) =>
    parents.flatMap((parent, child) => (parent === task ? [child] : []));
  const tasks = drawn.map((variants, task): PipelineTask => {
    const children = childrenOf(task);
    return {
      name: `task${task}`,
      parent: parents[task] ?? null,
      children,
      entryShare: 1,
      variants: variants.map(({ accuracy, oneMs, fanouts }, index) => ({
        name: `v${index}`,
        accuracy,
        fanouts: children.map((child) => fanouts[child] ?? 1),
        configurations: shape.servers.flatMap((_, pool) =>
          Array.from({ length: shape.batches }, (__, power) => {
            const batch = 2 ** power;
            const latencyMs = oneMs * (1 + 0.7 * pool) * (0.5 + 0.5 * 2 ** (0.9 * power));
            return { pool, batch, latencyMs, throughputQps: (1000 * batch) / latencyMs };
          }),
        ),
      })),
    };
  });
  const ends = tasks.flatMap(({ children }, task) => (children.length === 0 ? [task] : []));
  const leaves = ends.map((task) => leafOf(tasks, task, ends.length));
  return { tasks, servers: shape.servers, leaves, oneBatchPerVariant: true };
}

function leafOf(tasks: readonly PipelineTask[], task: number, leafCount: number): Leaf {
  const path: number[] = [];
  for (let at: number | null = task; at !== null; at = present(tasks[at]).parent) path.unshift(at);
  const accuracies = path.reduce(
    (rows, step) =>
      rows.flatMap((row) => present(tasks[step]).variants.map(({ accuracy }) => row * accuracy)),
    [1],
  );
  return {
    task,
    path,
    weight: 1 / leafCount,
    latencyLimitMs: path.length * 75,
    accuracyByPath: Float64Array.from(accuracies),
  };
}

function randomBetween(seed: number): (low: number, high: number) => number {
  let state = (seed * 2654435761) >>> 0;
  return (low, high) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return low + ((high - low) * state) / 2 ** 32;
  };
}
