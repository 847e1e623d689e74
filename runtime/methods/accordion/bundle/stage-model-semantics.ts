/** Checks the models of stages so that values can be passed from stage to stage by name. */
import type {
  MalleableVariant,
  ModelFile,
  StageModel,
  TensorInfo,
} from "../../../bundle/schema.ts";
import { checkModel, refuse } from "../../../bundle/table-semantics.ts";

type Variant = Pick<MalleableVariant, "model" | "layerCount" | "pipelines" | "stages">;

/**
 * Checks that the stages of all pipelines are present, each once, and lead from the inputs of the
 * model to its outputs.
 * @throws BundleError BUNDLE_SEMANTICS
 */
export function checkStageModels(variant: Variant, path: string): void {
  const { model, stages } = variant;
  if (model === null) {
    if (stages.length > 0) refuse(path, `${stages.length} items`, "none without a model");
    return;
  }
  const ranges = checkRanges(variant, path);
  for (const [index, stage] of stages.entries()) {
    checkModel(stage.model, `${path}[${index}].model`);
    checkStatic(stage.model.inputs, `${path}[${index}].model.inputs`);
    checkStatic(stage.model.outputs, `${path}[${index}].model.outputs`);
  }
  const checked = new Set<string>();
  for (const pipeline of variant.pipelines) {
    if (pipeline === null || checked.has(String(pipeline.cut))) continue;
    // Pipelines for different pools can have the same cut.
    checked.add(String(pipeline.cut));
    checkChain(model, variant, rangesOf(pipeline.cut), ranges, path);
  }
}

type Range = Pick<StageModel, "from" | "to">;

/** Returns the index of the stage by its range. */
function checkRanges(
  { stages, layerCount, pipelines }: Variant,
  path: string,
): Map<string, number> {
  const wanted = new Set<string>();
  for (const pipeline of pipelines) {
    for (const range of rangesOf(pipeline?.cut ?? [])) wanted.add(keyOf(range));
  }
  const indexByRange = new Map<string, number>();
  let previous: Range = { from: -1, to: 0 };
  for (const [index, { from, to }] of stages.entries()) {
    const at = `${path}[${index}]`;
    if (from >= to || to > layerCount) {
      refuse(at, keyOf({ from, to }), `a range of the ${layerCount} layers`);
    }
    if (from < previous.from || (from === previous.from && to <= previous.to)) {
      refuse(at, keyOf({ from, to }), `a range after ${keyOf(previous)}`);
    }
    if (!wanted.has(keyOf({ from, to }))) {
      refuse(at, keyOf({ from, to }), "the range of a stage of some pipeline");
    }
    indexByRange.set(keyOf({ from, to }), index);
    previous = { from, to };
  }
  for (const range of wanted) {
    if (!indexByRange.has(range)) refuse(path, "no such range", `the stage ${range} of a pipeline`);
  }
  return indexByRange;
}

function rangesOf(cut: readonly number[]): Range[] {
  let from = 0;
  return cut.map((layers) => {
    const range = { from, to: from + layers };
    from += layers;
    return range;
  });
}

function keyOf({ from, to }: Range): string {
  return `${from}-${to}`;
}

/** Checks that a stage has known sizes: it runs one instance. */
function checkStatic(tensors: readonly TensorInfo[], path: string): void {
  for (const [index, { shape }] of tensors.entries()) {
    if (shape.includes(-1)) {
      refuse(`${path}[${index}].shape`, `[${shape}]`, "sizes that are known, of one instance");
    }
  }
}

/**
 * Checks that every input is known when its stage begins, and all outputs of the model at the end.
 */
function checkChain(
  model: ModelFile,
  { stages }: Variant,
  chain: readonly Range[],
  indexByRange: ReadonlyMap<string, number>,
  path: string,
): void {
  const given = new Map(model.inputs.map((tensor) => [tensor.name, tensor]));
  const made = new Map<string, TensorInfo>();
  for (const range of chain) {
    const index = indexByRange.get(keyOf(range)) ?? -1;
    const { inputs = [], outputs = [] } = stages[index]?.model ?? {};
    const at = `${path}[${index}].model`;
    checkInputs(inputs, given, made, `${at}.inputs`);
    for (const [output, tensor] of outputs.entries()) {
      if (made.has(tensor.name) || given.has(tensor.name)) {
        refuse(`${at}.outputs[${output}].name`, `"${tensor.name}" again`, "a name of its own");
      }
      made.set(tensor.name, tensor);
    }
  }
  for (const output of model.outputs) {
    const tensor = made.get(output.name);
    if (tensor === undefined) {
      refuse(path, `none in ${chain.map(keyOf)}`, `a stage that makes "${output.name}"`);
    } else if (!isInstance(tensor, output)) {
      refuse(
        path,
        signatureOf(tensor),
        `one instance of ${signatureOf(output)}, an output of the model`,
      );
    }
  }
}

/** @param given inputs of the model by name. @param made outputs of earlier stages. */
function checkInputs(
  inputs: readonly TensorInfo[],
  given: ReadonlyMap<string, TensorInfo>,
  made: ReadonlyMap<string, TensorInfo>,
  path: string,
): void {
  for (const [index, tensor] of inputs.entries()) {
    const { name } = tensor;
    const earlier = made.get(name);
    const whole = given.get(name);
    if (earlier === undefined && whole === undefined) {
      refuse(
        `${path}[${index}].name`,
        `"${name}"`,
        "an input of the model, or what an earlier stage makes",
      );
    }
    if (earlier !== undefined && !isSame(earlier, tensor)) {
      refuse(`${path}[${index}]`, signatureOf(tensor), `${signatureOf(earlier)} of a stage before`);
    }
    if (whole !== undefined && !isInstance(tensor, whole)) {
      refuse(
        `${path}[${index}]`,
        signatureOf(tensor),
        `one instance of ${signatureOf(whole)}, as of the model`,
      );
    }
  }
}

function isSame(a: TensorInfo, b: TensorInfo): boolean {
  return a.dtype === b.dtype && String(a.shape) === String(b.shape);
}

/** Whether a tensor is one row of another, whose other sizes may be open. */
function isInstance(tensor: TensorInfo, whole: TensorInfo): boolean {
  if (tensor.dtype !== whole.dtype || tensor.shape.length !== whole.shape.length) return false;
  if (tensor.shape[0] !== 1) return false;
  return tensor.shape.every((size, axis) => whole.shape[axis] === -1 || whole.shape[axis] === size);
}

function signatureOf({ name, dtype, shape }: TensorInfo): string {
  return `${dtype} [${shape}] "${name}"`;
}
