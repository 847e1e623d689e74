/**
 * Checks that the models of an application fit together: variants of a task, and consecutive tasks.
 */

import type { ModelFile, TensorInfo } from "stratagem-runtime/internal/bundle/schema";
import { conflict, type Mistake } from "../spec/document/mistakes.ts";
import { type FeedKind, feedMistakes } from "./model-feeds.ts";
import { type ModelFiles, type ModelledTask, modelOf } from "./model-files.ts";

export function* modelFitMistakes(
  application: { readonly tasks: readonly ModelledTask[] },
  models: ModelFiles,
  feeds: FeedKind,
): Generator<Mistake> {
  yield* siblingMistakes(application, models);
  yield* feedMistakes(application, models, feeds);
}

/** Yields every model that differs from the first of its task. */
function* siblingMistakes(
  { tasks }: { readonly tasks: readonly ModelledTask[] },
  models: ModelFiles,
): Generator<Mistake> {
  for (const [taskIndex, task] of tasks.entries()) {
    let first: { readonly name: string; readonly model: ModelFile } | null = null;
    for (const [index, variant] of task.variants.entries()) {
      const model = modelOf(models, variant);
      if (model === null) continue;
      first ??= { name: variant.name, model };
      const path = ["tasks", taskIndex, "variants", index, "model"];
      for (const side of ["inputs", "outputs"] as const) {
        const isSame = side === "inputs" ? sameTensors : sameButForSizes;
        if (isSame(model[side], first.model[side])) continue;
        const [expected, found] = [describe(first.model[side]), describe(model[side])];
        const message =
          `expected the ${side} of "${first.name}", ${expected}; ` + `${model.file} has ${found}`;
        yield conflict(path, `${message}; ${remedy(side)}`);
      }
    }
  }
}

/** Compares inputs: clients send the same to all variants. */
function sameTensors(found: readonly TensorInfo[], expected: readonly TensorInfo[]): boolean {
  return sameButForSizes(found, expected, (a, b) => a.slice(1).join() === b.slice(1).join());
}

/** Compares outputs: answers state their shape and their variant, so sizes may differ. */
function sameButForSizes(
  found: readonly TensorInfo[],
  expected: readonly TensorInfo[],
  areAlike = (a: readonly number[], b: readonly number[]) => a.length === b.length,
): boolean {
  return (
    found.length === expected.length &&
    found.every((tensor) => {
      const other = expected.find(({ name }) => name === tensor.name);
      return other?.dtype === tensor.dtype && areAlike(tensor.shape, other.shape);
    })
  );
}

function remedy(side: "inputs" | "outputs"): string {
  const names = `${side}: maps names to those of the model`;
  return side === "inputs" ? `${names}, resize: brings images to its size` : names;
}

/** Formats tensors as `x float32[-1, 7]`, separated by commas. */
function describe(tensors: readonly TensorInfo[]): string {
  return tensors
    .map(({ name, dtype, shape }) => `${name} ${dtype}[${shape.join(", ")}]`)
    .join(", ");
}
