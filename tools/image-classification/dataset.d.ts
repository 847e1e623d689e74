/** Types of dataset.js for the tests; the comments are there. */
export const IMAGE_SIDE: number;
export const IMAGE_BYTES: number;
export const TRAIN_SEED: number;
export const TRAIN_COUNT: number;
export const HELD_OUT_SEED: number;
export const HELD_OUT_COUNT: number;
export const CLASS_NAMES: readonly string[];
export function drawImage(seed: number, index: number, pixels: Uint8Array): number;
export function drawImages(
  seed: number,
  count: number,
): { pixels: Uint8Array<ArrayBuffer>; labels: Uint8Array<ArrayBuffer> };
