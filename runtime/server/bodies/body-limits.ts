/** How large a body may be, by what the shapes of its model can need. */

import { DATATYPES, type Datatype, elementCountOf } from "../tensors/datatypes.ts";
import type { JsonLimits } from "../tensors/json-text.ts";
import { largestRowShape } from "../tensors/padding.ts";
import type { ModelTensor } from "../tensors/signature.ts";

/** The most bytes of a body, before and after decompression, and why so many. */
export interface BodyLimit {
  readonly bytes: number;
  /** Such as "what this server takes at most". */
  readonly why: string;
}

/** What the bodies of inference requests for a model may be. */
export interface InferLimits {
  /** With tensors in the JSON. */
  readonly json: BodyLimit;
  /** Bytes of all tensors behind the JSON. */
  readonly maxBinaryBytes: number;
  /** Of what the JSON consists, if it is long. */
  readonly parts: JsonLimits;
  readonly maxRows: number;
}

/**
 * For an element in JSON with its comma, blanks and brackets: the longest integer of 16 bits and
 * the longest number have 6 and 24 characters.
 */
const SHORT_ELEMENT_BYTES = 16;
const ELEMENT_BYTES = 32;
/** For all of the JSON but the tensors. */
export const HEADER_BYTES = 65_536;
/** For all of the JSON but the tensors: values, arrays and objects, strings. */
const HEADER_PARTS = 16_384;

/** Of BYTES, which may be an image, or a book: as long as bodies may be. */
const UNKNOWN_BYTES = Number.POSITIVE_INFINITY;

const SHORT_TYPES: readonly Datatype[] = ["BOOL", "UINT8", "INT8", "UINT16", "INT16"];

/** Of a request for the index or for administrators, or to see or change settings. */
export const SMALL_LIMIT: BodyLimit = {
  bytes: 4096,
  why: "what such a request takes at most",
};

/**
 * @param maxRows of one request.
 * @param maxBodyBytes which nothing is above.
 */
export function inferLimits(
  inputs: readonly ModelTensor[],
  maxRows: number,
  maxBodyBytes: number,
): InferLimits {
  let jsonBytes = HEADER_BYTES;
  let binaryBytes = 0;
  let [values, containers, strings] = [HEADER_PARTS, HEADER_PARTS, HEADER_PARTS];
  for (const tensor of inputs) {
    const { datatype } = tensor;
    const rowShape = largestRowShape(tensor);
    const elements = maxRows * elementCountOf(rowShape);
    jsonBytes += elements * jsonBytesOf(datatype);
    binaryBytes += elements * (DATATYPES[datatype].elementBytes || UNKNOWN_BYTES);
    let arrays = 1;
    for (let size = maxRows, axis = 0; axis < rowShape.length; axis++) {
      arrays += size;
      size *= rowShape[axis] ?? 1;
    }
    containers += arrays;
    // Before an array there are a comma, or a colon, and its bracket.
    values += elements + 2 * arrays;
    if (datatype === "BYTES") strings += elements;
  }
  const types = [...new Set(inputs.map(({ datatype }) => datatype))];
  const sizes = types.map((type) => `${jsonBytesOf(type)} bytes an element of ${type}`).join(", ");
  const needed = `${maxRows} rows as JSON, ${sizes}, and ${HEADER_BYTES} bytes beside them`;
  return {
    json: limited({ bytes: jsonBytes, why: needed }, maxBodyBytes),
    maxBinaryBytes: binaryBytes,
    parts: { values, containers, strings },
    maxRows,
  };
}

/** @param headerLength value of `Inference-Header-Content-Length`; undefined without one. */
export function bodyLimit(limits: InferLimits, headerLength: string | undefined): BodyLimit {
  const { json, maxBinaryBytes, maxRows } = limits;
  const jsonBytes = plainLength(headerLength);
  if (jsonBytes === undefined || jsonBytes + maxBinaryBytes >= json.bytes) return json;
  const why = `${maxRows} rows in ${maxBinaryBytes} bytes behind ${jsonBytes} of JSON`;
  return { bytes: jsonBytes + maxBinaryBytes, why };
}

/** @returns undefined for what is no length, which is refused when the body is read. */
export function plainLength(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

function jsonBytesOf(datatype: Datatype): number {
  if (datatype === "BYTES") return UNKNOWN_BYTES;
  return SHORT_TYPES.includes(datatype) ? SHORT_ELEMENT_BYTES : ELEMENT_BYTES;
}

function limited(limit: BodyLimit, maxBodyBytes: number): BodyLimit {
  if (limit.bytes <= maxBodyBytes) return limit;
  return { bytes: maxBodyBytes, why: "what this server takes at most" };
}
