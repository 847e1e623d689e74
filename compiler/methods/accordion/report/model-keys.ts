/** One colour and one letter per model. */
import type { AccordionBundle } from "stratagem-runtime/internal/bundle/schema";
import { letterAt, type PipelineVariantKey } from "../../../report/kit/variant-keys.ts";

/** In the order of the models. */
export function modelKeys({ tasks }: Pick<AccordionBundle, "tasks">): PipelineVariantKey[] {
  return tasks.flatMap(({ name: taskName, variants }) =>
    variants.map(({ name }, index) => ({
      // Every model has the hue that tasks have elsewhere.
      task: index,
      variant: index,
      taskName,
      name,
      letter: letterAt(index),
      color: `var(--variant-${index})`,
      rank: 0.5,
    })),
  );
}
