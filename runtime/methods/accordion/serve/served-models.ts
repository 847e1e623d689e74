/**
 * The models of a bundle as clients see them, and as they run: for every shape the stages that one
 * instance passes.
 */
import type {
  AccordionBundle,
  LayerPipeline,
  MalleableVariant,
  StageModel,
} from "../../../bundle/schema.ts";
import {
  type ModelSignature,
  modelOf,
  taskTensors,
  unfit,
} from "../../../server/tensors/signature.ts";

export interface AccordionModel {
  readonly signature: ModelSignature;
  /** Time of one instance with the pipeline where it is shortest. */
  readonly fastestMs: number;
  /** Stages in order, by shape; null where the model has no pipeline of it. */
  readonly stagesByShape: readonly (readonly AccordionStage[] | null)[];
}

/** A stage of a pipeline: what it takes, gives, and lets go of. */
export interface AccordionStage {
  /** Index among the stage models of all models, in the order of the bundle. */
  readonly stageModel: number;
  /** Profiled p99 time of one instance; undefined if unknown. */
  readonly p99Ms: number | undefined;
  /** Values by name, in the order of the stage model. */
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  /** Outputs that only later stages need, by index. */
  readonly stays: ReadonlySet<number>;
  /** Values that a later stage, or the answer, needs. */
  readonly keeps: ReadonlySet<string>;
}

/**
 * @throws RuntimeError RUNTIME_MODEL if a model has no stages, or these do not make up the model.
 */
export function accordionServedModels(bundle: AccordionBundle): AccordionModel[] {
  const variants = bundle.tasks.flatMap((task) => task.variants);
  let firstStageModel = 0;
  return variants.map((variant) => {
    const stagesByShape = variant.pipelines.map((pipeline) =>
      pipeline === null ? null : stagesOf(variant, pipeline, firstStageModel),
    );
    firstStageModel += variant.stages.length;
    return {
      signature: { names: namesOf(bundle, variant), ...taskTensors([variant]) },
      fastestMs: fastestMs(variant, bundle.policy.maxBatch),
      stagesByShape,
    };
  });
}

/** The only model answers to the names of the application and the task as well. */
function namesOf({ application, tasks }: AccordionBundle, { name }: MalleableVariant): string[] {
  const variantCount = tasks.reduce((count, { variants }) => count + variants.length, 0);
  const more = variantCount === 1 ? [application, ...tasks.map((task) => task.name)] : [];
  return [...new Set([name, ...more])];
}

function fastestMs({ latencyMs, pipelines }: MalleableVariant, maxBatch: number): number {
  return Math.min(
    ...pipelines.map((_, shape) => latencyMs.data[shape * maxBatch] ?? Number.POSITIVE_INFINITY),
  );
}

function stagesOf(
  variant: MalleableVariant,
  { cut, stageMs }: LayerPipeline,
  firstStageModel: number,
): AccordionStage[] {
  const whole = modelOf(variant);
  const models = stageModelsOf(variant, cut);
  const known = new Set(whole.inputs.map(({ name }) => name));
  for (const { model, from, to } of models) {
    for (const { name } of model.inputs) {
      if (known.has(name)) continue;
      const at = `variant "${variant.name}" stage ${from}-${to} input "${name}"`;
      throw unfit(at, "nothing", "an input of the model or an output of a stage before");
    }
    for (const { name } of model.outputs) known.add(name);
  }
  const missing = whole.outputs.find(({ name }) => !known.has(name));
  if (missing !== undefined) {
    const at = `variant "${variant.name}" output "${missing.name}"`;
    throw unfit(at, "nothing", "an output of a stage");
  }
  return models.map((model, stage) => ({
    stageModel: firstStageModel + variant.stages.indexOf(model),
    p99Ms: stageMs[stage],
    inputs: model.model.inputs.map(({ name }) => name),
    outputs: model.model.outputs.map(({ name }) => name),
    stays: new Set(
      [...model.model.outputs.entries()].flatMap(([index, { name }]) => {
        return whole.outputs.some((output) => output.name === name) ? [] : [index];
      }),
    ),
    keeps: new Set([
      ...models.slice(stage + 1).flatMap(({ model: { inputs } }) => inputs.map(({ name }) => name)),
      ...whole.outputs.map(({ name }) => name),
    ]),
  }));
}

function stageModelsOf(
  { name, layerCount, stages }: MalleableVariant,
  cut: readonly number[],
): StageModel[] {
  let to = 0;
  const models = cut.map((layers) => {
    const from = to;
    to += layers;
    const model = stages.find((stage) => stage.from === from && stage.to === to);
    if (model !== undefined) return model;
    throw unfit(`variant "${name}" stage ${from}-${to}`, "no model", "one for every stage");
  });
  if (models.length === 0 || to !== layerCount) {
    const found = models.length === 0 ? "none: it was compiled from speed-ups" : `${to} layers`;
    throw unfit(`variant "${name}" stages`, found, `${layerCount} layers`);
  }
  return models;
}
