/** Which outputs of a model are numbers: one that gives none is likely broken, however fast. */

import type { TensorInfo } from "stratagem-runtime/internal/bundle/schema";
import { halfToNumber } from "stratagem-runtime/internal/core/half";

/** Whether all numbers of an output are finite; outputs of whole numbers always are. */
export function hasFiniteNumbers({ dtype }: Pick<TensorInfo, "dtype">, bytes: Uint8Array): boolean {
  const copy = bytes.slice().buffer;
  if (dtype === "float32") return new Float32Array(copy).every(Number.isFinite);
  if (dtype === "float64") return new Float64Array(copy).every(Number.isFinite);
  if (dtype !== "float16") return true;
  return new Uint16Array(copy).every((half) => Number.isFinite(halfToNumber(half)));
}
