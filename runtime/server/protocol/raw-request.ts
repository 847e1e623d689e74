/**
 * Requests without any JSON, as Triton takes them: the length of the header is 0, and the whole
 * body is the only input of the model.
 */
import { BadRequest } from "../tensors/bad-request.ts";
import { DATATYPES, elementCountOf } from "../tensors/datatypes.ts";
import type { ClientSignature, ModelTensor } from "../tensors/signature.ts";
import { type InferRequest, outputsOf, requestWishes } from "./infer-request.ts";

const LENGTH_BYTES = 4;
/** What a body without JSON states of itself. */
const NOTHING = {};

/** @param headerLength value of `Inference-Header-Content-Length`; undefined without one. */
export function isRaw(headerLength: string | undefined): boolean {
  return headerLength === "0";
}

/**
 * Of BYTES the body is one element, without its length; of numbers it is as many rows as it has
 * bytes for. All outputs are answered as JSON.
 * @throws BadRequest for a model with several inputs, and for a body that is no rows.
 */
export function rawRequest(
  body: Uint8Array,
  signature: ClientSignature,
  maxRows: number,
): InferRequest {
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
