/**
 * The variants of a task answer the same requests, so their models have to take and give the same
 * tensors.
 */
import type { ModelFile, TensorInfo } from "stratagem-runtime/internal/bundle/schema";
import type { Application } from "../spec/application.ts";
import { conflict, type Mistake } from "../spec/mistakes.ts";
import type { ModelFiles } from "./model-files.ts";

/** Every model that differs from the first one of its task. */
export function* siblingMistakes({ tasks }: Application, models: ModelFiles): Generator<Mistake> {
  for (const [taskIndex, task] of tasks.entries()) {
    let first: { readonly name: string; readonly model: ModelFile } | null = null;
    for (const [index, variant] of task.variants.entries()) {
      const model = variant.model === null ? null : (models.get(variant.model) ?? null);
      if (model === null) continue;
      first ??= { name: variant.name, model };
      const path = ["tasks", taskIndex, "variants", index, "model"];
      for (const side of ["inputs", "outputs"] as const) {
        const expected = describe(first.model[side]);
        const found = describe(model[side]);
        if (found === expected) continue;
        const message =
          `expected the ${side} of "${first.name}", ${expected}; ` + `${model.file} has ${found}`;
        yield conflict(path, message);
      }
    }
  }
}

/** `x float32[-1, 7]`, one after another. */
function describe(tensors: readonly TensorInfo[]): string {
  return tensors
    .map(({ name, dtype, shape }) => `${name} ${dtype}[${shape.join(", ")}]`)
    .join(", ");
}
