/** The model files a bundle names, found and checked, with the batches its tables can ask of them. */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Bundle, Variant } from "./bundle/schema.ts";
import { RuntimeError } from "./errors.ts";
import type { VariantModel } from "./exec/executor.ts";

/**
 * One model per variant of the task, in the bundle's order.
 * @param folder where the files are. @throws RuntimeError if a variant has no model, or its file is missing or is not the one that was compiled.
 */
export async function servedModels(bundle: Bundle, folder: string): Promise<VariantModel[]> {
  const warmBatches = batchesByVariant(bundle);
  const variants = bundle.tasks.flatMap((task) => task.variants);
  return Promise.all(
    variants.map(async (variant, index) => {
      const { path, model } = await checkedModel(variant, folder);
      const { inputs, outputs } = model;
      return { name: variant.name, path, inputs, outputs, warmBatches: warmBatches[index] ?? [] };
    }),
  );
}

/** Batch sizes that some table cell asks of each variant, ascending. */
export function batchesByVariant({ tasks, levels, decisionSpace }: Bundle): number[][] {
  const variantCount = tasks.reduce((count, task) => count + task.variants.length, 0);
  const batches = Array.from({ length: variantCount }, () => new Set<number>());
  const actions = decisionSpace.actions.data;
  const used = new Set(levels.flatMap((level) => [...new Set(level.actionByState.data)]));
  for (const action of used) batches[actions[2 * action] ?? 0]?.add(actions[2 * action + 1] ?? 1);
  return batches.map((sizes) => [...sizes].sort((a, b) => a - b));
}

async function checkedModel(
  { name, model }: Variant,
  folder: string,
): Promise<{ readonly path: string; readonly model: NonNullable<Variant["model"]> }> {
  if (model === null) {
    throw new RuntimeError(
      "RUNTIME_MODEL",
      `variant "${name}": expected a model, but the bundle was compiled without; name one in the application spec and compile again`,
    );
  }
  const path = join(folder, model.file);
  const bytes = await readFile(path).catch((error: NodeJS.ErrnoException) => {
    const reason = error.code === "ENOENT" ? "no such file" : String(error.code);
    throw new RuntimeError(
      "RUNTIME_MODEL",
      `${path}: expected the model of variant "${name}", got: ${reason}; --models names the folder`,
    );
  });
  const found = createHash("sha256").update(bytes).digest("hex");
  if (found !== model.sha256) {
    throw new RuntimeError(
      "RUNTIME_MODEL",
      `${path}: expected the model the bundle was compiled for, SHA-256 ${model.sha256}, got ${found}; compile again or bring the old file back`,
    );
  }
  return { path, model };
}
