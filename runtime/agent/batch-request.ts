/** Reads a batch sent by a front end: one request of the Open Inference Protocol. */
import type { BucketAxis } from "../bundle/schema.ts";
import { plainLength } from "../server/bodies/body-memory.ts";
import {
  binaryOf,
  type Fields,
  fieldsOf,
  IGNORED_PARAMETERS,
  integerOf,
  outputsOf,
  parametersOf,
  type RequestedOutput,
  refuseInputParameters,
  refuseUnknown,
} from "../server/protocol/infer-request.ts";
import { BadRequest } from "../server/tensors/bad-request.ts";
import { parseJson } from "../server/tensors/json-text.ts";
import { bucketOf } from "../server/tensors/padding.ts";
import { bytesOfJson } from "../server/tensors/tensors.ts";
import type { AgentModel } from "./agent-model.ts";
import { type ValueReference, valueReference } from "./value-source.ts";

/** Front ends send tensors as bytes; JSON this long is enough for trying a model by hand. */
const MAX_JSON_BYTES = 2 ** 22;
const MAX_ID_CHARACTERS = 256;
const BATCH_PARAMETERS = ["binary_data_output"];
const utf8 = new TextDecoder("utf-8", { fatal: true });

export interface ReadBatch {
  /** Undefined if the request has none; it is then not checked for duplicates. */
  readonly id: string | undefined;
  readonly rows: number;
  /** Which of the bucket sizes its rows have, as `bucketSizes` counts them. */
  readonly bucket: number;
  /**
   * Inputs in the model's order: views on the body, or references to outputs of an earlier batch,
   * to be fetched from the worker that keeps them.
   */
  readonly inputs: readonly (Uint8Array | ValueReference)[];
  readonly outputs: readonly RequestedOutput[];
  /** Indices of outputs to keep here for the worker that takes them next. */
  readonly kept: ReadonlySet<number>;
}

/** An input with its checked shape. */
interface ShapedInput {
  readonly shape: readonly number[];
  readonly bytes: Uint8Array | ValueReference;
}

/**
 * @param headerLength value of `Inference-Header-Content-Length`; undefined if the body is JSON.
 * @throws BadRequest at the first invalid field.
 */
export function readBatch(
  body: Uint8Array,
  headerLength: string | undefined,
  model: AgentModel,
): ReadBatch {
  const jsonBytes = jsonLength(body, headerLength);
  const request = fieldsOf(jsonOf(body.subarray(0, jsonBytes)), "request");
  const parameters = parametersOf(request, "");
  refuseUnknown(parameters, "parameters", BATCH_PARAMETERS, IGNORED_PARAMETERS);
  const inputs = inputsOf(request["inputs"], body.subarray(jsonBytes), model);
  const outputs = outputsOf(request["outputs"], parameters, model.signature, false);
  const asked = outputs.find(({ classes }) => classes !== undefined);
  if (asked !== undefined) {
    throw new BadRequest(
      "outputs",
      "expected no classification: workers do not support it",
      asked.classes,
    );
  }
  return {
    id: idOf(request["id"]),
    rows: rowsOf(inputs, model),
    bucket: bucketIn(inputs, model.variant.buckets ?? []),
    inputs: inputs.map(({ bytes }) => bytes),
    outputs,
    kept: keptOutputs(request["outputs"], outputs),
  };
}

/** Returns the outputs requested with `stratagem_keep`. */
function keptOutputs(stated: unknown, outputs: readonly RequestedOutput[]): Set<number> {
  const asked: readonly unknown[] = Array.isArray(stated) ? stated : [];
  const kept = asked.map((output, position) => {
    const path = `outputs[${position}]`;
    const keep = parametersOf(fieldsOf(output, path), `${path}.`)["stratagem_keep"];
    if (keep === undefined || typeof keep === "boolean") return keep === true;
    throw new BadRequest(`${path}.parameters.stratagem_keep`, "expected true or false", keep);
  });
  return new Set(outputs.filter((_, position) => kept[position]).map(({ index }) => index));
}

function jsonLength(body: Uint8Array, headerLength: string | undefined): number {
  const length = headerLength === undefined ? body.length : plainLength(headerLength);
  const most = Math.min(body.length, MAX_JSON_BYTES);
  if (length !== undefined && length > 0 && length <= most) return length;
  const field = headerLength === undefined ? "request" : "Inference-Header-Content-Length";
  throw new BadRequest(field, `expected JSON of 1 to ${most} bytes`, headerLength ?? body.length);
}

function jsonOf(bytes: Uint8Array): unknown {
  try {
    return parseJson(utf8.decode(bytes));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new BadRequest("request", `expected JSON (${reason})`, `${bytes.length} bytes`);
  }
}

function idOf(id: unknown): string | undefined {
  if (id === undefined || id === "") return undefined;
  if (typeof id === "string" && id.length <= MAX_ID_CHARACTERS) return id;
  throw new BadRequest("id", `expected a text of at most ${MAX_ID_CHARACTERS} characters`, id);
}

