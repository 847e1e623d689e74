/** Model files of a variant: one, or several that run in sequence. */

import type { KeyPath } from "./document/document.ts";
import { conflict, type Mistake } from "./document/mistakes.ts";
import type { TaskSpec } from "./schema/application-schema.ts";

type VariantSpec = TaskSpec["variants"][number];

/** Returns the only name; undefined without a model, or for several files. */
export function oneModelOf({ model }: Pick<VariantSpec, "model">): string | undefined {
  return typeof model === "string" ? model : undefined;
}

/** Returns the names of files that run in sequence; null for other variants. */
export function chainOf({ model }: Pick<VariantSpec, "model">): readonly string[] | null {
  return typeof model === "object" ? model : null;
}

/** Key of the chain within the application's models. */
export function chainKey(paths: readonly string[]): string {
  return paths.join(" + ");
}

/** Allows sequences of ONNX files only. */
export function* chainMistakes({ kind, model }: VariantSpec, path: KeyPath): Generator<Mistake> {
  if (typeof model !== "object" || kind === undefined || kind === "onnx") return;
  yield conflict([...path, "model"], `expected one name for kind: ${kind}, got a list`);
}
