/** Some of the rows of a batch, as a batch of their own. */
import type { Batch, VariantModel } from "../models/executor.ts";
import { elementBytesOf } from "./host-tensors.ts";

/**
 * Returns `count` rows of a batch from row `first` on.
 * @returns null if rows cannot be separated: inputs stayed on a worker, or are not rows.
 */
export function rowsOfBatch(
  { inputs: infos }: VariantModel,
  batch: Batch,
  first: number,
  count: number,
): Batch | null {
  if (batch.stayed !== undefined) return null;
  const inputs: Uint8Array[][] = [];
  for (const [index, info] of infos.entries()) {
    const parts = batch.inputs[index] ?? [];
    const bytes = parts.length === 1 ? (parts[0] as Uint8Array) : Buffer.concat(parts);
    const isString = elementBytesOf(info.dtype) === null;
    const bounds = isString
      ? stringBounds(bytes, batch.rows, first, count)
      : [(bytes.length * first) / batch.rows, (bytes.length * (first + count)) / batch.rows];
    if (bounds === null || !bounds.every(Number.isInteger)) return null;
    inputs.push([bytes.subarray(bounds[0], bounds[1])]);
  }
  return { ...batch, rows: count, inputs };
}

/** Returns where the rows begin and end, each with the same number of length-prefixed strings. */
function stringBounds(
  bytes: Uint8Array,
  rows: number,
  first: number,
  count: number,
): [number, number] | null {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const offsets = [0];
  for (let offset = 0; offset < bytes.length; ) {
    if (offset + 4 > bytes.length) return null;
    offset += 4 + view.getUint32(offset, true);
    offsets.push(offset);
  }
  const perRow = (offsets.length - 1) / rows;
  const [from, to] = [offsets[first * perRow], offsets[(first + count) * perRow]];
  return from === undefined || to === undefined ? null : [from, to];
}
