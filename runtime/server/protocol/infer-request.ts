/**
 * Inference requests of the Open Inference Protocol, for HTTP and gRPC: validates untrusted tensors
 * and parameters.
 */
import { type SequenceStep, sequenceStepOf } from "../requests/sequence-turns.ts";
import { VARIANT_OUTPUT, type VariantWish, variantWishOf } from "../requests/variant-wish.ts";
import { BadRequest } from "../tensors/bad-request.ts";
import { FoundSizes } from "../tensors/padding.ts";
import type { ClientSignature, ModelTensor } from "../tensors/signature.ts";
import { DATATYPES, elementCountOf, isBinaryOnly, rowBounds } from "../tensors/tensors.ts";
import { expectClasses } from "./classification.ts";

export interface InferRequest extends RequestWishes {
  readonly id: string | undefined;
  readonly rows: number;
  /**
   * Inputs in the order of `ClientSignature.inputs`; views on the body where the request is binary.
   */
  readonly inputs: readonly Uint8Array[];
  readonly outputs: readonly RequestedOutput[];
  /** Size of each axis that has several sizes, in the request's inputs. Default: no such axes. */
  readonly sizes?: readonly number[];
}

/** Parameters of a request. */
export interface RequestWishes {
  /** `parameters.timeout`; undefined without one. */
  readonly timeoutMs: number | undefined;
  /** `parameters.priority`: whether it is the highest, or the default. */
  readonly isHigh: boolean;
  /** `parameters.variant` and `parameters.same_variant`. */
  readonly variant: VariantWish | undefined;
  /** `parameters.slo_class`; undefined without one. */
  readonly sloClass: string | undefined;
  /** `parameters.sequence_id` and related ones; undefined for models without state. */
  readonly sequence: SequenceStep | undefined;
}

export interface RequestedOutput {
  /** Index in `ClientSignature.outputs`; beyond them, that of `VARIANT_OUTPUT`. */
  readonly index: number;
  readonly isBinary: boolean;
  /**
   * Number of classes per row that Triton's classification returns. Default: the values themselves.
   */
  readonly classes?: number;
}

export type Fields = Readonly<Record<string, unknown>>;

/** An input as a client states it. */
export interface StatedInput {
  readonly name: unknown;
  readonly datatype: unknown;
  readonly shape: unknown;
}

const MAX_TOLD_AXES = 16;
const REQUEST_FIELDS = ["id", "parameters", "inputs", "outputs"];
const INPUT_FIELDS = ["name", "shape", "datatype", "parameters", "data"];
const OUTPUT_FIELDS = ["name", "parameters"];
/** Fields that KServe's clients send beside the URL, which names the model. */
const IGNORED_FIELDS = ["model_name", "model_version"];
const STEP_PARAMETERS = ["sequence_id", "sequence_start", "sequence_end"];
/** Parameters of a request that have a meaning. */
const REQUEST_PARAMETERS = [
  ...["timeout", "priority", "variant", "same_variant", "slo_class"],
  ...STEP_PARAMETERS,
  "binary_data_output",
];
const INPUT_PARAMETERS = ["binary_data_size"];
const OUTPUT_PARAMETERS = ["binary_data", "classification"];
/** Parameters that MLServer's clients send without need, and Triton's streams (the third). */
export const IGNORED_PARAMETERS = ["content_type", "headers", "triton_enable_empty_final_response"];
/** Parameters of tensors that are refused by name elsewhere, or that workers of Stratagem take. */
const IGNORED_OF_TENSORS = [
  ...IGNORED_PARAMETERS,
  "shared_memory_region",
  "shared_memory_offset",
  "shared_memory_byte_size",
  "stratagem_keep",
];

