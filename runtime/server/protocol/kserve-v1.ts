/**
 * KServe's V1 protocol: `{"instances": […]}` in, one instance per row, and `{"predictions": […]}`
 * out. For a model with several inputs or outputs, an instance or a prediction is an object with
 * one field for each.
 */
import type { OutputTensor } from "../requests/request.ts";
import { BadRequest } from "../tensors/bad-request.ts";
import { type JsonLimits, parseJson } from "../tensors/json-text.ts";
import { FoundSizes } from "../tensors/padding.ts";
import type { ClientSignature, ModelTensor } from "../tensors/signature.ts";
import {
  bytesOfJson,
  type Datatype,
  elementCountOf,
  jsonOfBytes,
  rowBounds,
} from "../tensors/tensors.ts";
import { type InferRequest, refuseUnknown } from "./infer-request.ts";

const utf8 = new TextDecoder("utf-8", { fatal: true });

/**
 * @param parts limits of the JSON. Default: the text is short.
 * @throws BadRequest at the first invalid field.
 */
export function parsePredictRequest(
  body: Uint8Array,
  signature: ClientSignature,
  maxRows: number,
  parts?: JsonLimits,
): InferRequest {
  const instances = instancesOf(jsonOf(body, parts), maxRows);
  const { inputs, outputs, outputsAreRows, hasSequences } = signature;
  if (outputsAreRows === false) {
    const why = "expected a model that answers each row with a row; use /v2 for this one";
    throw new BadRequest("instances", why, instances);
  }
  if (hasSequences === true) {
    const why = "expected a model without state, whose requests name no sequence; use /v2";
    throw new BadRequest("instances", why, instances);
  }
  const found = new FoundSizes(signature);
  const rowsOf = (input: ModelTensor, index: number) =>
    instances.map((instance, row) => {
      const sizeAt: SizeAt = (axis, size, path) => found.take(index, axis, size, path);
      return rowOf(instance, input, inputs, row, sizeAt);
    });
  return {
    id: undefined,
    rows: instances.length,
    inputs: inputs.map((input, index) => Buffer.concat(rowsOf(input, index))),
    ...(signature.axes === undefined ? {} : { sizes: found.sizes }),
    outputs: outputs.flatMap(({ isInternal }, index) =>
      isInternal === true ? [] : [{ index, isBinary: false }],
    ),
    timeoutMs: undefined,
    isHigh: true,
    variant: undefined,
    sloClass: undefined,
    sequence: undefined,
  };
}

function jsonOf(bytes: Uint8Array, parts: JsonLimits | undefined): unknown {
  try {
    return parseJson(utf8.decode(bytes), parts);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new BadRequest("request", `expected JSON (${reason})`, `${bytes.length} bytes`);
  }
}

function instancesOf(request: unknown, maxRows: number): readonly unknown[] {
  if (!isObject(request)) throw new BadRequest("request", "expected an object", request);
  refuseUnknown(request, "request", ["instances"], []);
  const { instances } = request;
  if (!Array.isArray(instances)) throw new BadRequest("instances", "expected an array", instances);
  if (instances.length < 1 || instances.length > maxRows) {
    throw new BadRequest("instances", `expected 1 to ${maxRows} of them`, instances);
  }
  return instances;
}

/** The bytes of one input of an instance. */
function rowOf(
  instance: unknown,
  { name, datatype, rowShape }: ModelTensor,
  inputs: readonly ModelTensor[],
  row: number,
  sizeAt: SizeAt,
): Uint8Array {
  const path = `instances[${row}]`;
  if (!isObject(instance) || isEncoded(instance)) {
    const names = inputs.map((input) => `"${input.name}"`).join(", ");
    if (inputs.length > 1) throw new BadRequest(path, `expected an object of ${names}`, instance);
    return tensorOf(instance, datatype, openedShape(rowShape, instance, path, sizeAt), path);
  }
  const extra = Object.keys(instance).find((key) => inputs.every((input) => input.name !== key));
  const known = inputs.map((input) => `"${input.name}"`).join(" or ");
  if (extra !== undefined) throw new BadRequest(path, `expected ${known}`, extra);
  const [own, at] = [instance[name], `${path}.${name}`];
  return tensorOf(own, datatype, openedShape(rowShape, own, at, sizeAt), at);
}

