/** The letters of the example data sets, and random numbers that are the same on every machine. */

/** Points x, y of each stroke, one after the other. */
export type Strokes = readonly (readonly number[])[];

/** Letters as strokes of points in a box of -10 to 10 (x to the right, y down). */
export const STROKES_BY_LETTER: Readonly<Record<string, Strokes>> = {
  A: [
    [-7, 10, 0, -10, 7, 10],
    [-4, 3, 4, 3],
  ],
  C: [[7, -7, 3, -10, -3, -10, -7, -5, -7, 5, -3, 10, 3, 10, 7, 7]],
  E: [
    [7, -10, -6, -10, -6, 10, 7, 10],
    [-6, 0, 5, 0],
  ],
  F: [
    [7, -10, -6, -10, -6, 10],
    [-6, 0, 5, 0],
  ],
  G: [[7, -7, 3, -10, -3, -10, -7, -5, -7, 5, -3, 10, 3, 10, 7, 6, 7, 1, 1, 1]],
  H: [
    [-7, -10, -7, 10],
    [7, -10, 7, 10],
    [-7, 0, 7, 0],
  ],
  J: [[5, -10, 5, 5, 2, 10, -3, 10, -6, 5]],
  K: [
    [-6, -10, -6, 10],
    [6, -10, -6, 1],
    [-2, -2, 7, 10],
  ],
  L: [[-6, -10, -6, 10, 7, 10]],
  M: [[-8, 10, -7, -10, 0, 4, 7, -10, 8, 10]],
  N: [[-7, 10, -7, -10, 7, 10, 7, -10]],
  O: [[-3, -10, 3, -10, 7, -5, 7, 5, 3, 10, -3, 10, -7, 5, -7, -5, -3, -10]],
  P: [[-6, 10, -6, -10, 3, -10, 7, -7, 7, -2, 3, 1, -6, 1]],
  R: [
    [-6, 10, -6, -10, 3, -10, 7, -7, 7, -2, 3, 1, -6, 1],
    [0, 1, 7, 10],
  ],
  S: [[6, -7, 2, -10, -3, -10, -6, -6, -4, -2, 4, 2, 6, 6, 3, 10, -3, 10, -6, 7]],
  T: [
    [-8, -10, 8, -10],
    [0, -10, 0, 10],
  ],
  U: [[-7, -10, -7, 5, -3, 10, 3, 10, 7, 5, 7, -10]],
  V: [[-8, -10, 0, 10, 8, -10]],
  X: [
    [-7, -10, 7, 10],
    [7, -10, -7, 10],
  ],
  Z: [[-7, -10, 7, -10, -7, 10, 7, 10]],
};

/** A source of numbers, uniform on [0, 1). */
export type RandomSource = () => number;

/** Uniform on [low, high). */
export function between(random: RandomSource, low: number, high: number): number {
  return low + (high - low) * random();
}

/** In steps of 2^-32: SplitMix32, started from the seed and the index. */
export function randomSource(seed: number, index: number): RandomSource {
  let state = mix(mix(seed) ^ (Math.imul(index + 1, 0x9e3779b1) >>> 0));
  return () => {
    state = (state + 0x9e3779b9) | 0;
    return mix(state) / 4294967296;
  };
}

/** The finalizer of MurmurHash3: a bijection of 32-bit integers that spreads every bit. */
function mix(bits: number): number {
  let h = bits >>> 0;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}
