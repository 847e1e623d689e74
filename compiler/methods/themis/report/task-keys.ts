/** One colour and one letter per task. */
import type { ThemisBundle } from "../../../../runtime/bundle/schema.ts";
import { taskLetters } from "../../../../runtime/methods/themis/tell/letters.ts";
import { colored, type PipelineVariantKey } from "../../../report/kit/variant-keys.ts";

/** In the order of the tasks. */
export function taskKeys(bundle: ThemisBundle): PipelineVariantKey[] {
  return colored(taskLetters(bundle));
}
