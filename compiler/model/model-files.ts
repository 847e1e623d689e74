/** Model files that variants name, as solvers are handed them. */
import type { ModelFile } from "stratagem-runtime/internal/bundle/schema";
import type { Task, Variant } from "../spec/application.ts";

/** Models as the variants of an application use them, by `modelKey`. */
export type ModelFiles = ReadonlyMap<string, ModelFile | null>;

type ModelUser = Pick<Variant, "model" | "binding">;

/** As much of a task as it takes to say whether its models fit. */
export interface ModelledTask extends Pick<Task, "name" | "to"> {
  readonly variants: readonly (Pick<Variant, "name"> & ModelUser)[];
}

/** The same for variants that use the same file in the same way; its path where nothing is said. */
export function modelKey(path: string, { binding }: Pick<Variant, "binding">): string {
  return binding === undefined ? path : `${path} ${JSON.stringify(binding)}`;
}

/** The model of a variant; null if it has none. */
export function modelOf(models: ModelFiles, variant: ModelUser): ModelFile | null {
  if (variant.model === null) return null;
  return models.get(modelKey(variant.model, variant)) ?? null;
}
