/** The variants that plans use, each with its letter and colour in every figure. */
import type { LokiBundle } from "stratagem-runtime/internal/bundle/schema";
import { variantLetters } from "stratagem-runtime/internal/methods/loki/describe/letters";
import { colored, type PipelineVariantKey } from "../../../report/kit/variant-keys.ts";

/** Keys of the variants in the plan of some level: by task, and ascending in accuracy. */
export function variantKeys(bundle: LokiBundle): PipelineVariantKey[] {
  return colored(variantLetters(bundle));
}