/** @throws BadRequest */
export function requestWishes(parameters: Fields, signature: ClientSignature): RequestWishes {
  refuseUnknown(parameters, "parameters", REQUEST_PARAMETERS, IGNORED_PARAMETERS);
  const priority = integerOr0(parameters, "priority");
  if (priority !== 0 && signature.noPriorities !== undefined) {
    throw new BadRequest("parameters.priority", signature.noPriorities, priority);
  }
  const timeoutUs = integerOr0(parameters, "timeout");
  const { variant: named, same_variant: same } = parameters;
  const isOpen = named === undefined && same === undefined;
  const variant = isOpen ? undefined : variantWishOf(parameters, signature);
  // Triton's default is 0: no deadline tighter than the SLO, and the highest priority, which is 1.
  const timeoutMs = timeoutUs === 0 ? undefined : timeoutUs / 1000;
  const sloClass = textOf(parameters["slo_class"], "parameters.slo_class");
  const sequence = signature.hasSequences ? sequenceStepOf(parameters) : noStep(parameters);
  return { timeoutMs, isHigh: priority <= 1, variant, sloClass, sequence };
}

/** Triton's defaults are 0, an empty text and false. @throws BadRequest */
function noStep(parameters: Fields): undefined {
  for (const name of STEP_PARAMETERS) {
    const value = parameters[name];
    if (!value) continue;
    throw new BadRequest(`parameters.${name}`, "expected nothing: the model keeps no state", value);
  }
  return undefined;
}

/**
 * Checks that every input of the model occurs once, and all have the same number of rows.
 * @param given in the order of the request. @param statedAt returns the stated properties of one.
 * @param bytesAt called in order, with the validated shape.
 * @throws BadRequest, and errors of the two.
 */
export function gatheredInputs<T>(
  given: readonly T[],
  statedAt: (input: T, path: string) => StatedInput,
  signature: ClientSignature,
  maxRows: number,
  bytesAt: (tensor: ModelTensor, shape: number[], path: string, position: number) => Uint8Array,
): Pick<InferRequest, "rows" | "inputs" | "sizes"> {
  let found: FoundSizes | undefined;
  const inputs = new Array<Uint8Array | undefined>(signature.inputs.length).fill(undefined);
  let rows: number | undefined;
  for (const [position, input] of given.entries()) {
    const path = `inputs[${position}]`;
    const stated = statedAt(input, path);
    const index = indexOfName(stated.name, signature.inputs, `${path}.name`);
    const tensor = signature.inputs[index];
    if (tensor === undefined || inputs[index] !== undefined) {
      throw new BadRequest(`${path}.name`, "expected every input once", stated.name);
    }
    const sizeAt = (axis: number, size: unknown, at: string) => {
      found ??= new FoundSizes(signature);
      return found.take(index, axis, size, at);
    };
    const shape = shapeOf(stated, tensor, path, rows ?? maxRows, rows !== undefined, sizeAt);
    rows = shape[0] ?? 0;
    inputs[index] = bytesAt(tensor, shape, path, position);
  }
  const missing = signature.inputs.find((_, index) => inputs[index] === undefined);
  if (missing !== undefined || rows === undefined) {
    const expected = `expected an input named "${missing?.name}"`;
    const names = given.map((input, position) => statedAt(input, `inputs[${position}]`).name);
    throw new BadRequest("inputs", expected, names.join(", "));
  }
  const all = { rows, inputs: inputs.filter((input) => input !== undefined) };
  return signature.axes === undefined ? all : { ...all, sizes: found?.sizes ?? [] };
}

/**
 * Checks datatype and shape. @param isFixed whether an earlier input fixes the number of rows.
 * @param sizeAt called with the size of an open axis.
 */
