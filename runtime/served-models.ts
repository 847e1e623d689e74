/** The model files a bundle names, found and checked, with the batches its tables can ask of them. */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type {
  AccordionBundle,
  Bundle,
  InferlineBundle,
  LokiBundle,
  ModelFile,
  RamsisBundle,
  ThemisBundle,
  Variant,
} from "./bundle/schema.ts";
import { RuntimeError } from "./errors.ts";
import type { VariantModel } from "./exec/executor.ts";
import { firstAxisNames } from "./exec/onnx-axes.ts";

/** A model, and what its file says of the first dimensions of its tensors. */
export interface ServedModel extends VariantModel {
  /** By the name of the tensor; without one it is left out. */
  readonly axisNames: Readonly<Record<string, string>>;
}

/**
 * One model per variant of all tasks, in the bundle's order; of variants that run as pipelines of layers, one per stage.
 * @param folder where the files are. @throws RuntimeError if a variant has no model, or its file is missing or is not the one that was compiled.
 */
export async function servedModels(bundle: Bundle, folder: string): Promise<ServedModel[]> {
  const warmBatches = batchesByVariant(bundle);
  const warmCores = bundle.method === "themis" ? coresByTask(bundle) : [];
  // Outputs of a task in a pipeline may be what comes out of a row, which the server counts.
  const outputsAreRows = bundle.method === "ramsis";
  if (bundle.method === "accordion") checkStages(bundle);
  return Promise.all(
    variantsOf(bundle).map(async (variant, index) => {
      const { path, model, axisNames } = await checkedModel(variant, folder);
      const { inputs, outputs } = model;
      const cores = warmCores[index];
      const warm = {
        warmBatches: warmBatches[index] ?? [],
        ...(cores === undefined ? {} : { warmCores: cores }),
        outputsAreRows,
      };
      return { name: variant.name, path, inputs, outputs, ...warm, axisNames };
    }),
  );
}

type ModelVariant = Pick<Variant, "name" | "model">;

/** Those of a pipeline with the names of their tasks, stages with their layers. */
function variantsOf(bundle: Bundle): ModelVariant[] {
  if (bundle.method === "ramsis") return bundle.tasks.flatMap(({ variants }) => variants);
  if (bundle.method === "accordion") return stagesOf(bundle);
  return bundle.tasks.flatMap((task) =>
    task.variants.map(({ name, model }) => ({ name: `${task.name}/${name}`, model })),
  );
}

function stagesOf({ tasks }: AccordionBundle): ModelVariant[] {
  return tasks.flatMap(({ variants }) =>
    variants.flatMap(({ name, stages }) =>
      stages.map(({ from, to, model }) => ({ name: `${name} stage ${from}-${to}`, model })),
    ),
  );
}

/** @throws RuntimeError if a variant has nothing to run. */
function checkStages({ tasks }: AccordionBundle): void {
  for (const { name, layerCount, stages } of tasks.flatMap(({ variants }) => variants)) {
    if (stages.length > 0) continue;
    const cause = layerCount === 0 ? "from speed-ups" : "without models";
    throw new RuntimeError(
      "RUNTIME_MODEL",
      `variant "${name}": expected stage models, but the bundle was compiled ${cause}; name a model in the application spec, profile its layers and compile again`,
    );
  }
}

/**
 * Batch sizes that some level asks of each variant of all tasks, or of each of their stages,
 * ascending; a single row of those that only a client may ask for.
 */
export function batchesByVariant(bundle: Bundle): number[][] {
  if (bundle.method === "ramsis") return tableBatches(bundle);
  if (bundle.method === "themis") return scaleBatches(bundle);
  if (bundle.method === "accordion") return instanceBatches(bundle);
  return bundle.method === "loki" ? planBatches(bundle) : stageBatches(bundle);
}

