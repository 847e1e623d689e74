/** Checks that outputs of a model are finite: a model that produces NaN is probably broken. */

import type { TensorInfo } from "stratagem-runtime/internal/bundle/schema";
import { halfToNumber } from "stratagem-runtime/internal/core/half";

/** Returns whether all elements of an output are finite; integer outputs always are. */
export function hasFiniteNumbers({ dtype }: Pick<TensorInfo, "dtype">, bytes: Uint8Array): boolean {
  const copy = bytes.slice().buffer;
  if (dtype === "float32") return new Float32Array(copy).every(Number.isFinite);
  if (dtype === "float64") return new Float64Array(copy).every(Number.isFinite);
  if (dtype !== "float16") return true;
  return new Uint16Array(copy).every((half) => Number.isFinite(halfToNumber(half)));
}
