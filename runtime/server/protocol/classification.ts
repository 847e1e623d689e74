/**
 * Triton's classification extension: the output contains the classes with the largest values of
 * each row, instead of all values.
 */
import type { OutputTensor } from "../requests/request.ts";
import { bytesOfNames } from "../requests/variant-wish.ts";
import { BadRequest } from "../tensors/bad-request.ts";
import type { ClientSignature, ModelTensor } from "../tensors/signature.ts";
import { type Datatype, elementCountOf, elementReader } from "../tensors/tensors.ts";

/** Types whose elements have an order and a text form. */
type Ordered = Exclude<Datatype, "BOOL" | "BF16" | "BYTES">;

/** Digits of C's `%f`, which Triton uses. */
const FRACTION_DIGITS = 6;

/**
 * @param classes number requested per row, at least one.
 * @throws BadRequest for an output that has no classes.
 */
export function expectClasses(
  { name, datatype }: ModelTensor,
  signature: ClientSignature,
  classes: number,
  path: string,
): void {
  if (!isOrdered(datatype)) {
    const expected = `expected nothing: output "${name}" is ${datatype}, which has no classes`;
    throw new BadRequest(path, expected, classes);
  }
  if (signature.outputsAreRows === false) {
    const expected = "expected nothing: outputs of a pipeline are not rows of the request";
    throw new BadRequest(path, expected, classes);
  }
}

/**
 * @param bytes of the output, row by row. @param shape of it; axis 0 is the rows.
 * @param classes number requested per row; a row with fewer returns all.
 * @returns BYTES [rows, classes]: `value:index` in descending order of value; ties have ascending
 * indices.
 */
export function classesOf(
  datatype: Datatype,
  bytes: Uint8Array,
  shape: readonly number[],
  classes: number,
): OutputTensor {
  if (!isOrdered(datatype)) throw new Error(`no classes of ${datatype}`);
  const [rows = 0, ...rowShape] = shape;
  const elements = elementCountOf(rowShape);
  const count = Math.min(classes, elements);
  const read = elementReader(datatype, new DataView(bytes.buffer, bytes.byteOffset, bytes.length));
  const names: string[] = [];
  for (let row = 0; row < rows; row++) {
    const first = row * elements;
    // NaN is smaller than all numbers.
    const values = Float64Array.from({ length: elements }, (_, index) => {
      const value = Number(read(first + index));
      return Number.isNaN(value) ? Number.NEGATIVE_INFINITY : value;
    });
    for (const index of largest(values, count)) {
      names.push(`${valueText(datatype, read(first + index))}:${index}`);
    }
  }
  return { shape: [rows, count], parts: [bytesOfNames(names)] };
}

/** Indices of the `count` largest values, in their order. */
function largest(values: Float64Array, count: number): number[] {
  const least = values.toSorted()[values.length - count] ?? Number.NEGATIVE_INFINITY;
  const above: number[] = [];
  const equal: number[] = [];
  for (const [index, value] of values.entries()) {
    if (value > least) above.push(index);
    else if (value === least && equal.length < count) equal.push(index);
  }
  above.sort((a, b) => (values[b] ?? 0) - (values[a] ?? 0) || a - b);
  return [...above, ...equal].slice(0, count);
}

function valueText(datatype: Ordered, value: number | bigint | boolean): string {
  const isFloat = datatype === "FP16" || datatype === "FP32" || datatype === "FP64";
  if (!isFloat || typeof value !== "number") return String(value);
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  return value.toFixed(FRACTION_DIGITS);
}

function isOrdered(datatype: Datatype): datatype is Ordered {
  return datatype !== "BOOL" && datatype !== "BF16" && datatype !== "BYTES";
}
