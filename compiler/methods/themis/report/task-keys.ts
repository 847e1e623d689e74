/** One colour and one letter per stage. */
import type { ThemisBundle } from "../../../../runtime/bundle/schema.ts";
import { letterAt, type PipelineVariantKey } from "../../../report/kit/variant-keys.ts";

/** In the order of the tasks. */
export function taskKeys({ tasks }: ThemisBundle): PipelineVariantKey[] {
  return tasks.map(({ name, variants }, task) => ({
    task,
    variant: 0,
    taskName: name,
    name: variants[0]?.name ?? "",
    letter: letterAt(task),
    color: `var(--variant-${task})`,
    rank: 0.5,
  }));
}
