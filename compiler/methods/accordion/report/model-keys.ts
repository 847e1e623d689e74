/** One colour and one letter per model. */
import type { AccordionBundle } from "../../../../runtime/bundle/schema.ts";
import { modelLetters } from "../../../../runtime/methods/accordion/tell/letters.ts";
import type { PipelineVariantKey } from "../../../report/kit/variant-keys.ts";

/** In the order of the models. */
export function modelKeys(bundle: Pick<AccordionBundle, "tasks">): PipelineVariantKey[] {
  const letters = modelLetters(bundle);
  return bundle.tasks.flatMap(({ name: taskName, variants }) =>
    variants.map(({ name }, index) => ({
      // Every model has the hue that tasks have elsewhere.
      task: index,
      variant: index,
      taskName,
      name,
      letter: letters.get(name) ?? "",
      color: `var(--variant-${index})`,
      rank: 0.5,
    })),
  );
}