/** Reads the inputs. Binary data follow the JSON in the order of the inputs that have them. */
function inputsOf(given: unknown, binary: Uint8Array, model: AgentModel): ShapedInput[] {
  if (!Array.isArray(given)) throw new BadRequest("inputs", "expected an array", given);
  const { inputs: tensors } = model.signature;
  const found = new Array<ShapedInput | undefined>(tensors.length).fill(undefined);
  let offset = 0;
  for (const [position, value] of given.entries()) {
    const path = `inputs[${position}]`;
    const fields = fieldsOf(value, path);
    const index = tensors.findIndex(({ name }) => name === fields["name"]);
    const tensor = tensors[index];
    if (tensor === undefined || found[index] !== undefined) {
      const names = tensors.map(({ name }) => `"${name}"`).join(", ");
      throw new BadRequest(`${path}.name`, `expected each of ${names} once`, fields["name"]);
    }
    if (fields["datatype"] !== tensor.datatype) {
      throw new BadRequest(`${path}.datatype`, `expected "${tensor.datatype}"`, fields["datatype"]);
    }
    const shape = shapeOf(fields["shape"], model.variant.inputs[index]?.shape ?? [], path);
    const reference = valueReference(parametersOf(fields, `${path}.`), path);
    if (reference !== undefined) {
      found[index] = { shape, bytes: { ...reference, tensor, shape, path } };
      continue;
    }
    const size = binarySizeOf(fields, path, binary.length - offset);
    const bytes =
      size === undefined
        ? bytesOfJson(tensor.datatype, shape, fields["data"], `${path}.data`)
        : binary.subarray(offset, offset + size);
    if (size !== undefined) {
      offset += size;
      binaryOf(bytes, tensor, shape, `${path}.parameters.binary_data_size`);
    }
    found[index] = { shape, bytes };
  }
  if (offset !== binary.length) {
    const expected = `expected ${offset} bytes after the JSON, the sum of every binary_data_size`;
    throw new BadRequest("request", expected, binary.length);
  }
  const missing = tensors.find((_, index) => found[index] === undefined);
  if (missing === undefined) return found.filter((input) => input !== undefined);
  throw new BadRequest("inputs", `expected an input named "${missing.name}"`, given.length);
}

/** @param stated shape of the model, with -1 for an open axis. */
function shapeOf(found: unknown, stated: readonly number[], path: string): number[] {
  const at = `${path}.shape`;
  const sizes: unknown[] = Array.isArray(found) ? found : [];
  const shape = sizes.filter(
    (size): size is number => typeof size === "number" && Number.isSafeInteger(size) && size >= 1,
  );
  const isFit = Array.isArray(found) && shape.length === sizes.length;
  const isSame = shape.length === stated.length;
  if (isFit && isSame && stated.every((size, axis) => size < 0 || size === shape[axis])) {
    return shape;
  }
  const allowed = stated.map((size) => (size < 0 ? "any" : size)).join(", ");
  throw new BadRequest(at, `expected [${allowed}]`, JSON.stringify(found)?.slice(0, 100));
}

function binarySizeOf(fields: Fields, path: string, available: number): number | undefined {
  const parameters = parametersOf(fields, `${path}.`);
  refuseInputParameters(parameters, `${path}.parameters`);
  const size = parameters["binary_data_size"];
  if (size === undefined) return undefined;
  const at = `${path}.parameters.binary_data_size`;
  const bytes = integerOf(size, at);
  if (bytes <= available && fields["data"] === undefined) return bytes;
  const expected = `expected at most the ${available} remaining bytes, and no data field`;
  throw new BadRequest(at, expected, size);
}

/** Returns axis 0 of the inputs with an open axis, which must agree. */
function rowsOf(inputs: readonly ShapedInput[], { variant }: AgentModel): number {
  let rows: number | undefined;
  for (const [index, { shape }] of inputs.entries()) {
    const isOpen = variant.inputs[index]?.shape.some((size) => size < 0) === true;
    if (!isOpen && variant.adapter === undefined) continue;
    const own = shape[0] ?? 1;
    if (rows !== undefined && rows !== own) {
      throw new BadRequest(
        `inputs[${index}].shape[0]`,
        `expected ${rows}, as in other inputs`,
        own,
      );
    }
    rows = own;
  }
  return rows ?? inputs[0]?.shape[0] ?? 1;
}

/** @throws BadRequest for sizes that are not the model's: front ends pad the rows. */
function bucketIn(inputs: readonly ShapedInput[], axes: readonly BucketAxis[]): number {
  const found = axes.map(({ inputs: places, sizes }) => {
    const own = places.map(({ input, axis }) => inputs[input]?.shape[axis] ?? 0);
    const [size = 0] = own;
    if (sizes.includes(size) && own.every((other) => other === size)) return size;
    throw new BadRequest(
      "inputs",
      `expected one of ${sizes.join(", ")} on an axis`,
      own.length > 1 ? own.join() : size,
    );
  });
  return bucketOf(axes, found);
}
