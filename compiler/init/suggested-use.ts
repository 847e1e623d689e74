/**
 * Guesses the use of an unknown model: the batch axis, sizes for other open axes that run,
 * constants for settings, and state outputs.
 */
import type { TensorInfo } from "stratagem-runtime/internal/bundle/schema";
import { hasNumbers } from "stratagem-runtime/internal/exec/adapter/numbers";
import type { DescribedModel } from "stratagem-runtime/internal/exec/onnx/model-file";
import type { ModelReader } from "stratagem-runtime/internal/exec/process/model-reader";
import { axesOf } from "../binding/model-axes.ts";
import { runsOnce } from "../binding/output-shapes.ts";
import type { AxisUse } from "../spec/binding.ts";
import { InputError } from "../spec/document/input-error.ts";
import { show } from "../spec/document/mistakes.ts";
import { axisKey, axisKeys } from "./axis-places.ts";

export interface SuggestedUse {
  readonly axes: Readonly<Record<string, AxisUse>>;
  readonly constants: Readonly<Record<string, number>>;
  /** Outputs that are also inputs, by output. */
  readonly state: Readonly<Record<string, string>>;
  /** Keys of `axes` whose sizes were found by trial. */
  readonly tried: readonly string[];
  /** Outputs to return; null for all. */
  readonly outputs: readonly string[] | null;
  /** Keys of `axes` that are rows of the file and belong to one request. */
  readonly whole: readonly string[];
}

/** Sizes to try for height and width of images. */
const IMAGE_SIZES = [320, 224, 640, 256, 48, 32];
/** Sizes to try for samples, or positions of a sequence. */
const SEQUENCE_SIZES = [512, 1280, 16_000, 128, 64, 32, 16, 8, 1];
const TOKEN_SIZES = [128, 64, 32, 16, 8, 1];
const OTHER_SIZES = [16, 32, 64, 8, 4, 128, 1];
/** Names of sample rates, and the rate of speech models. */
const SAMPLE_RATE = /^(sr|sample_?rate|sampling_?rate)$/i;
const SPEECH_HZ = 16_000;
/** Names of the batch axis. */
const BATCH_NAME = /^(n|b|bs|batch|(.*[^a-z])?batch_?(size)?|num_?samples)$/i;
/** Names of outputs that feed inputs of the next run: hn of h, stateN of state, h_out of h. */
const NEXT_STATE = /^(?:(?:new_?|next_?|out_?)(.+)|(.+?)(?:_?n|_?N|_?out|_?Out|_?new|_?next))$/;

/**
 * @param stated use of axes from the user, which has priority.
 * @throws InputError if the model runs with no tried size.
 */
export async function suggestedUse(
  path: string,
  described: DescribedModel,
  stated: Readonly<Record<string, AxisUse>>,
  reader: Pick<ModelReader, "probeFile">,
): Promise<SuggestedUse> {
  const constants = settingsOf(described.model.inputs);
  const batches = batchAxes(described, stated, constants);
  const whole = fixedRows(described, { ...batches, ...stated }, constants);
  const axes: Record<string, AxisUse> = {
    ...whole,
    ...batches,
    ...statedOf(described, stated),
  };
  const open = openKeys(described, axes, constants);
  const state = stateOf(described);
  const tried = [...open.keys()];
  const outputs = servedOutputs(described);
  const rest = { constants, state, tried, outputs, whole: Object.keys(whole) };
  if (tried.length === 0) return { axes, ...rest };
  const attempts = Math.max(...[...open.values()].map((sizes) => sizes.length));
  let reason = "";
  for (let attempt = 0; attempt < attempts; attempt++) {
    const sizes = tried.map((key) => {
      const known = open.get(key) ?? [];
      return [key, known[Math.min(attempt, known.length - 1)] ?? 1] as const;
    });
    const use = { ...axes, ...Object.fromEntries(sizes) };
    const { inputs } = axesOf(described, { axes: use, constants }, []);
    const failed = await runsOnce(path, inputs, constants, reader);
    if (failed === null) return { axes: use, ...rest };
    reason = failed;
  }
  const flags = tried.map((key) => `--axes ${show(`${key}=SIZE`)}`).join(" ");
  const message =
    `${path}: the model runs with none of the usual sizes of its open axes; ` +
    `set them with ${flags}`;
  throw new InputError("INPUT_INVALID_VALUE", `${message} (onnxruntime says: ${reason})`);
}

/** Outputs with types that can be sent; null if all can. */
function servedOutputs({ model }: DescribedModel): string[] | null {
  const served = model.outputs.filter(({ dtype }) => dtype === "string" || hasNumbers(dtype));
  return served.length === model.outputs.length ? null : served.map(({ name }) => name);
}

/** Constant inputs: sample rates. */
function settingsOf(inputs: readonly TensorInfo[]): Record<string, number> {
  const settings = inputs.filter(({ name, shape }) => {
    return SAMPLE_RATE.test(name) && shape.every((size) => size === 1);
  });
  return Object.fromEntries(settings.map(({ name }) => [name, SPEECH_HZ]));
}

