/** End-to-end accuracy of every path of a pipeline. Source: Loki §4.1, Â(p). */

import { type FlatTask, pathTo } from "../../../graph/flat-tasks.ts";
import type { LokiPolicy, PathAccuracy } from "../../../spec/application.ts";
import { compileExpression } from "../../../spec/document/expression.ts";

export interface LeafAccuracies {
  /** Index of the task. */
  readonly task: number;
  /** The weights of all leaves sum to 1. */
  readonly weight: number;
  /** Tasks from the entry to the leaf. */
  readonly path: readonly number[];
  /** Number of variants of each of them. */
  readonly shape: readonly number[];
  /** Row-major over the variants of the path; null for the product of their accuracies. */
  readonly accuracies: Float64Array | null;
}

/** Maximum paths to a leaf in a table. Products of more paths are computed when needed. */
export const MAX_TABLE_PATHS = 100_000;

export function leavesOf(tasks: readonly FlatTask[], policy: LokiPolicy): LeafAccuracies[] {
  const leaves = tasks.flatMap(({ children }, task) => (children.length === 0 ? [task] : []));
  const weights = leaves.map((leaf) => policy.leafWeights[tasks[leaf]?.task.name ?? ""] ?? 0);
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const found = leaves.map((task, index) => {
    const path = pathTo(tasks, task);
    const shape = path.map((at) => tasks[at]?.task.variants.length ?? 0);
    const count = shape.reduce((product, size) => product * size, 1);
    return { task, weight: (weights[index] ?? 0) / total, path, shape, count };
  });
  const areProducts =
    policy.accuracyOf.kind === "product" && found.some(({ count }) => count > MAX_TABLE_PATHS);
  return found.map(({ count, ...leaf }) => {
    if (areProducts) return { ...leaf, accuracies: null };
    const accuracyOf = pathEvaluator(policy.accuracyOf, leaf.path, tasks);
    const accuracies = Float64Array.from({ length: count }, (_, cell) =>
      accuracyOf(variantsOf(cell, leaf.shape)),
    );
    return { ...leaf, accuracies };
  });
}

/** Returns the variant of each task of a path, from its index in a row-major table. */
export function variantsOf(cell: number, shape: readonly number[]): number[] {
  const variants: number[] = [];
  let rest = cell;
  for (const size of shape.toReversed()) {
    variants.unshift(rest % size);
    rest = Math.floor(rest / size);
  }
  return variants;
}

function pathEvaluator(
  accuracyOf: PathAccuracy,
  path: readonly number[],
  tasks: readonly FlatTask[],
): (variants: readonly number[]) => number {
  const variantAt = (position: number, variants: readonly number[]) =>
    tasks[path[position] ?? -1]?.task.variants[variants[position] ?? -1];
  if (accuracyOf.kind === "table") {
    return (variants) => {
      const key = path.map((_, position) => variantAt(position, variants)?.name).join("|");
      return accuracyOf.accuracyByPath[key] ?? Number.NaN;
    };
  }
  const accuracies = (variants: readonly number[]): number[] =>
    path.map((_, position) => variantAt(position, variants)?.accuracy ?? Number.NaN);
  if (accuracyOf.kind === "product") {
    return (variants) => accuracies(variants).reduce((product, accuracy) => product * accuracy, 1);
  }
  const names = tasks.map(({ task }) => task.name);
  const compiled = compileExpression(accuracyOf.expression, names);
  if (!compiled.ok) throw new TypeError("an expression was checked when it was read");
  // A task that is not on the path has no effect: as if it were always right.
  const perfect = Object.fromEntries(names.map((name) => [name, 1]));
  return (variants) => {
    const own = accuracies(variants).map((accuracy, position) => [
      names[path[position] ?? -1] ?? "",
      accuracy,
    ]);
    return compiled.evaluate({ ...perfect, ...Object.fromEntries(own) });
  };
}
