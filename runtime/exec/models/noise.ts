/** Noise that replaces zeros in warm-up inputs, where zeros would leave parts of a model unused. */
import { Rng } from "../../core/rng.ts";

/** Bytes that are drawn; the rest of the tensor repeats them. */
const MOST_BYTES = 2 ** 16;
const SEED = 1;

/**
 * Fills a tensor with noise: pixels of all values, numbers in [0, 1). Integers wider than a byte,
 * which may be indices, and strings stay as they are.
 */
export function fillWithNoise(dtype: string, bytes: Uint8Array<ArrayBuffer>): void {
  const drawn = bytes.subarray(0, MOST_BYTES);
  const rng = new Rng(SEED, 0);
  const { buffer, byteOffset, byteLength } = drawn;
  if (dtype === "uint8" || dtype === "int8") {
    for (let at = 0; at < byteLength; at++) drawn[at] = Math.floor(256 * rng.nextFloat());
  } else if (dtype === "float32") {
    const values = new Float32Array(buffer, byteOffset, byteLength / 4);
    for (let at = 0; at < values.length; at++) values[at] = rng.nextFloat();
  } else if (dtype === "float64") {
    const values = new Float64Array(buffer, byteOffset, byteLength / 8);
    for (let at = 0; at < values.length; at++) values[at] = rng.nextFloat();
  } else if (dtype === "float16") {
    // Adding to the bits of ½ stays within [0.5, 1).
    const values = new Uint16Array(buffer, byteOffset, byteLength / 2);
    for (let at = 0; at < values.length; at++)
      values[at] = 0x3800 + Math.floor(1024 * rng.nextFloat());
  } else return;
  for (let at = byteLength; at < bytes.length; at += byteLength) {
    bytes.set(drawn.subarray(0, Math.min(byteLength, bytes.length - at)), at);
  }
}
