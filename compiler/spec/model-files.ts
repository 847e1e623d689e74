/** The files that a variant names for its model: one, or several that run in a row. */

import type { KeyPath } from "./document/document.ts";
import { conflict, type Mistake } from "./document/mistakes.ts";
import type { TaskSpec } from "./schema/application-schema.ts";

type VariantSpec = TaskSpec["variants"][number];

/** The only name; undefined where there is none, or several. */
export function oneModelOf({ model }: Pick<VariantSpec, "model">): string | undefined {
  return typeof model === "string" ? model : undefined;
}

/** The names of files that run in a row; null where there are not several. */
export function chainOf({ model }: Pick<VariantSpec, "model">): readonly string[] | null {
  return typeof model === "object" ? model : null;
}

/** Names the chain among the models of an application. */
export function chainKey(paths: readonly string[]): string {
  return paths.join(" + ");
}

/** Only ONNX files run in a row. */
export function* chainMistakes({ kind, model }: VariantSpec, path: KeyPath): Generator<Mistake> {
  if (typeof model !== "object" || kind === undefined || kind === "onnx") return;
  yield conflict([...path, "model"], `expected one name for kind: ${kind}, got a list`);
}
