/** Says how accurate an answer is where plans choose the variants on its way. */
import { lastAnswererOf } from "../../../server/graph/last-answerer.ts";
import type { AnswererOf } from "../../../server/graph/pipeline-request.ts";
import { at, type PipelineSignature } from "../../../server/graph/pipeline-signature.ts";
import { wayTo } from "../core/plan-accuracy.ts";

/**
 * As `lastAnswererOf`, but the accuracy of an end is the product over all tasks on the way there,
 * as it is that of a plan; of each task before, the mean over its queries.
 */
export function wayAnswererOf(signature: PipelineSignature): AnswererOf {
  const { variants, tasks } = signature;
  const lastOf = lastAnswererOf(signature);
  const ways = tasks.map((_, task) => wayTo(tasks, task).slice(0, -1));
  return (queriesByTask) => {
    const means = queriesByTask.map((queries) => {
      const sum = queries.reduce((total, one) => total + at(variants, one.variant).accuracy, 0);
      return queries.length === 0 ? 1 : sum / queries.length;
    });
    let sum = 0;
    let ends = 0;
    for (const [task, queries] of queriesByTask.entries()) {
      const before = at(ways, task).reduce((product, on) => product * at(means, on), 1);
      for (const { isLast, variant } of queries) {
        if (!isLast) continue;
        sum += before * at(variants, variant).accuracy;
        ends++;
      }
    }
    return { ...lastOf(queriesByTask), accuracy: ends === 0 ? 0 : sum / ends };
  };
}
