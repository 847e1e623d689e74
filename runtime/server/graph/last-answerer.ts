/** Says which variants answered a request: those with which its rows ended. */
import { countedText } from "./paths.ts";
import type { AnswererOf } from "./pipeline-request.ts";
import { at, type PipelineSignature } from "./pipeline-signature.ts";

/**
 * Says who answered a request: the variants with which its rows ended, when nothing came after. The
 * accuracy is the mean over those ends.
 */
export function lastAnswererOf({ variants }: PipelineSignature): AnswererOf {
  return (queriesByTask) => {
    const countByName = new Map<string, number>();
    let sum = 0;
    let ends = 0;
    for (const { isLast, variant } of queriesByTask.flat()) {
      if (!isLast) continue;
      const { name, accuracy } = at(variants, variant);
      countByName.set(name, (countByName.get(name) ?? 0) + 1);
      sum += accuracy;
      ends++;
    }
    return { variant: countedText(countByName), accuracy: ends === 0 ? 0 : sum / ends };
  };
}
