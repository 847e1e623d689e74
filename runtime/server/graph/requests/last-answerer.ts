/** Says which variants answered a request: those with which its rows ended. */

import { at, type PipelineSignature } from "../signature/pipeline-signature.ts";
import { countedText } from "./paths.ts";
import type { AnswererOf, PipelineQuery } from "./pipeline-request.ts";

/**
 * Returns the variants that answered a request: those at which its rows ended. The accuracy is the
 * mean, over these ends, of the product over all tasks on the row's path; where rows are made or
 * gathered, a task on the path counts with the mean over its queries.
 */
export function lastAnswererOf(signature: PipelineSignature): AnswererOf {
  const { variants, tasks } = signature;
  const ways = waysOf(signature);
  const hasOwnRows = tasks.some(({ edges }) => edges.some((one) => one.isFanout || one.isGather));
  const accuracyOf = ({ variant }: PipelineQuery) => at(variants, variant).accuracy;
  return (queriesByTask) => {
    const byRow = queriesByTask.map((queries): ((row: number) => number) => {
      const sum = queries.reduce((total, one) => total + accuracyOf(one), 0);
      const mean = queries.length === 0 ? 1 : sum / queries.length;
      if (hasOwnRows) return () => mean;
      const known = new Map(queries.map((one) => [one.row, accuracyOf(one)]));
      return (row) => known.get(row) ?? 1;
    });
    const countByName = new Map<string, number>();
    let sum = 0;
    let ends = 0;
    for (const [task, queries] of queriesByTask.entries()) {
      for (const query of queries) {
        if (!query.isLast) continue;
        const { name, accuracy } = at(variants, query.variant);
        countByName.set(name, (countByName.get(name) ?? 0) + 1);
        const way = at(ways, task);
        sum += way.reduce((product, on) => product * at(byRow, on)(query.row), accuracy);
        ends++;
      }
    }
    return { variant: countedText(countByName), accuracy: ends === 0 ? 0 : sum / ends };
  };
}

/** Lists the tasks before each task, ascending. */
function waysOf({ tasks }: PipelineSignature): number[][] {
  const ways: number[][] = [];
  for (const { edges } of tasks) {
    const before = edges.flatMap(({ parent }) => {
      return parent === null ? [] : [...at(ways, parent), parent];
    });
    ways.push([...new Set(before)].sort((a, b) => a - b));
  }
  return ways;
}
