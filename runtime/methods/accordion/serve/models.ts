/** The models of a bundle of accordion, and the batches that it asks of them. */

import { RuntimeError } from "../../../base/errors.ts";
import type { AccordionBundle } from "../../../bundle/schema.ts";
import type { WantedModel } from "../../wanted-models.ts";

/**
 * Returns the models, one for each stage. @throws RuntimeError RUNTIME_MODEL if a variant has no
 * model.
 */
export function accordionModels(bundle: AccordionBundle): WantedModel[] {
  checkStages(bundle);
  return bundle.tasks.flatMap(({ variants }) =>
    variants.flatMap(({ name, model: whole, stages }) => {
      const given = new Set(whole?.inputs.map((input) => input.name));
      return stages.map(({ from, to, model }) => {
        // Zeros may be invalid indices or sizes that an earlier stage never gives.
        const made = model.inputs.filter((input) => !given.has(input.name));
        const isSafe = made.every(({ dtype }) => dtype.startsWith("float"));
        const refusal = isSafe ? {} : { mayRefuseZeros: true };
        // An instance at a time.
        const batches = { warmBatches: [1], ...refusal };
        return { name: `${name} stage ${from}-${to}`, model, ...batches, outputsAreRows: false };
      });
    }),
  );
}

/** @throws RuntimeError if a variant has no model. */
function checkStages({ tasks }: AccordionBundle): void {
  for (const { name, layerCount, stages } of tasks.flatMap(({ variants }) => variants)) {
    if (stages.length > 0) continue;
    const cause = layerCount === 0 ? "from speed-ups" : "without models";
    throw new RuntimeError(
      "RUNTIME_MODEL",
      `variant "${name}": expected stage models, but the bundle was compiled ${cause}; ` +
        "name a model in the application spec, profile its layers and compile again",
    );
  }
}
