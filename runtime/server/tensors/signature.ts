/**
 * Client's view of a model: the tensors that all variants of the task share, and each variant's
 * order of them.
 */
import { RuntimeError } from "../../base/errors.ts";
import type { BucketAxis, RamsisBundle, TensorInfo, Variant } from "../../bundle/schema.ts";
import { type Datatype, datatypeOf, elementBytesOf } from "./tensors.ts";

export interface ModelTensor {
  readonly name: string;
  readonly datatype: Datatype;
  /**
   * Shape of one row, without axis 0; −1 where a dimension of an output is dynamic, or one of an
   * input has several sizes.
   */
  readonly rowShape: readonly number[];
  /** Shape of the largest row, of an input that has several sizes. */
  readonly largest?: readonly number[];
}

/** Client's view of a model. */
export interface ClientSignature {
  /** Names of the model; the application first. */
  readonly names: readonly string[];
  readonly inputs: readonly ModelTensor[];
  readonly outputs: readonly ClientOutput[];
  readonly variants: readonly { readonly name: string }[];
  /** Whether one variant answers each row; a request may name it. */
  readonly answersByRow?: boolean;
  /**
   * False where outputs may have other rows than the inputs, such as in pipelines where rows branch
   * or multiply. Default: true.
   */
  readonly outputsAreRows?: boolean;
  /** Whether it keeps state, so that every request is one row of a sequence. */
  readonly hasSequences?: boolean;
  /** Axes of the inputs that are padded to one of several sizes. Default: none. */
  readonly axes?: readonly BucketAxis[];
}

export interface ClientOutput extends ModelTensor {
  /** Whether it is returned only on request by name. */
  readonly isInternal?: boolean;
}

/** Tensors of a variant for the code that runs its rows. */
export interface TaskTensors {
  readonly inputs: readonly ModelTensor[];
  readonly outputs: readonly ModelTensor[];
  readonly variants: readonly ServedVariant[];
}

export interface ServedVariant {
  readonly name: string;
  readonly accuracy: number;
  /** Index in `ModelSignature.inputs` of each input of the variant, in the variant's order. */
  readonly inputOrder: readonly number[];
  /** Index among the variant's outputs of each tensor of `ModelSignature.outputs`. */
  readonly outputOrder: readonly number[];
}

export interface ModelSignature extends ClientSignature {
  readonly variants: readonly ServedVariant[];
}

/** Properties of a variant that define its tensors. */
export type ModelVariant = Pick<Variant, "name" | "accuracy" | "model">;

/**
 * @throws RuntimeError RUNTIME_MODEL if a variant has no model, or the models cannot stand in for
 * one another in one batch of rows.
 */
export function signatureOf({ application, tasks }: RamsisBundle): ModelSignature {
  const names = [...new Set([application, ...tasks.map((task) => task.name)])];
  const variants = tasks.flatMap((task) => task.variants);
  const tensors = taskTensors(variants, { hasBuckets: true });
  const sized = sizedSignature(tensors.inputs, sharedAxes(variants));
  return { names, ...tensors, ...sized, answersByRow: true };
}

/** Inputs with the shapes of their largest rows, and the axes of several sizes if there are any. */
export function sizedSignature(
  inputs: readonly ModelTensor[],
  axes: readonly BucketAxis[],
): Pick<ClientSignature, "inputs" | "axes"> {
  if (axes.length === 0) return { inputs };
  const sizes = axes.map((axis) => axis.sizes[axis.sizes.length - 1] ?? 1);
  const sized = inputs.map((tensor, input): ModelTensor => {
    if (!tensor.rowShape.includes(-1)) return tensor;
    return { ...tensor, largest: sizedRowShape({ inputs, axes }, input, sizes) };
  });
  return { inputs: sized, axes };
}

/**
 * Axes of several sizes, which all variants have alike, since they answer the same requests.
 * @throws as `signatureOf`
 */
export function sharedAxes(variants: readonly ModelVariant[]): readonly BucketAxis[] {
  const [first] = variants;
  if (first === undefined) return [];
  const { buckets: axes = [], inputs } = modelOf(first);
  const stated = axesText(modelOf(first));
  for (const variant of variants) {
    const own = axesText(modelOf(variant));
    if (own === stated) continue;
    const allowed = `${stated}, as the first variant has them`;
    throw unfit(`variant "${variant.name}" axes of several sizes`, own, allowed);
  }
  for (const { inputs: places, padding } of axes) {
    for (const { input } of places) {
      const { name = "", dtype = "" } = inputs[input] ?? {};
      const datatype = datatypeOf(dtype);
      if (datatype === undefined || datatype === "BYTES") continue;
      try {
        elementBytesOf(datatype, padding);
      } catch {
        const allowed = `a padding that is an element of ${datatype}`;
        throw unfit(`variant "${first.name}" input "${name}"`, String(padding), allowed);
      }
    }
  }
  return axes;
}

function axesText({ inputs, buckets = [] }: NonNullable<Variant["model"]>): string {
  const texts = buckets.map((bucket) => {
    const at = bucket.inputs.map(({ input, axis }) => `${inputs[input]?.name}.${axis}`).sort();
    return `${at.join(" and ")} ${paddingText(bucket)}`;
  });
  return texts.join("; ") || "none";
}

export function paddingText({ sizes, padding }: BucketAxis): string {
  return `${sizes.join(", ")} filled with ${padding}`;
}

