/** Builds the requests that measure the serving path, from the application's inputs. */
import { assert } from "stratagem-runtime/internal/core/assert";
import { InputError } from "../../spec/document/input-error.ts";
import type { ServedModel, ServedTensor } from "./served-model.ts";

/** Encoded request. */
export interface ServedRequest {
  readonly body: Buffer;
  readonly headers: Readonly<Record<string, string>>;
}

/** Returns the bytes of an input's rows; null if unknown. */
export type RowsOf = (input: ServedTensor, rows: number) => Uint8Array | null;

/**
 * @param sequence id of the sequence that the request begins and ends; null for none.
 * @throws InputError for an input without a source.
 */
export function servedRequest(
  model: ServedModel,
  rows: number,
  rowsOf: RowsOf,
  sequence: string | null,
): ServedRequest {
  const data = model.inputs.map((input) => rowsOf(input, rows) ?? zeros(input, rows));
  const inputs = model.inputs.map(({ name, datatype, rowShape }, index) => {
    const bytes = data[index];
    assert(bytes !== undefined, "each input has bytes");
    const parameters = { binary_data_size: bytes.length };
    return { name, datatype, shape: [rows, ...rowShape], parameters };
  });
  const own =
    sequence === null ? {} : { sequence_id: sequence, sequence_start: true, sequence_end: true };
  const parameters = { binary_data_output: true, ...own };
  const json = Buffer.from(JSON.stringify({ inputs, parameters }));
  return {
    body: Buffer.concat([json, ...data]),
    headers: {
      "content-type": "application/octet-stream",
      "inference-header-content-length": String(json.length),
    },
  };
}

function zeros({ name, datatype, rowBytes }: ServedTensor, rows: number): Uint8Array {
  if (rowBytes !== null) return new Uint8Array(rows * rowBytes);
  throw new InputError(
    "INPUT_CONFLICT",
    `expected rows for input "${name}", of type ${datatype}, whose elements are of any length: ` +
      "a sample of the module that takes them, or --inputs FILE, got neither",
  );
}
