/**
 * One colour and one letter for each task on each hardware that a plan uses: a task is a hue, and
 * hardware goes from light to dark with its price.
 */
import type { InferlineBundle } from "stratagem-runtime/internal/bundle/schema";
import { hardwareLetters } from "stratagem-runtime/internal/methods/inferline/describe/letters";
import { colored, type PipelineVariantKey } from "../../../report/kit/variant-keys.ts";

/** In the order of the tasks, the cheapest hardware first; their variants are indices of pools. */
export function hardwareKeys(bundle: InferlineBundle): PipelineVariantKey[] {
  return colored(hardwareLetters(bundle));
}

export function keyOf(
  keys: readonly PipelineVariantKey[],
  task: number,
  pool: number,
): PipelineVariantKey | undefined {
  return keys.find((key) => key.task === task && key.variant === pool);
}
