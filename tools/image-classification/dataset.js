/**
 * The example data set: 64 x 64 grey images, each of one of 20 letters among noise and clutter.
 *
 * Image `index` of seed `seed` depends on those two numbers alone. Only integer arithmetic and the
 * operations IEEE 754 rounds exactly (+ - * / and Math.sqrt) are used, so that every machine draws
 * the same bytes; a rotation is therefore drawn as the tangent of its half angle, without sin or cos.
 */

import { between, randomSource, STROKES_BY_LETTER } from "../letters.js";

/** Width and height of an image in pixels. */
export const IMAGE_SIDE = 64;

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
export const CLASS_NAMES = Object.freeze(Object.keys(STROKES_BY_LETTER));

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
 * Draws one image. Mutates `pixels`.
 * @param {number} seed 32-bit seed of the set.
 * @param {number} index of the image in the set.
 * @param {Uint8Array} pixels receives the image, shape (IMAGE_BYTES,).
 * @returns {number} the image's class, an index into CLASS_NAMES.
 */
export function drawImage(seed, index, pixels) {
  const random = randomSource(seed, index);
  const classIndex = Math.floor(random() * CLASS_NAMES.length);
  const level = new Float64Array(IMAGE_BYTES);
  const background = between(random, 40, 110);
  const contrast = between(random, DIFFICULTY.contrastMin, DIFFICULTY.contrastMax);
  shadeBackground(random, level, background);
  drawClutter(random, level, background, contrast);
  drawLetter(random, level, STROKES_BY_CLASS[classIndex] ?? [], background + contrast);
  drawOccluder(random, level, background);
  addNoise(random, level, pixels);
  return classIndex;
}

/**
 * The first `count` images of a set.
 * @param {number} seed 32-bit seed of the set.
 * @param {number} count images to draw.
 * @returns {{ pixels: Uint8Array, labels: Uint8Array }} pixels, shape (count, IMAGE_BYTES), and
 * the class of each image, shape (count,).
 */
export function drawImages(seed, count) {
  const pixels = new Uint8Array(count * IMAGE_BYTES);
  const labels = new Uint8Array(count);
  for (let i = 0; i < count; i++) {
    labels[i] = drawImage(seed, i, pixels.subarray(i * IMAGE_BYTES, (i + 1) * IMAGE_BYTES));
  }
  return { pixels, labels };
}

/** A slow change of brightness across the image. */
function shadeBackground(random, level, background) {
  const slopeX = between(random, -0.5, 0.5);
  const slopeY = between(random, -0.5, 0.5);
  for (let y = 0; y < IMAGE_SIDE; y++) {
    for (let x = 0; x < IMAGE_SIDE; x++) {
      level[y * IMAGE_SIDE + x] =
        background + slopeX * (x - IMAGE_SIDE / 2) + slopeY * (y - IMAGE_SIDE / 2);
    }
  }
}

/** Short strokes anywhere, no brighter than the letter. */
function drawClutter(random, level, background, contrast) {
  const count = Math.floor(random() * (DIFFICULTY.clutterMax + 1));
  for (let i = 0; i < count; i++) {
    const x = between(random, 0, IMAGE_SIDE);
    const y = between(random, 0, IMAGE_SIDE);
    const dx = between(random, -DIFFICULTY.clutterLengthMax, DIFFICULTY.clutterLengthMax);
    const dy = between(random, -DIFFICULTY.clutterLengthMax, DIFFICULTY.clutterLengthMax);
    const radius = between(random, DIFFICULTY.strokeMin, DIFFICULTY.strokeMax) / 2;
    const grey = background + contrast * between(random, 0.4, 1);
    drawSegment(level, [x, y, x + dx, y + dy], radius, grey);
  }
}

