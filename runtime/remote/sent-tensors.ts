/** Converts a batch into the tensors of a request. */
import type { TensorInfo } from "../bundle/schema.ts";
import { assert } from "../core/assert.ts";
import type { Batch, VariantModel } from "../exec/models/executor.ts";
import { elementBytesOf } from "../exec/tensors/host-tensors.ts";
import { countStrings } from "../exec/tensors/string-data.ts";
import { lengthOf, type SentTensor } from "../exec/tensors/v2-codec.ts";

/** @throws RangeError if the bytes do not match the number of rows. */
export function sentTensors(
  { inputs: infos }: Pick<VariantModel, "inputs">,
  { rows, inputs, stayed }: Pick<Batch, "rows" | "inputs" | "stayed">,
): SentTensor[] {
  return infos.map((info, index) => {
    const tensor = stayed?.[index];
    if (tensor !== undefined) return { info, shape: tensor.shape, chunks: [], stayed: tensor };
    const chunks = inputs[index];
    assert(chunks !== undefined, "every input has bytes");
    return { info, shape: shapeOf(info, rows, chunks), chunks };
  });
}

/**
 * Shape with the rows first, or the fixed shape if it has no open dimension, as between stages of a
 * model; an open dimension follows from the number of bytes.
 */
function shapeOf(
  { name, dtype, shape }: TensorInfo,
  rows: number,
  chunks: readonly Uint8Array[],
): number[] {
  const isFixed = shape.every((size) => size >= 0);
  const sizes = isFixed ? shape : [rows, ...shape.slice(1)];
  const count = elementCount(dtype, chunks);
  const known = sizes.reduce((product, size) => product * (size < 0 ? 1 : size), 1);
  const openCount = sizes.filter((size) => size < 0).length;
  const open = openCount === 1 ? count / known : 1;
  if (openCount <= 1 && Number.isInteger(open) && count === known * open) {
    return sizes.map((size) => (size < 0 ? open : size));
  }
  const expected = `${rows} rows of ${dtype} [${shape.join(", ")}]`;
  throw new RangeError(`input "${name}": expected ${expected}, got ${count} elements`);
}

function elementCount(dtype: string, chunks: readonly Uint8Array[]): number {
  const elementBytes = elementBytesOf(dtype);
  if (elementBytes !== null) return lengthOf(chunks) / elementBytes;
  // A chunk contains whole strings.
  return chunks.reduce((sum, chunk) => sum + countStrings(chunk), 0);
}
