/**
 * Inference requests of the Open Inference Protocol v2 over HTTP, with Triton's binary tensor
 * extension.
 */

import { plainLength } from "../bodies/body-limits.ts";
import { BadRequest } from "../tensors/bad-request.ts";
import { type JsonLimits, parseJson } from "../tensors/json-text.ts";
import type { ClientSignature, ModelTensor } from "../tensors/signature.ts";
import { bytesOfJson } from "../tensors/tensors.ts";
import {
  binaryOf,
  type Fields,
  fieldsOf,
  gatheredInputs,
  type InferRequest,
  integerOf,
  outputsOf,
  parametersOf,
  refuseParameter,
  requestWishes,
  type StatedInput,
  textOf,
} from "./infer-request.ts";
import { isRaw, rawRequest } from "./raw-request.ts";

export type { InferRequest } from "./infer-request.ts";

const utf8 = new TextDecoder("utf-8", { fatal: true });

/**
 * @param body after decompression.
 * @param headerLength value of `Inference-Header-Content-Length`; undefined when the body is JSON
 * only.
 * @param parts of what the JSON may consist; left out where it is short.
 * @throws BadRequest at the first field that is not as it has to be.
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
  const parameters = parametersOf(fields, `${path}.`);
  refuseParameter(parameters, `${path}.parameters`, "shared_memory_region");
  const size = parameters["binary_data_size"];
  if (size === undefined) return undefined;
  const at = `${path}.parameters.binary_data_size`;
  if (fields["data"] !== undefined) {
    throw new BadRequest(
      `${path}.data`,
      "expected nothing beside binary_data_size",
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