/** Axes other than the rows that may be open. */
export interface OpenAxes {
  /** Whether inputs may have axes of several sizes. */
  readonly hasBuckets?: boolean;
  /** Inputs whose open axes earlier tasks settle. */
  readonly fed?: ReadonlySet<string>;
}

/** @throws as `signatureOf` */
export function taskTensors(variants: readonly ModelVariant[], open: OpenAxes = {}): TaskTensors {
  const [first] = variants;
  if (first === undefined) throw unfit("tasks", "no variant", "at least one");
  const inputs = modelOf(first).inputs.map((tensor) => inputOf(tensor, first, open));
  const outputs = modelOf(first).outputs.map((tensor) => tensorOf(tensor, first));
  return {
    inputs,
    outputs: outputs.map((output) => widened(output, variants)),
    variants: variants.map((variant) => {
      const own = modelOf(variant);
      const ownInputs = own.inputs.map((tensor) => inputOf(tensor, variant, open));
      const ownOutputs = own.outputs.map((tensor) => tensorOf(tensor, variant));
      return {
        name: variant.name,
        accuracy: variant.accuracy,
        inputOrder: orderOf(ownInputs, inputs, `variant "${variant.name}" inputs`, true),
        outputOrder: orderOf(outputs, ownOutputs, `variant "${variant.name}" outputs`, false),
      };
    }),
  };
}

/** @throws RuntimeError RUNTIME_MODEL if it has no model. */
export function modelOf(variant: ModelVariant): NonNullable<Variant["model"]> {
  if (variant.model !== null) return variant.model;
  throw unfit(`variant "${variant.name}"`, "no model", "one, named in the application spec");
}

function inputOf(info: TensorInfo, variant: ModelVariant, open: OpenAxes): ModelTensor {
  const tensor = tensorOf(info, variant);
  const { inputs, buckets = [] } = modelOf(variant);
  const places = open.hasBuckets === true ? buckets.flatMap((axis) => axis.inputs) : [];
  const isSized = (axis: number) =>
    places.some((place) => place.axis === axis && inputs[place.input] === info);
  // Rows of different shapes do not form a tensor, and the spec does not ask for padding.
  const isOpen = (size: number, axis: number) => size === -1 && !isSized(axis + 1);
  if (open.fed?.has(info.name) !== true && tensor.rowShape.some(isOpen)) {
    const found = `shape [${info.shape.join(", ")}]`;
    throw unfit(`variant "${variant.name}" input "${info.name}"`, found, "only axis 0 dynamic");
  }
  return tensor;
}

function tensorOf({ name, dtype, shape }: TensorInfo, variant: ModelVariant): ModelTensor {
  const datatype = datatypeOf(dtype);
  const at = `variant "${variant.name}" tensor "${name}"`;
  if (datatype === undefined)
    throw unfit(at, `type ${dtype}`, "a type of the Open Inference Protocol");
  if (shape.length === 0) throw unfit(at, "a scalar", "axis 0 to be the rows");
  return { name, datatype, rowShape: shape.slice(1) };
}

/** Gives the index in `others` of the namesake of each of `tensors`; both have the same names. */
function orderOf(
  tensors: readonly ModelTensor[],
  others: readonly ModelTensor[],
  at: string,
  sameShape: boolean,
): number[] {
  if (tensors.length !== others.length) {
    throw unfit(at, namesOf(tensors), `those of the first variant, ${namesOf(others)}`);
  }
  return tensors.map((tensor) => {
    const index = others.findIndex(({ name }) => name === tensor.name);
    const other = others[index];
    if (other === undefined) throw unfit(at, namesOf(tensors), namesOf(others));
    const differs = sameShape && tensor.rowShape.join() !== other.rowShape.join();
    if (tensor.datatype !== other.datatype || differs) {
      throw unfit(at, textOf(tensor), `${textOf(other)}, as the first variant has it`);
    }
    return index;
  });
}

/** Outputs may differ in shape between variants; a dimension that does is dynamic to the client. */
function widened(output: ModelTensor, variants: readonly ModelVariant[]): ModelTensor {
  const rowShape = output.rowShape.map((size, axis) => {
    const isShared = variants.every((variant) => {
      const own = modelOf(variant).outputs.find(({ name }) => name === output.name);
      return own === undefined || own.shape[axis + 1] === size;
    });
    return isShared ? size : -1;
  });
  return { ...output, rowShape };
}

export function namesOf(tensors: readonly ModelTensor[]): string {
  return tensors.map(({ name }) => `"${name}"`).join(", ") || "none";
}

export function textOf({ name, datatype, rowShape }: ModelTensor): string {
  return `"${name}" ${datatype} [${["rows", ...rowShape].join(", ")}]`;
}

export function unfit(at: string, found: string, allowed: string): RuntimeError {
  return new RuntimeError("RUNTIME_MODEL", `${at}: expected ${allowed}, got ${found}`);
}

/** The shape of one row of an input where its axes have given sizes. */
export function sizedRowShape(
  { inputs, axes = [] }: Pick<ClientSignature, "inputs" | "axes">,
  input: number,
  sizes: readonly number[],
): readonly number[] {
  const { rowShape = [] } = inputs[input] ?? {};
  if (!rowShape.includes(-1)) return rowShape;
  const shape = [...rowShape];
  for (const [at, { inputs: places }] of axes.entries()) {
    for (const place of places) {
      if (place.input === input) shape[place.axis - 1] = sizes[at] ?? -1;
    }
  }
  return shape;
}
