/**
 * Inference requests of the Open Inference Protocol v2 over HTTP, with Triton's binary tensor
 * extension.
 */
import { plainLength } from "../bodies/body-memory.ts";
import { BadRequest } from "../tensors/bad-request.ts";
import { type JsonLimits, parseJson } from "../tensors/json-text.ts";
import type { ClientSignature, ModelTensor } from "../tensors/signature.ts";
import { bytesOfJson, DATATYPES, elementCountOf } from "../tensors/tensors.ts";
import {
  binaryOf,
  type Fields,
  fieldsOf,
  gatheredInputs,
  type InferRequest,
  integerOf,
  outputsOf,
  parametersOf,
  refuseInputFields,
  refuseInputParameters,
  refuseRequestFields,
  requestWishes,
  type StatedInput,
  textOf,
} from "./infer-request.ts";

export type { InferRequest } from "./infer-request.ts";

const utf8 = new TextDecoder("utf-8", { fatal: true });

/**
 * @param body after decompression.
 * @param headerLength value of `Inference-Header-Content-Length`; undefined when the body is JSON
 * only.
 * @param parts limits of the JSON. Default: the text is short.
 * @throws BadRequest at the first invalid field.
 */
export function parseInferRequest(
  body: Uint8Array,
  headerLength: string | undefined,
  signature: ClientSignature,
  maxRows: number,
  parts?: JsonLimits,
): InferRequest {
  if (isRaw(headerLength)) return rawRequest(body, signature, maxRows);
  const jsonLength = jsonLengthOf(body, headerLength);
  const request = fieldsOf(jsonOf(body.subarray(0, jsonLength), parts), "request");
  refuseRequestFields(request);
  const parameters = parametersOf(request, "");
  const id = textOf(request["id"], "id");
  const wishes = requestWishes(parameters, signature);
  const given = inputsOf(request, body.subarray(jsonLength), signature, maxRows);
  const outputs = outputsOf(request["outputs"], parameters, signature, false);
  return { id, ...given, outputs, ...wishes };
}

function jsonLengthOf(body: Uint8Array, headerLength: string | undefined): number {
  if (headerLength === undefined) return body.length;
  const length = plainLength(headerLength) ?? Number.NaN;
  if (length > 0 && length <= body.length) return length;
  const allowed = `expected a length from 1 to ${body.length}, the length of the body`;
  throw new BadRequest("Inference-Header-Content-Length", allowed, headerLength);
}

function jsonOf(bytes: Uint8Array, parts: JsonLimits | undefined): unknown {
  try {
    return parseJson(utf8.decode(bytes), parts);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new BadRequest("request", `expected JSON (${reason})`, `${bytes.length} bytes`);
  }
}

/** Binary data follow the JSON in the order of the inputs that have some. */
function inputsOf(
  request: Fields,
  binary: Uint8Array,
  signature: ClientSignature,
  maxRows: number,
): Pick<InferRequest, "rows" | "inputs" | "sizes"> {
  const given = request["inputs"];
  if (!Array.isArray(given)) throw new BadRequest("inputs", "expected an array", given);
  let offset = 0;
  const bytesAt = (tensor: ModelTensor, shape: number[], path: string, position: number) => {
    const fields = fieldsOf(given[position], path);
    const size = binarySizeOf(fields, path, binary.length - offset);
    if (size === undefined) {
      return bytesOfJson(tensor.datatype, shape, fields["data"], `${path}.data`);
    }
    const bytes = binary.subarray(offset, offset + size);
    offset += size;
    return binaryOf(bytes, tensor, shape, `${path}.parameters.binary_data_size`);
  };
  const gathered = gatheredInputs(given, statedOf, signature, maxRows, bytesAt);
  if (offset === binary.length) return gathered;
  const expected = `expected ${offset} bytes after the JSON, the sum of every binary_data_size`;
  throw new BadRequest("request", expected, binary.length);
}

function statedOf(value: unknown, path: string): StatedInput {
  const { name, datatype, shape } = fieldsOf(value, path);
  return { name, datatype, shape };
}

function binarySizeOf(fields: Fields, path: string, available: number): number | undefined {
  refuseInputFields(fields, path);
  const parameters = parametersOf(fields, `${path}.`);
  refuseInputParameters(parameters, `${path}.parameters`);
  const size = parameters["binary_data_size"];
  if (size === undefined) return undefined;
  const at = `${path}.parameters.binary_data_size`;
  if (fields["data"] !== undefined) {
    throw new BadRequest(
      `${path}.data`,
      "expected nothing in addition to binary_data_size",
      fields["data"],
    );
  }
  const bytes = integerOf(size, at);
  if (bytes > available) {
    throw new BadRequest(
      at,
      `expected at most the ${available} bytes that the body has left`,
      size,
    );
  }
  return bytes;
}

/** Maximum number of cached headers; a client has one for each number of rows that it sends. */
const MAX_HEADERS = 64;
const MAX_HEADER_BYTES = 4096;

/** A request without its bytes. */
interface Layout {
  readonly request: InferRequest;
  /** Start and end of each input in the binary data after the JSON. */
  readonly bounds: readonly (readonly [begin: number, end: number])[];
  readonly binaryBytes: number;
}

