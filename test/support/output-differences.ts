/** How far the outputs of a model on two devices are apart. */
import type { TensorInfo } from "../../runtime/bundle/schema.ts";
import type { BatchResult } from "../../runtime/exec/models/executor.ts";

/**
 * The largest difference of two numbers in the same place; null where two shapes, or values that
 * are no fractions, differ.
 * @param infos float32 may differ, other types may not.
 */
export function largestDifference(
  infos: readonly Pick<TensorInfo, "dtype">[],
  expected: BatchResult["outputs"],
  found: BatchResult["outputs"],
): number | null {
  let largest = 0;
  for (const [at, { shape, bytes }] of expected.entries()) {
    const other = found[at];
    if (other === undefined || shape.join() !== other.shape.join()) return null;
    if (infos[at]?.dtype !== "float32") {
      if (Buffer.compare(bytes, other.bytes) !== 0) return null;
      continue;
    }
    const values = floatsOf(other.bytes);
    for (const [place, value] of floatsOf(bytes).entries()) {
      const difference = Math.abs(value - (values[place] ?? Number.NaN));
      if (Number.isNaN(difference)) return null;
      largest = Math.max(largest, difference);
    }
  }
  return largest;
}

function floatsOf(bytes: Uint8Array): Float32Array {
  return new Float32Array(bytes.slice().buffer);
}
