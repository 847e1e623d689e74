/** Assigns each variant of a task one colour in all figures; texts name the variant as well. */
import type { LiveVariant } from "../live.ts";

/** Number of colours in the style sheet. */
const COLOURS = 10;

/** CSS classes by variant index, per task in the order of accuracy. */
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
