/** The variants that plans use, each with the letter and the colour that it has in every figure. */
import type { LokiBundle } from "stratagem-runtime/internal/bundle/schema";
import { variantLetters } from "stratagem-runtime/internal/methods/loki/describe/letters";
import { colored, type PipelineVariantKey } from "../../../report/kit/variant-keys.ts";

/** Of the variants that the plan of some level uses: by task, and from the least accurate up. */
export function variantKeys(bundle: LokiBundle): PipelineVariantKey[] {
  return colored(variantLetters(bundle));
}