function shapeOf(
  stated: StatedInput,
  { datatype, rowShape }: ModelTensor,
  path: string,
  maxRows: number,
  isFixed: boolean,
  sizeAt: (axis: number, size: unknown, path: string) => number,
): number[] {
  if (stated.datatype !== datatype) {
    throw new BadRequest(`${path}.datatype`, `expected "${datatype}"`, stated.datatype);
  }
  const { shape } = stated;
  const ownShape = statedRowShape(rowShape, shape);
  if (!Array.isArray(shape) || shape.length !== ownShape.length + 1) {
    const allowed = `[rows${rowShape.map((size) => `, ${size}`).join("")}]`;
    throw new BadRequest(`${path}.shape`, `expected ${allowed}`, shapeText(shape));
  }
  const rows: unknown = shape[0];
  if (typeof rows !== "number" || !Number.isInteger(rows) || rows < 1 || rows > maxRows) {
    const expected = maxRows === 1 ? "expected 1 row" : `expected 1 to ${maxRows} rows`;
    throw new BadRequest(`${path}.shape[0]`, expected, rows);
  }
  if (isFixed && rows !== maxRows) {
    throw new BadRequest(`${path}.shape[0]`, `expected ${maxRows}, as in the previous input`, rows);
  }
  const sizes = ownShape.map((size, index) => {
    const [found, at]: [unknown, string] = [shape[index + 1], `${path}.shape[${index + 1}]`];
    if (size < 0) return sizeAt(index + 1, found, at);
    if (found !== size) throw new BadRequest(at, `expected ${size}`, found);
    return size;
  });
  return [rows, ...sizes];
}

/**
 * Triton's configuration has no tensor without dims, so clients give rows of one element one, and
 * others leave it out.
 */
function statedRowShape(rowShape: readonly number[], shape: unknown): readonly number[] {
  const rank = Array.isArray(shape) ? shape.length : 0;
  if (rowShape.length === 0 && rank === 2) return [1];
  return rowShape.length === 1 && rowShape[0] === 1 && rank === 1 ? [] : rowShape;
}

/** Text of an unexpected shape, which may be any value of any depth. */
function shapeText(shape: unknown): unknown {
  const isFlat = Array.isArray(shape) && shape.every((size) => typeof size === "number");
  return isFlat && shape.length <= MAX_TOLD_AXES ? JSON.stringify(shape) : shape;
}

/**
 * Checks and returns the binary elements of a tensor.
 * @param at path of the field with the number of bytes.
 * @throws BadRequest if the number does not match the shape.
 */
export function binaryOf(
  bytes: Uint8Array,
  { datatype }: Pick<ModelTensor, "datatype">,
  shape: readonly number[],
  at: string,
): Uint8Array {
  const rowElements = elementCountOf(shape.slice(1));
  if (rowBounds(datatype, bytes, shape[0] ?? 0, rowElements) !== undefined) return bytes;
  const { elementBytes } = DATATYPES[datatype];
  const count = elementCountOf(shape);
  const expected =
    elementBytes > 0
      ? `expected ${count * elementBytes}, ${count} elements of ${datatype}`
      : `expected ${count} elements, each after its length in 4 bytes`;
  throw new BadRequest(at, expected, bytes.length);
}

/**
 * @param outputs requested outputs; undefined or empty for all.
 * @param parameters of the request.
 * @param usual whether outputs are binary by default.
 * @throws BadRequest
 */
export function outputsOf(
  outputs: unknown,
  parameters: Fields,
  signature: ClientSignature,
  usual: boolean,
): RequestedOutput[] {
  const byDefault = booleanOf(parameters["binary_data_output"], "parameters.binary_data_output");
  if (outputs === undefined || (Array.isArray(outputs) && outputs.length === 0)) {
    const isBinary = byDefault ?? usual;
    return signature.outputs.flatMap((tensor, index) => {
      if (tensor.isInternal === true) return [];
      refuseJson(tensor, isBinary, "parameters.binary_data_output");
      return [{ index, isBinary }];
    });
  }
  if (!Array.isArray(outputs)) throw new BadRequest("outputs", "expected an array", outputs);
  const seen = new Set<number>();
  const tensors = askableOutputs(signature);
  return outputs.map((value, position) => {
    const path = `outputs[${position}]`;
    const fields = fieldsOf(value, path);
    const index = indexOfName(fields["name"], tensors, `${path}.name`);
    if (seen.has(index)) {
      throw new BadRequest(`${path}.name`, "expected every output once", fields["name"]);
    }
    seen.add(index);
    refuseUnknown(fields, path, OUTPUT_FIELDS, []);
    const own = parametersOf(fields, `${path}.`);
    refuseUnknown(own, `${path}.parameters`, OUTPUT_PARAMETERS, IGNORED_OF_TENSORS);
    refuseParameter(own, `${path}.parameters`, "shared_memory_region");
    const at = `${path}.parameters.binary_data`;
    const isBinary = booleanOf(own["binary_data"], at) ?? byDefault ?? usual;
    const tensor = tensors[index] ?? VARIANT_OUTPUT;
    const classesAt = `${path}.parameters.classification`;
    // Some clients always send it, with 0 for none.
    const classes = integerOf(own["classification"] ?? 0, classesAt);
    if (classes > 0) {
      expectClasses(tensor, signature, classes, classesAt);
      return { index, isBinary, classes };
    }
    refuseJson(tensor, isBinary, at);
    return { index, isBinary };
  });
}

