/**
 * The scenes data set: 128 x 128 grey images, each with 2 to 8 letters of 12 among clutter and noise.
 *
 * Scene `index` of seed `seed` depends on those two numbers alone. Only integer arithmetic and the
 * operations IEEE 754 rounds exactly (+ - * / and Math.sqrt) are used, so that every machine draws
 * the same bytes; a rotation is therefore drawn as the tangent of its half angle, without sin or cos.
 */

import { between, randomSource, STROKES_BY_LETTER } from "../letters.js";

/** Width and height of a scene in pixels. */
export const SCENE_SIDE = 128;

/** Bytes of one scene: one grey level per pixel, row by row. */
export const SCENE_BYTES = SCENE_SIDE * SCENE_SIDE;

/** Width and height of a crop in pixels. */
export const CROP_SIDE = 32;

/** Bytes of one crop. */
export const CROP_BYTES = CROP_SIDE * CROP_SIDE;

/** Seed of the scenes the models are trained on. */
export const TRAIN_SEED = 11;

/** Scenes of the training set. */
export const TRAIN_COUNT = 8_000;

/** Seed of the scenes the figures are measured on; no model has seen them. */
export const HELD_OUT_SEED = 12;

/** Scenes of the held-out set. */
export const HELD_OUT_COUNT = 1_000;

/** Seed of the scenes on which each detector's threshold is chosen. */
export const CALIBRATION_SEED = 13;

/** Scenes of the calibration set. */
export const CALIBRATION_COUNT = 500;

/** The classes in the order of the classifiers' outputs. */
export const CLASS_NAMES = Object.freeze([..."ACEFGHKMPRSX"]);

const STROKES_BY_CLASS = CLASS_NAMES.map((letter) => STROKES_BY_LETTER[letter] ?? []);

/** How hard the scenes are: lengths in pixels, grey levels of 255. */
const DIFFICULTY = {
  objectsMin: 2,
  objectsMax: 8,
  placementTries: 40,
  /** Between the centres of two letters. A sheared corner reaches 20 pixels, so a few touch. */
  distanceMin: 29,
  marginMin: 14,
  scaleMin: 0.9,
  scaleMax: 1.15,
  halfAngleTangentMax: 0.36,
  shearMax: 0.15,
  strokeMin: 0.8,
  strokeMax: 1.6,
  jitterMax: 1,
  contrastMin: 16,
  contrastMax: 80,
  noiseMin: 8,
  noiseMax: 25,
  clutterMin: 5,
  clutterMax: 18,
  clutterBendsMax: 3,
  clutterReach: 13,
};

/**
 * One letter of a scene.
 * @typedef {{ classIndex: number, x: number, y: number }} SceneObject its class, an index into
 * CLASS_NAMES, and the place of the centre of its box in pixels, where pixel (0, 0) covers 0 to 1.
 */

/**
 * Draws one scene. Mutates `pixels`.
 * @param {number} seed 32-bit seed of the set.
 * @param {number} index of the scene in the set.
 * @param {Uint8Array} pixels receives the scene, shape (SCENE_BYTES,).
 * @returns {SceneObject[]} its letters, in the order they were drawn.
 */
export function drawScene(seed, index, pixels) {
  const random = randomSource(seed, index);
  const level = new Float64Array(SCENE_BYTES);
  const background = between(random, 50, 120);
  shadeBackground(random, level, background);
  drawClutter(random, level, background);
  const objects = placeObjects(random);
  for (const object of objects) drawLetter(random, level, object, background);
  addNoise(random, level, pixels);
  return objects;
}

/**
 * Consecutive scenes of a set.
 * @param {number} seed 32-bit seed of the set.
 * @param {number} count scenes to draw, from the first.
 * @returns {{ pixels: Uint8Array, objectsByScene: SceneObject[][] }} pixels, shape
 * (count, SCENE_BYTES), and the letters of each scene.
 */
export function drawScenes(seed, count) {
  const pixels = new Uint8Array(count * SCENE_BYTES);
  const objectsByScene = [];
  for (let i = 0; i < count; i++) {
    objectsByScene.push(
      drawScene(seed, i, pixels.subarray(i * SCENE_BYTES, (i + 1) * SCENE_BYTES)),
    );
  }
  return { pixels, objectsByScene };
}

/**
 * Cuts one crop as the detectors do: CROP_SIDE pixels square around the nearest pixel corner to the
 * centre, pixels beyond the scene's edge repeated from the edge. Mutates `crop`.
 * @param {Uint8Array} scene shape (SCENE_BYTES,).
 * @param {number} x of the centre, pixels.
 * @param {number} y of the centre, pixels.
 * @param {Uint8Array} crop receives the crop, shape (CROP_BYTES,).
 */
export function cutCrop(scene, x, y, crop) {
  const left = Math.floor(x + 0.5) - CROP_SIDE / 2;
  const top = Math.floor(y + 0.5) - CROP_SIDE / 2;
  for (let row = 0; row < CROP_SIDE; row++) {
    const start = clampToScene(top + row) * SCENE_SIDE;
    for (let column = 0; column < CROP_SIDE; column++) {
      crop[row * CROP_SIDE + column] = scene[start + clampToScene(left + column)] ?? 0;
    }
  }
}

function clampToScene(at) {
  return Math.max(0, Math.min(SCENE_SIDE - 1, at));
}