type SizeAt = (axis: number, size: unknown, path: string) => number;

/** Shape with the open axes replaced by the lengths of the instance's arrays. */
function openedShape(
  rowShape: readonly number[],
  given: unknown,
  path: string,
  sizeAt: SizeAt,
): readonly number[] {
  let inner = given;
  return rowShape.map((size, axis) => {
    const length = Array.isArray(inner) ? inner.length : undefined;
    inner = Array.isArray(inner) ? inner[0] : undefined;
    return size < 0 ? sizeAt(axis + 1, length, path) : size;
  });
}

function tensorOf(
  given: unknown,
  datatype: Datatype,
  rowShape: readonly number[],
  path: string,
): Uint8Array {
  const value = datatype === "BYTES" ? decoded(given, rowShape.length) : given;
  if (rowShape.length > 0) return bytesOfJson(datatype, rowShape, value, path);
  // A row of one element is that element, or an array of it.
  return bytesOfJson(datatype, [1], Array.isArray(value) ? value : [value], path);
}

/**
 * Decodes binary strings, which are written `{"b64": "…"}`. @param depth maximum depth of arrays.
 */
function decoded(value: unknown, depth: number): unknown {
  if (Array.isArray(value)) return depth < 0 ? value : value.map((one) => decoded(one, depth - 1));
  return isEncoded(value) ? new Uint8Array(Buffer.from(value.b64, "base64")) : value;
}

function isEncoded(value: unknown): value is { readonly b64: string } {
  return isObject(value) && typeof value["b64"] === "string" && Object.keys(value).length === 1;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** An output with its rows, to be written. */
export interface PredictedOutput extends OutputTensor {
  readonly name: string;
  readonly datatype: Datatype;
}

/**
 * @param outputs at least one, all with the same number of rows.
 * @throws Error if an element is NaN or infinite, which JSON cannot express.
 */
export function predictionsJson(outputs: readonly PredictedOutput[]): string {
  const columns = outputs.map(rowTexts);
  const [only] = columns;
  if (only === undefined) throw new Error("the model has no output");
  if (columns.length === 1) return `{"predictions":[${only.join(",")}]}`;
  const names = outputs.map(({ name }) => JSON.stringify(name));
  const rows = only.map((_, row) => {
    return `{${columns.map((texts, index) => `${names[index]}:${texts[row]}`).join(",")}}`;
  });
  return `{"predictions":[${rows.join(",")}]}`;
}

function rowTexts({ name, datatype, shape, parts }: PredictedOutput): string[] {
  const bytes = Buffer.concat(parts);
  const [rows = 0, ...rowShape] = shape;
  const text = nested(datatype, bytes, rows, rowShape);
  if (text !== undefined) return text;
  throw new Error(`output "${name}" has an element that is NaN or infinite; request it by /v2`);
}

/** Returns one text per row, nested by its shape. */
function nested(
  datatype: Datatype,
  bytes: Uint8Array,
  rows: number,
  rowShape: readonly number[],
): string[] | undefined {
  const bounds = rowBounds(datatype, bytes, rows, elementCountOf(rowShape));
  if (bounds === undefined) throw new Error("the bytes of an output are its rows");
  const texts: string[] = [];
  for (let row = 0; row < rows; row++) {
    const own = bytes.subarray(bounds[row], bounds[row + 1]);
    const [size = 0, ...inner] = rowShape;
    const text = inner.length > 0 ? nested(datatype, own, size, inner) : jsonOfBytes(datatype, own);
    if (text === undefined) return undefined;
    if (typeof text !== "string") texts.push(`[${text.join(",")}]`);
    // Scalars have no brackets around their only element.
    else texts.push(rowShape.length === 0 ? text.slice(1, -1) : text);
  }
  return texts;
}
