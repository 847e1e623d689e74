/**
 * The model files a bundle names, found and checked, with the batches its tables can ask of them.
 */
import { join, resolve } from "node:path";
import { RuntimeError } from "../base/errors.ts";
import type { Bundle, ModelAdapter, ModelFile } from "../bundle/schema.ts";
import type { OpenedModel } from "../exec/files/whole-model.ts";
import type { VariantFile, VariantModel, VariantPart } from "../exec/models/executor.ts";
import { packageEntry } from "../exec/modules/module-path.ts";
import { remoteUrl } from "../exec/modules/remote-endpoint.ts";
import { type CheckedModel, OpenedModels } from "../exec/process/opened-models.ts";
import { methodOf } from "../methods/registry.ts";
import type { WantedModel } from "../methods/wanted-models.ts";

/** Model, and the names of its tensors' first dimensions. */
export interface ServedModel extends VariantModel {
  /** Axis names per tensor name; tensors without one are left out. */
  readonly axisNames: Readonly<Record<string, string>>;
}

/**
 * Returns one model per variant of all tasks, in the bundle's order; for variants that run as
 * pipelines of layers, one per stage.
 * @param folder of the model files.
 * @param files to open them with; they stay open until it is closed. Null if they are only needed
 * on other machines: a file that is present is read for the names of its dimensions.
 * @throws RuntimeError if a variant has no model, or its file is missing or is not the one that was
 * compiled.
 */
export async function servedModels(
  bundle: Bundle,
  folder: string,
  files: OpenedModels | null = new OpenedModels(),
): Promise<ServedModel[]> {
  const models: ServedModel[] = [];
  // One after the other: only one is in memory at a time.
  for (const wanted of methodOf(bundle).models(bundle)) {
    const { warmBatches, largestBatch, mayRefuseZeros, warmCores, pools, ...other } = wanted;
    const { outputsAreRows, ...variant } = other;
    const warm = {
      warmBatches,
      ...(largestBatch === undefined ? {} : { largestBatch }),
      ...(mayRefuseZeros === undefined ? {} : { mayRefuseZeros }),
      ...(warmCores === undefined ? {} : { warmCores }),
      ...(pools === undefined ? {} : { pools }),
      outputsAreRows,
    };
    const remote = variant.model?.remote;
    if (remote !== undefined && variant.model !== null) {
      const { inputs, outputs } = variant.model;
      const path = remoteUrl(remote.url, remote.model);
      const asked = { ...remote, timeoutMs: bundle.slo.latencyMs };
      const tensors = { inputs, outputs, axisNames: {} };
      models.push({ name: variant.name, path, remote: asked, ...tensors, ...warm });
      continue;
    }
    if (files === null) {
      models.push({ ...(await modelElsewhere(variant, folder)), ...warm });
      continue;
    }
    const { path, model, opened, axisNames } = await checkedModel(variant, folder, files);
    const { inputs, outputs, adapter, buckets, module } = model;
    const parts = await checkedParts(variant.name, model, folder, files);
    const host =
      module === undefined ? {} : { module: { options: module.options, folder: resolve(folder) } };
    models.push({
      name: variant.name,
      path,
      opened,
      inputs,
      outputs,
      ...host,
      ...(parts === undefined ? {} : { parts: parts.map(({ part }) => part) }),
      ...(adapter === undefined ? {} : { adapter }),
      ...(buckets === undefined ? {} : { buckets }),
      ...warm,
      axisNames:
        adapter === undefined
          ? Object.assign({}, ...(parts ?? []).map((part) => part.axisNames), axisNames)
          : adaptedNames(model, adapter, axisNames),
    });
  }
  return models;
}

/** A model as the bundle has it, of a file that need not be here. */
async function modelElsewhere(
  { name, model }: Pick<WantedModel, "name" | "model">,
  folder: string,
) {
  if (model === null) throw withoutModel(name);
  const { file: path, sha256: digest, inputs, outputs, buckets, adapter } = model;
  const sizes = buckets === undefined ? {} : { buckets };
  const named = await namesHere(join(folder, path), digest);
  const axisNames = adapter === undefined ? named : adaptedNames(model, adapter, named);
  return { name, path, digest, inputs, outputs, ...sizes, axisNames };
}