/** Classes and centres, apart by a letter and a margin; fewer if one finds no place. */
function placeObjects(random) {
  const { objectsMin, objectsMax, distanceMin, marginMin, placementTries } = DIFFICULTY;
  const wanted = objectsMin + Math.floor(random() * (objectsMax - objectsMin + 1));
  const objects = [];
  for (let i = 0; i < wanted; i++) {
    const classIndex = Math.floor(random() * CLASS_NAMES.length);
    for (let attempt = 0; attempt < placementTries; attempt++) {
      const x = between(random, marginMin, SCENE_SIDE - marginMin);
      const y = between(random, marginMin, SCENE_SIDE - marginMin);
      const isFree = objects.every(
        (other) => (other.x - x) ** 2 + (other.y - y) ** 2 >= distanceMin ** 2,
      );
      if (!isFree) continue;
      objects.push({ classIndex, x, y });
      break;
    }
  }
  return objects;
}

/** A slow change of brightness across the scene. */
function shadeBackground(random, level, background) {
  const slopeX = between(random, -0.3, 0.3);
  const slopeY = between(random, -0.3, 0.3);
  for (let y = 0; y < SCENE_SIDE; y++) {
    for (let x = 0; x < SCENE_SIDE; x++) {
      level[y * SCENE_SIDE + x] =
        background + slopeX * (x - SCENE_SIDE / 2) + slopeY * (y - SCENE_SIDE / 2);
    }
  }
}

/** Bent strokes anywhere, as bright as letters but of fewer lines. */
function drawClutter(random, level, background) {
  const { clutterMin, clutterMax, clutterBendsMax, clutterReach } = DIFFICULTY;
  const count = clutterMin + Math.floor(random() * (clutterMax - clutterMin + 1));
  for (let i = 0; i < count; i++) {
    const segmentCount = 1 + Math.floor(random() * clutterBendsMax);
    const radius = between(random, DIFFICULTY.strokeMin, DIFFICULTY.strokeMax);
    const grey = background + between(random, DIFFICULTY.contrastMin, DIFFICULTY.contrastMax);
    let x = between(random, 0, SCENE_SIDE);
    let y = between(random, 0, SCENE_SIDE);
    for (let segment = 0; segment < segmentCount; segment++) {
      const nextX = x + between(random, -clutterReach, clutterReach);
      const nextY = y + between(random, -clutterReach, clutterReach);
      drawSegment(level, [x, y, nextX, nextY], radius, grey);
      x = nextX;
      y = nextY;
    }
  }
}

/** One letter, scaled, sheared and rotated, each of its points a little off. */
function drawLetter(random, level, { classIndex, x: centreX, y: centreY }, background) {
  const scale = between(random, DIFFICULTY.scaleMin, DIFFICULTY.scaleMax);
  const widthScale = scale * between(random, 0.8, 1.05);
  const shear = between(random, -DIFFICULTY.shearMax, DIFFICULTY.shearMax);
  const t = between(random, -DIFFICULTY.halfAngleTangentMax, DIFFICULTY.halfAngleTangentMax);
  const cosine = (1 - t * t) / (1 + t * t);
  const sine = (2 * t) / (1 + t * t);
  const radius = between(random, DIFFICULTY.strokeMin, DIFFICULTY.strokeMax);
  const grey = background + between(random, DIFFICULTY.contrastMin, DIFFICULTY.contrastMax);
  const jitter = () => between(random, -DIFFICULTY.jitterMax, DIFFICULTY.jitterMax);
  for (const stroke of STROKES_BY_CLASS[classIndex] ?? []) {
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

/** Adds bell-shaped noise (a sum of four bytes) to each pixel and rounds it to a grey level. */
function addNoise(random, level, pixels) {
  const deviation = between(random, DIFFICULTY.noiseMin, DIFFICULTY.noiseMax);
  // Four bytes, uniform on 0..255, have the mean 510 and the standard deviation 147.8.
  const factor = deviation / 147.8;
  for (let i = 0; i < SCENE_BYTES; i++) {
    const bits = Math.floor(random() * 4294967296);
    const sum = (bits & 255) + ((bits >>> 8) & 255) + ((bits >>> 16) & 255) + (bits >>> 24);
    const value = Math.floor(level[i] + factor * (sum - 510) + 0.5);
    pixels[i] = value < 0 ? 0 : value > 255 ? 255 : value;
  }
}

/** Blends a round-ended stroke of one grey level into the scene, its edge one pixel soft. */
function drawSegment(level, [x0, y0, x1, y1], radius, grey) {
  const reach = radius + 1;
  const left = Math.max(0, Math.floor(Math.min(x0, x1) - reach));
  const right = Math.min(SCENE_SIDE - 1, Math.floor(Math.max(x0, x1) + reach));
  const top = Math.max(0, Math.floor(Math.min(y0, y1) - reach));
  const bottom = Math.min(SCENE_SIDE - 1, Math.floor(Math.max(y0, y1) + reach));
  const dx = x1 - x0;
  const dy = y1 - y0;
  const lengthSquared = dx * dx + dy * dy;
  for (let y = top; y <= bottom; y++) {
    for (let x = left; x <= right; x++) {
      // A pixel's middle is half a pixel from its corner.
      const fromX = x + 0.5 - x0;
      const fromY = y + 0.5 - y0;
      const along = lengthSquared > 0 ? (fromX * dx + fromY * dy) / lengthSquared : 0;
      const t = along < 0 ? 0 : along > 1 ? 1 : along;
      const offX = fromX - t * dx;
      const offY = fromY - t * dy;
      const cover = radius + 0.5 - Math.sqrt(offX * offX + offY * offY);
      if (cover <= 0) continue;
      const i = y * SCENE_SIDE + x;
      level[i] += (cover < 1 ? cover : 1) * (grey - level[i]);
    }
  }
}
