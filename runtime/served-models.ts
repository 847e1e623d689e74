/**
 * The model files a bundle names, found and checked, with the batches its tables can ask of them.
 */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Bundle, ModelFile } from "./bundle/schema.ts";
import { RuntimeError } from "./errors.ts";
import type { VariantModel } from "./exec/executor.ts";
import { firstAxisNames } from "./exec/onnx-axes.ts";
import { methodOf } from "./methods/registry.ts";
import type { WantedModel } from "./wanted-models.ts";

/** A model, and what its file says of the first dimensions of its tensors. */
export interface ServedModel extends VariantModel {
  /** By the name of the tensor; without one it is left out. */
  readonly axisNames: Readonly<Record<string, string>>;
}

/**
 * One model per variant of all tasks, in the bundle's order; of variants that run as pipelines of
 * layers, one per stage.
 * @param folder where the files are.
 * @throws RuntimeError if a variant has no model, or its file is missing or is not the one that was
 * compiled.
 */
export async function servedModels(bundle: Bundle, folder: string): Promise<ServedModel[]> {
  const wanted = methodOf(bundle).models(bundle);
  return Promise.all(
    wanted.map(async ({ warmBatches, warmCores, outputsAreRows, ...variant }) => {
      const { path, model, axisNames } = await checkedModel(variant, folder);
      const { inputs, outputs } = model;
      const cores = warmCores === undefined ? {} : { warmCores };
      const warm = { warmBatches, ...cores, outputsAreRows };
      return { name: variant.name, path, inputs, outputs, ...warm, axisNames };
    }),
  );
}

async function checkedModel(
  { name, model }: Pick<WantedModel, "name" | "model">,
  folder: string,
): Promise<Pick<ServedModel, "path" | "axisNames"> & { readonly model: ModelFile }> {
  if (model === null) {
    throw new RuntimeError(
      "RUNTIME_MODEL",
      `variant "${name}": expected a model, but the bundle was compiled without; ` +
        "name one in the application spec and compile again",
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
      `${path}: expected the model the bundle was compiled for, SHA-256 ${model.sha256}, ` +
        `got ${found}; compile again or bring the old file back`,
    );
  }
  return { path, model, axisNames: firstAxisNames(bytes) };
}