/** Returns the axis names of a model file; none if it is missing or is another file. */
async function namesHere(path: string, wanted: string): Promise<CheckedModel["axisNames"]> {
  const files = new OpenedModels();
  try {
    const { sha256, axisNames } = await files.open(path);
    return sha256 === wanted ? axisNames : {};
  } catch {
    return {};
  } finally {
    await files.close();
  }
}

/** The names of first axes by the names that tensors have outside the model. */
function adaptedNames(
  { inputs, outputs }: ModelFile,
  adapter: ModelAdapter,
  axisNames: Readonly<Record<string, string>>,
): Record<string, string> {
  const names: Record<string, string> = {};
  const take = (own: string, outside: string | undefined, batchAxis: number | null): void => {
    const axis = axisNames[own];
    if (outside !== undefined && axis !== undefined && batchAxis === 0) names[outside] = axis;
  };
  for (const { name, from, batchAxis } of adapter.inputs) {
    take(name, from === null ? undefined : inputs[from]?.name, batchAxis);
  }
  for (const [at, { name, batchAxis }] of adapter.outputs.entries()) {
    take(name, outputs[at]?.name, batchAxis);
  }
  return names;
}

async function checkedModel(
  { name, model }: Pick<WantedModel, "name" | "model">,
  folder: string,
  files: OpenedModels,
): Promise<Pick<ServedModel, "path" | "axisNames"> & { opened: OpenedModel; model: ModelFile }> {
  if (model === null) throw withoutModel(name);
  const path = pathOf(name, model, folder);
  return { model, ...(await checkedFile(name, path, model.sha256, files)) };
}

function withoutModel(name: string): RuntimeError {
  return new RuntimeError(
    "RUNTIME_MODEL",
    `variant "${name}": expected a model, but the bundle was compiled without; ` +
      "name one in the application spec and compile again",
  );
}

type CheckedFile = Required<VariantFile> & Pick<ServedModel, "axisNames">;

async function checkedFile(
  variant: string,
  path: string,
  wanted: string,
  files: OpenedModels,
): Promise<CheckedFile> {
  const { axisNames, ...opened } = await openedModel(variant, path, wanted, files);
  const { sha256, data = [] } = opened;
  if (sha256 !== wanted) {
    const place = [path, ...data.map(({ location }) => location)].join(" with ");
    throw new RuntimeError(
      "RUNTIME_MODEL",
      `${place}: expected the model the bundle was compiled for, SHA-256 ${wanted}, ` +
        `got ${sha256}; bring the old file back, or measure and compile the new one: ` +
        "stratagem profile APP -o PROFILE, then stratagem compile APP -o BUNDLE",
    );
  }
  return { path, opened, axisNames };
}

/** Returns the files that run after the first; undefined if there are no others. */
async function checkedParts(
  variant: string,
  { parts }: ModelFile,
  folder: string,
  files: OpenedModels,
): Promise<{ part: VariantPart; axisNames: Readonly<Record<string, string>> }[] | undefined> {
  if (parts === undefined) return undefined;
  const checked = [];
  for (const { file, sha256, inputs, outputs } of parts) {
    const { axisNames, ...opened } = await checkedFile(variant, join(folder, file), sha256, files);
    checked.push({ part: { ...opened, inputs, outputs }, axisNames });
  }
  return checked;
}

/** @throws RuntimeError if no package has it. */
function pathOf(variant: string, { file, module }: ModelFile, folder: string): string {
  const specifier = module?.specifier ?? null;
  if (specifier === null) return join(folder, file);
  try {
    return packageEntry(specifier, resolve(folder));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new RuntimeError("RUNTIME_MODEL", `variant "${variant}": ${reason}`);
  }
}

async function openedModel(
  variant: string,
  path: string,
  sha256: string,
  files: OpenedModels,
): Promise<CheckedModel> {
  try {
    return await files.open(path, sha256);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const reason = code === "ENOENT" ? "no such file" : (code ?? message);
    throw new RuntimeError(
      "RUNTIME_MODEL",
      `${path}: expected the model of variant "${variant}", got: ${reason}; ` +
        "--models names the folder",
    );
  }
}