/** Outputs that can only be sent as bytes must be requested as binary. */
function refuseJson(tensor: ModelTensor, isBinary: boolean, path: string): void {
  if (isBinary || !isBinaryOnly(tensor.datatype)) return;
  const { name, datatype } = tensor;
  const expected = `expected true: output "${name}" is ${datatype}, sent as binary data only`;
  throw new BadRequest(path, expected, isBinary);
}

/** An output of the model that is called so as well hides the one that names variants. */
function askableOutputs({ outputs, answersByRow }: ClientSignature): readonly ModelTensor[] {
  return answersByRow === true ? [...outputs, VARIANT_OUTPUT] : outputs;
}

function indexOfName(name: unknown, tensors: readonly ModelTensor[], path: string): number {
  const index = tensors.findIndex((tensor) => tensor.name === name);
  if (index >= 0) return index;
  const names = tensors.map((tensor) => `"${tensor.name}"`).join(" or ");
  throw new BadRequest(path, `expected ${names}`, name);
}

/** @param prefix path of the object that has the parameters, with its dot. */
export function parametersOf(fields: Fields, prefix: string): Fields {
  const { parameters } = fields;
  return parameters === undefined ? {} : fieldsOf(parameters, `${prefix}parameters`);
}

export function fieldsOf(value: unknown, path: string): Fields {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Fields;
  throw new BadRequest(path, "expected an object", value);
}

export function integerOf(value: unknown, path: string): number {
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) return value;
  throw new BadRequest(path, "expected an integer of 0 or more", value);
}

/** A parameter of the request; 0 without one. */
function integerOr0(parameters: Fields, name: string): number {
  const value = parameters[name];
  return value === undefined ? 0 : integerOf(value, `parameters.${name}`);
}

export function textOf(value: unknown, path: string): string | undefined {
  if (value === undefined || typeof value === "string") return value;
  throw new BadRequest(path, "expected a string", value);
}

function booleanOf(value: unknown, path: string): boolean | undefined {
  if (value === undefined || typeof value === "boolean") return value;
  throw new BadRequest(path, "expected true or false", value);
}

/** @throws BadRequest for fields beside those of the protocol. */
export function refuseRequestFields(request: Fields): void {
  refuseUnknown(request, "request", REQUEST_FIELDS, IGNORED_FIELDS);
}

/** @throws BadRequest for fields beside those of the protocol. */
export function refuseInputFields(input: Fields, path: string): void {
  refuseUnknown(input, path, INPUT_FIELDS, []);
}

/** @throws BadRequest for a parameter of an input that has no meaning here. */
export function refuseInputParameters(parameters: Fields, path: string): void {
  refuseUnknown(parameters, path, INPUT_PARAMETERS, IGNORED_OF_TENSORS);
  refuseParameter(parameters, path, "shared_memory_region");
}

/** A parameter that is ignored would be a wish that the client believes was met. */
export function refuseUnknown(
  parameters: Fields,
  path: string,
  known: readonly string[],
  ignored: readonly string[],
): void {
  for (const name in parameters) {
    if (known.includes(name) || ignored.includes(name)) continue;
    throw new BadRequest(path, `expected only ${known.join(", ")}`, name);
  }
}

export function refuseParameter(parameters: Fields, path: string, name: string): void {
  const value = parameters[name];
  if (value === undefined) return;
  throw new BadRequest(
    `${path}.${name}`,
    "expected nothing: this server does not support it",
    value,
  );
}