/** Selects the stated axes that this model has. */
function statedOf(
  described: DescribedModel,
  stated: Readonly<Record<string, AxisUse>>,
): Record<string, AxisUse> {
  const known = new Set(axisKeys(described));
  return Object.fromEntries(Object.entries(stated).filter(([key]) => known.has(key)));
}

/**
 * Returns a use without outputs that have no row axis; if all are such, each request runs alone.
 * @param rowless outputs without a row per input row, by the model's own names.
 */
export function withoutRowless(
  use: SuggestedUse,
  described: DescribedModel,
  rowless: readonly string[],
): SuggestedUse {
  const { outputs, inputs } = described.model;
  const names = (use.outputs ?? outputs.map(({ name }) => name)).filter(
    (name) => !rowless.includes(name),
  );
  if (names.length > 0) return { ...use, outputs: names };
  const { inputs: axes } = axesOf(described, use, []);
  const keys = axes.flatMap(({ info, batchAxis }) => {
    if (batchAxis === null || use.constants[info.name] !== undefined) return [];
    return [axisKey(described, info.name, batchAxis)];
  });
  if (inputs.length === 0) return use;
  const ones = Object.fromEntries(keys.map((key) => [key, 1]));
  return { ...use, axes: { ...use.axes, ...ones }, whole: [...use.whole, ...keys] };
}

/** First axes with a fixed number of rows, if no other axis is the batch. */
function fixedRows(
  { model, axisNames }: DescribedModel,
  axes: Readonly<Record<string, AxisUse>>,
  constants: Readonly<Record<string, number>>,
): Record<string, AxisUse> {
  const fixed = model.inputs.flatMap(({ name, shape }): [string, AxisUse][] => {
    const [size = 0] = shape;
    if (constants[name] !== undefined || size <= 1) return [];
    const keys = shape.flatMap((_, axis) => [
      axisKey({ axisNames }, name, axis),
      `${name}.${axis}`,
    ]);
    return keys.some((key) => axes[key] === "batch") ? [] : [[`${name}.0`, size]];
  });
  return Object.fromEntries(fixed);
}

/** Open axis that is the batch, for inputs whose first axis is not. */
function batchAxes(
  { model, axisNames }: DescribedModel,
  stated: Readonly<Record<string, AxisUse>>,
  constants: Readonly<Record<string, number>>,
): Record<string, AxisUse> {
  const batches: Record<string, AxisUse> = {};
  const rowNames = new Set(
    model.inputs.flatMap(({ name, shape }) =>
      shape[0] === -1 ? (axisNames[name]?.[0] ?? "") : "",
    ),
  );
  for (const { name, shape } of model.inputs) {
    if (constants[name] !== undefined || shape[0] === 1) continue;
    const open = shape.flatMap((size, axis) => (size === -1 ? [axis] : []));
    const called = open.filter((axis) => BATCH_NAME.test(axisNames[name]?.[axis] ?? ""));
    if (shape[0] === -1 && (called.length === 0 || called.includes(0))) continue;
    const named =
      called[0] ?? open.find((axis) => rowNames.has(axisNames[name]?.[axis] || "no name"));
    const axis = named ?? (open.length === 1 ? open[0] : undefined);
    if (axis === undefined) continue;
    const key = axisKey({ axisNames }, name, axis);
    if (stated[key] === undefined && stated[`${name}.${axis}`] === undefined)
      batches[key] = "batch";
  }
  return batches;
}

/** Sizes to try for each unspecified axis, by its key. */
function openKeys(
  described: DescribedModel,
  axes: Readonly<Record<string, AxisUse>>,
  constants: Readonly<Record<string, number>>,
): Map<string, readonly number[]> {
  const keys = new Map<string, readonly number[]>();
  const { inputs } = axesOf(described, { axes, constants }, []);
  for (const { info, shape, batchAxis, sizes } of inputs) {
    if (constants[info.name] !== undefined) continue;
    for (const [axis, size] of shape.entries()) {
      if (size !== -1 || axis === batchAxis || sizes.has(axis)) continue;
      const key = axisKey(described, info.name, axis);
      if (!keys.has(key)) keys.set(key, sizesFor(info, axis));
    }
  }
  return keys;
}

function sizesFor({ dtype, shape }: TensorInfo, axis: number): readonly number[] {
  if (dtype.startsWith("int")) return TOKEN_SIZES;
  if (shape.length === 4 && axis > 0) return axis === 1 ? [3, 1, 4] : IMAGE_SIZES;
  return shape.length === 2 ? SEQUENCE_SIZES : OTHER_SIZES;
}

/** Outputs named after an input with the same type and shape. */
function stateOf({ model }: DescribedModel): Record<string, string> {
  const pairs: [string, string][] = [];
  for (const output of model.outputs) {
    const [, behind, before] = NEXT_STATE.exec(output.name) ?? [];
    const input = model.inputs.find(({ name }) => name === (behind ?? before));
    if (input?.dtype !== output.dtype) continue;
    if (input.shape.length !== output.shape.length) continue;
    const areAlike = input.shape.every((size, axis) => {
      const other = output.shape[axis] ?? -1;
      return size === other || size === -1 || other === -1;
    });
    if (areAlike) pairs.push([output.name, input.name]);
  }
  return Object.fromEntries(pairs);
}
