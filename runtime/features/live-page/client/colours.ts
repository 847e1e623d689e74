/** One colour for each variant of a task, the same in every figure; words say it too. */
import type { LiveVariant } from "../live.ts";

/** Colours that the style sheet has. */
const COLOURS = 10;

/** Classes by variant index, from the least accurate variant of each task up. */
export function variantStyles(variants: readonly LiveVariant[]): string[] {
  const order = variants
    .map(({ task, accuracy }, index) => ({ task, accuracy: accuracy ?? 0, index }))
    .sort((one, other) => one.accuracy - other.accuracy || one.index - other.index);
  const placeByTask = new Map<string, number>();
  const styles: string[] = [];
  for (const { task, index } of order) {
    const place = placeByTask.get(task) ?? 0;
    placeByTask.set(task, place + 1);
    styles[index] = `variant-${place % COLOURS}`;
  }
  return styles;
}
