/** Model files that variants name: an input of solvers. */
import type { ModelFile } from "stratagem-runtime/internal/bundle/schema";
import type { Task, Variant } from "../spec/application.ts";

/** Models as the variants of an application use them, by `modelKey`. */
export type ModelFiles = ReadonlyMap<string, ModelFile | null>;

type ModelUser = Pick<Variant, "model" | "binding">;

/** The part of a task that decides whether its models fit. */
export interface ModelledTask extends Pick<Task, "name" | "to"> {
  readonly variants: readonly (Pick<Variant, "name"> & ModelUser)[];
}

/**
 * Returns the SHA-256 of a model's file, as the bundle has it; those of several files joined by
 * "+". Null for a model of a server, whose file is unknown.
 */
export function modelDigest({ sha256, parts = [], remote }: ModelFile): string | null {
  return remote === undefined ? [sha256, ...parts.map((part) => part.sha256)].join("+") : null;
}

/**
 * Returns the same key for variants that use the same file in the same way; the path alone without
 * a binding.
 */
export function modelKey(path: string, { binding }: Pick<Variant, "binding">): string {
  return binding === undefined ? path : `${path} ${JSON.stringify(binding)}`;
}

/** Returns the model of a variant; null if it has none. */
export function modelOf(models: ModelFiles, variant: ModelUser): ModelFile | null {
  if (variant.model === null) return null;
  return models.get(modelKey(variant.model, variant)) ?? null;
}