/** The letter, scaled, sheared, rotated and moved, each of its points a little off. */
function drawLetter(random, level, strokes, grey) {
  const scale = between(random, DIFFICULTY.scaleMin, DIFFICULTY.scaleMax);
  const widthScale = scale * between(random, 0.8, 1.1);
  const shear = between(random, -DIFFICULTY.shearMax, DIFFICULTY.shearMax);
  const t = between(random, -DIFFICULTY.halfAngleTangentMax, DIFFICULTY.halfAngleTangentMax);
  const cosine = (1 - t * t) / (1 + t * t);
  const sine = (2 * t) / (1 + t * t);
  const centreX = IMAGE_SIDE / 2 + between(random, -DIFFICULTY.shiftMax, DIFFICULTY.shiftMax);
  const centreY = IMAGE_SIDE / 2 + between(random, -DIFFICULTY.shiftMax, DIFFICULTY.shiftMax);
  const radius = between(random, DIFFICULTY.strokeMin, DIFFICULTY.strokeMax);
  const jitter = () => between(random, -DIFFICULTY.jitterMax, DIFFICULTY.jitterMax);
  for (const stroke of strokes) {
    const points = [];
    for (let i = 0; i < stroke.length; i += 2) {
      const y = (stroke[i + 1] + jitter()) * scale;
      const x = (stroke[i] + jitter()) * widthScale + shear * y;
      points.push(centreX + cosine * x - sine * y, centreY + sine * x + cosine * y);
    }
    for (let i = 0; i + 3 < points.length; i += 2) {
      drawSegment(level, points.slice(i, i + 4), radius, grey);
    }
  }
}

/** A rectangle of one grey level, near the background's, that hides part of what lies under it. */
function drawOccluder(random, level, background) {
  const width = Math.floor(between(random, DIFFICULTY.occluderMin, DIFFICULTY.occluderMax));
  const height = Math.floor(between(random, DIFFICULTY.occluderMin, DIFFICULTY.occluderMax));
  const left = Math.floor(random() * (IMAGE_SIDE - width));
  const top = Math.floor(random() * (IMAGE_SIDE - height));
  const grey = background + between(random, -30, 30);
  for (let y = top; y < top + height; y++) {
    level.fill(grey, y * IMAGE_SIDE + left, y * IMAGE_SIDE + left + width);
  }
}

/** Adds bell-shaped noise (a sum of four bytes) to each pixel and rounds it to a grey level. */
function addNoise(random, level, pixels) {
  const deviation = between(random, DIFFICULTY.noiseMin, DIFFICULTY.noiseMax);
  // Four bytes, uniform on 0..255, have the mean 510 and the standard deviation 147.8.
  const factor = deviation / 147.8;
  for (let i = 0; i < IMAGE_BYTES; i++) {
    const bits = Math.floor(random() * 4294967296);
    const sum = (bits & 255) + ((bits >>> 8) & 255) + ((bits >>> 16) & 255) + (bits >>> 24);
    const value = Math.floor(level[i] + factor * (sum - 510) + 0.5);
    pixels[i] = value < 0 ? 0 : value > 255 ? 255 : value;
  }
}

/** Blends a round-ended stroke of one grey level into the image, its edge one pixel soft. */
function drawSegment(level, [x0, y0, x1, y1], radius, grey) {
  const reach = radius + 1;
  const left = Math.max(0, Math.floor(Math.min(x0, x1) - reach));
  const right = Math.min(IMAGE_SIDE - 1, Math.floor(Math.max(x0, x1) + reach));
  const top = Math.max(0, Math.floor(Math.min(y0, y1) - reach));
  const bottom = Math.min(IMAGE_SIDE - 1, Math.floor(Math.max(y0, y1) + reach));
  const dx = x1 - x0;
  const dy = y1 - y0;
  const lengthSquared = dx * dx + dy * dy;
  for (let y = top; y <= bottom; y++) {
    for (let x = left; x <= right; x++) {
      const along = lengthSquared > 0 ? ((x - x0) * dx + (y - y0) * dy) / lengthSquared : 0;
      const t = along < 0 ? 0 : along > 1 ? 1 : along;
      const offX = x - x0 - t * dx;
      const offY = y - y0 - t * dy;
      const cover = radius + 0.5 - Math.sqrt(offX * offX + offY * offY);
      if (cover <= 0) continue;
      const i = y * IMAGE_SIDE + x;
      level[i] += (cover < 1 ? cover : 1) * (grey - level[i]);
    }
  }
}
