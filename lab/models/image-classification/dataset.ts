/**
 * The example data set: 64 x 64 grey images, each of one of 20 letters among noise and clutter.
 *
 * Image `index` of seed `seed` depends on those two numbers alone, the same on every machine.
 */
import { Canvas } from "../canvas.ts";
import {
  between,
  type RandomSource,
  randomSource,
  STROKES_BY_LETTER,
  type Strokes,
} from "../letters.ts";

/** Width and height of an image in pixels. */
const IMAGE_SIDE = 64;

/** Bytes of one image: one grey level per pixel, row by row. */
export const IMAGE_BYTES = IMAGE_SIDE * IMAGE_SIDE;

/** Seed of the images the models are trained on. */
export const TRAIN_SEED = 1;

/** Images of the training set. */
export const TRAIN_COUNT = 60_000;

/** Seed of the images the accuracies are measured on; no model has seen them. */
export const HELD_OUT_SEED = 2;

/** Images of the held-out set. */
export const HELD_OUT_COUNT = 2_000;

/** The classes in the order of the models' outputs. */
export const CLASS_NAMES: readonly string[] = Object.freeze(Object.keys(STROKES_BY_LETTER));

const STROKES_BY_CLASS = Object.values(STROKES_BY_LETTER);

/** How hard the images are: lengths in pixels, grey levels of 255. */
const DIFFICULTY = {
  scaleMin: 0.8,
  scaleMax: 1.8,
  halfAngleTangentMax: 0.25,
  shearMax: 0.2,
  shiftMax: 8,
  strokeMin: 1.0,
  strokeMax: 2.4,
  jitterMax: 1.3,
  contrastMin: 42,
  contrastMax: 110,
  noiseMin: 12,
  noiseMax: 36,
  clutterMax: 7,
  clutterLengthMax: 16,
  occluderMin: 6,
  occluderMax: 14,
};

/**
 * Draws one image. @param seed 32-bit seed of the set. @param index of the image in the set.
 * @param pixels receives the image, [IMAGE_BYTES].
 * @returns the image's class, an index into CLASS_NAMES.
 */
export function drawImage(seed: number, index: number, pixels: Uint8Array): number {
  const random = randomSource(seed, index);
  const classIndex = Math.floor(random() * CLASS_NAMES.length);
  const canvas = new Canvas(IMAGE_SIDE, 0);
  const background = between(random, 40, 110);
  const contrast = between(random, DIFFICULTY.contrastMin, DIFFICULTY.contrastMax);
  canvas.shade(random, background, 0.5);
  drawClutter(random, canvas, background, contrast);
  drawLetter(random, canvas, STROKES_BY_CLASS[classIndex] ?? [], background + contrast);
  drawOccluder(random, canvas, background);
  canvas.finish(random, between(random, DIFFICULTY.noiseMin, DIFFICULTY.noiseMax), pixels);
  return classIndex;
}

/**
 * The first images of a set. @param seed 32-bit seed of the set.
 * @returns pixels [count, IMAGE_BYTES], and the class of each image, [count].
 */
export function drawImages(
  seed: number,
  count: number,
): { pixels: Uint8Array<ArrayBuffer>; labels: Uint8Array<ArrayBuffer> } {
  const pixels = new Uint8Array(count * IMAGE_BYTES);
  const labels = new Uint8Array(count);
  for (let i = 0; i < count; i++) {
    labels[i] = drawImage(seed, i, pixels.subarray(i * IMAGE_BYTES, (i + 1) * IMAGE_BYTES));
  }
  return { pixels, labels };
}

/** Short strokes anywhere, no brighter than the letter. */
function drawClutter(
  random: RandomSource,
  canvas: Canvas,
  background: number,
  contrast: number,
): void {
  const count = Math.floor(random() * (DIFFICULTY.clutterMax + 1));
  for (let i = 0; i < count; i++) {
    const x = between(random, 0, IMAGE_SIDE);
    const y = between(random, 0, IMAGE_SIDE);
    const dx = between(random, -DIFFICULTY.clutterLengthMax, DIFFICULTY.clutterLengthMax);
    const dy = between(random, -DIFFICULTY.clutterLengthMax, DIFFICULTY.clutterLengthMax);
    const radius = between(random, DIFFICULTY.strokeMin, DIFFICULTY.strokeMax) / 2;
    const grey = background + contrast * between(random, 0.4, 1);
    canvas.segment([x, y, x + dx, y + dy], { radius, grey });
  }
}

/** The letter, scaled, sheared, rotated and moved. */
function drawLetter(random: RandomSource, canvas: Canvas, strokes: Strokes, grey: number): void {
  const { halfAngleTangentMax, shearMax, shiftMax, jitterMax } = DIFFICULTY;
  const scale = between(random, DIFFICULTY.scaleMin, DIFFICULTY.scaleMax);
  // The order of the properties is that of the random numbers.
  const placement = {
    scale,
    widthScale: scale * between(random, 0.8, 1.1),
    shear: between(random, -shearMax, shearMax),
    halfAngleTangent: between(random, -halfAngleTangentMax, halfAngleTangentMax),
    centreX: IMAGE_SIDE / 2 + between(random, -shiftMax, shiftMax),
    centreY: IMAGE_SIDE / 2 + between(random, -shiftMax, shiftMax),
    jitterMax,
  };
  const radius = between(random, DIFFICULTY.strokeMin, DIFFICULTY.strokeMax);
  canvas.letter(random, strokes, placement, { radius, grey });
}

/** A rectangle near the background's grey level that hides part of what lies under it. */
function drawOccluder(random: RandomSource, canvas: Canvas, background: number): void {
  const width = Math.floor(between(random, DIFFICULTY.occluderMin, DIFFICULTY.occluderMax));
  const height = Math.floor(between(random, DIFFICULTY.occluderMin, DIFFICULTY.occluderMax));
  const left = Math.floor(random() * (IMAGE_SIDE - width));
  const top = Math.floor(random() * (IMAGE_SIDE - height));
  canvas.fill(left, top, width, height, background + between(random, -30, 30));
}
