/** One colour and one letter per task. */
import type { ThemisBundle } from "stratagem-runtime/internal/bundle/schema";
import { taskLetters } from "stratagem-runtime/internal/methods/themis/tell/letters";
import { colored, type PipelineVariantKey } from "../../../report/kit/variant-keys.ts";

/** In the order of the tasks. */
export function taskKeys(bundle: ThemisBundle): PipelineVariantKey[] {
  return colored(taskLetters(bundle));
}
