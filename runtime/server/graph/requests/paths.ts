/**
 * Returns the variants that answered a request of a pipeline: the paths of its rows, and their
 * accuracy.
 */
import { pathAccuracy } from "../../../bundle/path-accuracy.ts";
import type { LokiBundle } from "../../../bundle/schema.ts";
import type { Answerer } from "../../requests/request.ts";
import { at, type PipelineSignature } from "../signature/pipeline-signature.ts";
import type { AnswererOf, PipelineQuery } from "./pipeline-request.ts";

/**
 * Returns the variants that answered a request of a pipeline. The mean accuracy is that of the
 * plan: over the queries of a leaf, then over leaves by their weights. Where no query reached a
 * leaf, the paths end at the last query, and count with the product of their variants' own
 * accuracies.
 */
export function answererOf(bundle: LokiBundle, signature: PipelineSignature): AnswererOf {
  const leaves = bundle.leaves.filter((leaf) => leaf.weight > 0);
  return (queriesByTask) => {
    const countByPath = new Map<string, number>();
    let sum = 0;
    let weightSum = 0;
    for (const leaf of leaves) {
      const queries = at(queriesByTask, leaf.task);
      if (queries.length === 0) continue;
      let leafSum = 0;
      for (const query of queries) {
        const path = pathOf(query);
        count(countByPath, path, signature);
        leafSum += pathAccuracy(bundle.tasks, leaf, cellOf(bundle, path, signature));
      }
      sum += (leaf.weight * leafSum) / queries.length;
      weightSum += leaf.weight;
    }
    if (weightSum > 0) return { variant: countedText(countByPath), accuracy: sum / weightSum };
    return shortAnswerer(queriesByTask, signature);
  };
}

function shortAnswerer(
  queriesByTask: readonly (readonly PipelineQuery[])[],
  signature: PipelineSignature,
): Answerer {
  const countByPath = new Map<string, number>();
  let sum = 0;
  let ends = 0;
  for (const query of queriesByTask.flat()) {
    if (query.children.some(({ length }) => length > 0)) continue;
    const path = pathOf(query);
    count(countByPath, path, signature);
    sum += path.reduce((product, { variant }) => {
      return product * at(signature.variants, variant).accuracy;
    }, 1);
    ends++;
  }
  return { variant: countedText(countByPath), accuracy: ends === 0 ? 0 : sum / ends };
}

/** Path from the entry on. */
function pathOf(query: PipelineQuery): PipelineQuery[] {
  const path: PipelineQuery[] = [];
  for (let step: PipelineQuery | null = query; step !== null; step = step.parent) path.push(step);
  return path.reverse();
}

function cellOf(
  { tasks }: LokiBundle,
  path: readonly PipelineQuery[],
  { variants }: PipelineSignature,
): number {
  return path.reduce((cell, { task, variant }) => {
    return cell * at(tasks, task).variants.length + at(variants, variant).index;
  }, 0);
}

function count(
  countByPath: Map<string, number>,
  path: readonly PipelineQuery[],
  { variants }: PipelineSignature,
): void {
  const key = path.map(({ variant }) => at(variants, variant).name).join("|");
  countByPath.set(key, (countByPath.get(key) ?? 0) + 1);
}

/** Formats what answered and how often; without a number if it is the only one. */
export function countedText(countByPath: ReadonlyMap<string, number>): string {
  const paths = [...countByPath];
  const [only] = paths;
  if (only !== undefined && paths.length === 1) return only[0];
  return paths.map(([path, times]) => `${path}:${times}`).join(",");
}