/**
 * Reads inference requests, and parses each JSON header only once. Clients with binary tensors send
 * the same header with different data again and again; if elements have a fixed size, such a header
 * alone determines whether the request is valid.
 */
export class RequestReader {
  readonly #signature: ClientSignature;
  readonly #maxRows: number;
  readonly #hasFixedSizes: boolean;
  readonly #layoutByHeader = new Map<string, Layout>();

  constructor(signature: ClientSignature, maxRows: number) {
    this.#signature = signature;
    this.#maxRows = maxRows;
    this.#hasFixedSizes = signature.inputs.every(
      ({ datatype }) => DATATYPES[datatype].elementBytes > 0,
    );
  }

  /** Arguments, result and errors are those of `parseInferRequest`. */
  read(body: Buffer, headerLength: string | undefined): InferRequest {
    const jsonBytes = Number(headerLength);
    const isPlain = String(jsonBytes) === headerLength && jsonBytes <= MAX_HEADER_BYTES;
    if (!isPlain || jsonBytes === 0 || !this.#hasFixedSizes) {
      return parseInferRequest(body, headerLength, this.#signature, this.#maxRows);
    }
    const header = body.toString("latin1", 0, jsonBytes);
    const known = this.#layoutByHeader.get(header);
    if (known !== undefined && known.binaryBytes === body.length - jsonBytes) {
      const inputs = known.bounds.map(([begin, end]) => {
        return body.subarray(jsonBytes + begin, jsonBytes + end);
      });
      return { ...known.request, inputs };
    }
    const request = parseInferRequest(body, headerLength, this.#signature, this.#maxRows);
    this.#remember(header, request, body.byteOffset + jsonBytes, body.length - jsonBytes);
    return request;
  }

  #remember(header: string, request: InferRequest, binaryOffset: number, binaryBytes: number) {
    const bounds = request.inputs.map(({ byteOffset, length }) => {
      const begin = byteOffset - binaryOffset;
      return [begin, begin + length] as const;
    });
    const inputBytes = request.inputs.reduce((sum, { length }) => sum + length, 0);
    // Inputs in the JSON are not in the binary data; and an id is sent only once.
    if (inputBytes !== binaryBytes || request.id !== undefined) return;
    if (this.#layoutByHeader.size >= MAX_HEADERS) this.#layoutByHeader.clear();
    // Frozen outputs show the response writer that the same header can come again.
    Object.freeze(request.outputs);
    this.#layoutByHeader.set(header, { request: { ...request, inputs: [] }, bounds, binaryBytes });
  }
}

const LENGTH_BYTES = 4;
/** Fields of a body without JSON. */
const NOTHING = {};

/**
 * Whether a request has no JSON, as Triton allows it: the whole body is the only input of the
 * model.
 * @param headerLength value of `Inference-Header-Content-Length`; undefined without one.
 */
export function isRaw(headerLength: string | undefined): boolean {
  return headerLength === "0";
}

/**
 * Reads a body without JSON. A BYTES body is one element, without a length prefix; a numeric body
 * is as many rows as its bytes make. All outputs are returned as JSON.
 * @throws BadRequest for a model with several inputs, and for a body that is not whole rows.
 */
function rawRequest(body: Uint8Array, signature: ClientSignature, maxRows: number): InferRequest {
  const [input, ...others] = signature.inputs;
  if (input === undefined || others.length > 0) {
    const names = signature.inputs.map(({ name }) => `"${name}"`).join(", ");
    const expected = `expected a length above 0: a body without JSON is one input, not ${names}`;
    throw new BadRequest("Inference-Header-Content-Length", expected, 0);
  }
  const { rows, bytes } =
    input.datatype === "BYTES" ? elementOf(body, input) : rowsOf(body, input, maxRows);
  return {
    id: undefined,
    rows,
    inputs: [bytes],
    outputs: outputsOf(undefined, NOTHING, signature, false),
    ...requestWishes(NOTHING, signature),
  };
}

interface Rows {
  readonly rows: number;
  readonly bytes: Uint8Array;
}

function elementOf(body: Uint8Array, { name, rowShape }: ModelTensor): Rows {
  if (elementCountOf(rowShape) !== 1) {
    const expected = `expected JSON that says which of the elements of "${name}" this is`;
    throw new BadRequest("request", expected, `${body.length} bytes`);
  }
  const bytes = new Uint8Array(LENGTH_BYTES + body.length);
  new DataView(bytes.buffer).setUint32(0, body.length, true);
  bytes.set(body, LENGTH_BYTES);
  return { rows: 1, bytes };
}

function rowsOf(
  body: Uint8Array,
  { name, datatype, rowShape }: ModelTensor,
  maxRows: number,
): Rows {
  const rowBytes = elementCountOf(rowShape) * DATATYPES[datatype].elementBytes;
  const rows = body.length / rowBytes;
  if (Number.isInteger(rows) && rows >= 1 && rows <= maxRows) return { rows, bytes: body };
  const expected = `expected 1 to ${maxRows} rows of ${rowBytes} bytes for input "${name}"`;
  throw new BadRequest("request", expected, `${body.length} bytes`);
}
