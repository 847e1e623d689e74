/** One colour and one letter per model. */
import type { AccordionBundle } from "stratagem-runtime/internal/bundle/schema";
import { modelLetters } from "stratagem-runtime/internal/methods/accordion/tell/letters";
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
