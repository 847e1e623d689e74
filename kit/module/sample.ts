/** Tensors to profile with. */
import type { Tensor } from "./contract.ts";

/** FP32 of the normal distribution, about. @param random uniform in [0, 1). */
export function noise(shape: readonly number[], random: () => number): Tensor {
  const data = new Float32Array(shape.reduce((product, size) => product * size, 1));
  for (let at = 0; at < data.length; at++) data[at] = (random() + random() + random() - 1.5) * 2;
  return { data, shape };
}