function tableBatches({ tasks, levels, decisionSpace }: RamsisBundle): number[][] {
  const variantCount = tasks.reduce((count, task) => count + task.variants.length, 0);
  const batches = Array.from({ length: variantCount }, () => new Set<number>());
  const actions = decisionSpace.actions.data;
  const tables = levels.flatMap(({ actionByState, classTables = [], mixture }) => [
    actionByState,
    ...classTables.map((table) => table.actionByState),
    ...(mixture === null ? [] : [mixture.actionByState]),
  ]);
  const used = new Set(tables.flatMap(({ data }) => [...new Set(data)]));
  for (const action of used) {
    const [variant, batch] = [actions[2 * action], actions[2 * action + 1]];
    // Waiting and giving up are no batches.
    if (variant !== undefined && batch !== undefined) batches[variant]?.add(batch);
  }
  // A client may name a variant that no table runs.
  for (const sizes of batches) if (sizes.size === 0) sizes.add(1);
  return ascending(batches);
}

/** The largest batch of each instance, and a single query; of a table, what its cells say. */
function planBatches({ tasks, levels }: LokiBundle): number[][] {
  const batches = tasks.map(({ variants }) => variants.map(() => new Set<number>()));
  for (const { plan, stages } of levels) {
    for (const { task, variant, batch } of plan.instances) {
      batches[task]?.[variant]?.add(1).add(batch);
    }
    for (const [task, stage] of stages?.entries() ?? []) {
      const actions = stage?.decisionSpace.actions.data ?? [];
      for (const action of new Set(stage?.actionByState.data)) {
        const [variant, batch] = [actions[2 * action], actions[2 * action + 1]];
        if (variant !== undefined && batch !== undefined) batches[task]?.[variant]?.add(batch);
      }
    }
  }
  return ascending(batches.flat());
}

/** The largest batch of each stage, and a single query. */
function stageBatches({ tasks, levels }: InferlineBundle): number[][] {
  const batches = tasks.map(({ variants }) => variants.map(() => new Set<number>()));
  for (const { plan } of levels) {
    for (const [task, { variant, batch }] of plan.stages.entries()) {
      batches[task]?.[variant]?.add(1).add(batch);
    }
  }
  return ascending(batches.flat());
}

/** The largest batch of each stage in plans that are followed and in bursts, and a single query. */
function scaleBatches({ tasks, levels, transitions }: ThemisBundle): number[][] {
  const batches = tasks.map(() => new Set([1]));
  for (const { steady } of levels) {
    for (const [task, { batch }] of steady.stages.entries()) batches[task]?.add(batch);
  }
  const cells = transitions.data;
  for (let at = 0; at < cells.length; at += 3) {
    batches[(at / 3) % tasks.length]?.add(cells[at] ?? 1);
  }
  return ascending(batches);
}

/** Core counts that instances of each task have in plans that are followed and in bursts; of new ones as well. */
function coresByTask({ tasks, levels, transitions, policy }: ThemisBundle): number[][] {
  const cores = tasks.map(() => new Set(policy.extraCores === "one" ? [1] : []));
  for (const { steady } of levels) {
    for (const [task, stage] of steady.stages.entries()) cores[task]?.add(stage.cores);
  }
  const cells = transitions.data;
  for (let at = 0; at < cells.length; at += 3) {
    cores[(at / 3) % tasks.length]?.add(cells[at + 1] ?? 1);
  }
  return ascending(cores);
}

/** One instance. A stage that takes indices or sizes from a stage before is not warmed: zeros may be none. */
function instanceBatches({ tasks }: AccordionBundle): number[][] {
  return tasks.flatMap(({ variants }) =>
    variants.flatMap(({ model, stages }) => {
      const given = new Set(model?.inputs.map(({ name }) => name));
      return stages.map((stage) => {
        const made = stage.model.inputs.filter(({ name }) => !given.has(name));
        return made.every(({ dtype }) => dtype.startsWith("float")) ? [1] : [];
      });
    }),
  );
}

function ascending(batches: readonly ReadonlySet<number>[]): number[][] {
  return batches.map((sizes) => [...sizes].sort((a, b) => a - b));
}

async function checkedModel(
  { name, model }: ModelVariant,
  folder: string,
): Promise<Pick<ServedModel, "path" | "axisNames"> & { readonly model: ModelFile }> {
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
  return { path, model, axisNames: firstAxisNames(bytes) };
}
