/**
 * The scenes data set: 128 x 128 grey images, each with 2 to 8 letters of 12 among clutter and
 * noise.
 *
 * Scene `index` of seed `seed` depends on those two numbers alone, the same on every machine.
 */
import { Canvas, type Stroke } from "../canvas.ts";
import { between, type RandomSource, randomSource, STROKES_BY_LETTER } from "../letters.ts";

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
export const CLASS_NAMES: readonly string[] = Object.freeze([..."ACEFGHKMPRSX"]);

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

/** One letter of a scene. */
export interface SceneObject {
  /** Index into CLASS_NAMES. */
  readonly classIndex: number;
  /** Place of the centre of its box in pixels, where pixel (0, 0) covers 0 to 1. */
  readonly x: number;
  readonly y: number;
}

/**
 * Draws one scene. @param seed 32-bit seed of the set. @param index of the scene in the set.
 * @param pixels receives the scene, [SCENE_BYTES].
 * @returns its letters, in the order they were drawn.
 */
export function drawScene(seed: number, index: number, pixels: Uint8Array): SceneObject[] {
  const random = randomSource(seed, index);
  const canvas = new Canvas(SCENE_SIDE, 0.5);
  const background = between(random, 50, 120);
  canvas.shade(random, background, 0.3);
  drawClutter(random, canvas, background);
  const objects = placeObjects(random);
  for (const object of objects) drawLetter(random, canvas, object, background);
  canvas.finish(random, between(random, DIFFICULTY.noiseMin, DIFFICULTY.noiseMax), pixels);
  return objects;
}

/**
 * Consecutive scenes of a set, from the first. @param seed 32-bit seed of the set.
 * @returns pixels [count, SCENE_BYTES], and the letters of each scene.
 */
export function drawScenes(
  seed: number,
  count: number,
): { pixels: Uint8Array<ArrayBuffer>; objectsByScene: SceneObject[][] } {
  const pixels = new Uint8Array(count * SCENE_BYTES);
  const objectsByScene = Array.from({ length: count }, (_, i) =>
    drawScene(seed, i, pixels.subarray(i * SCENE_BYTES, (i + 1) * SCENE_BYTES)),
  );
  return { pixels, objectsByScene };
}

/**
 * Cuts one crop as the detectors do: CROP_SIDE pixels square around the nearest pixel corner to the
 * centre, pixels beyond the scene's edge repeated from the edge.
 * @param scene [SCENE_BYTES]. @param x of the centre, pixels. @param y of the centre, pixels.
 * @param crop receives the crop, [CROP_BYTES].
 */
export function cutCrop(scene: Uint8Array, x: number, y: number, crop: Uint8Array): void {
  const left = Math.floor(x + 0.5) - CROP_SIDE / 2;
  const top = Math.floor(y + 0.5) - CROP_SIDE / 2;
  for (let row = 0; row < CROP_SIDE; row++) {
    const start = clampToScene(top + row) * SCENE_SIDE;
    for (let column = 0; column < CROP_SIDE; column++) {
      crop[row * CROP_SIDE + column] = scene[start + clampToScene(left + column)] ?? 0;
    }
  }
}

function clampToScene(at: number): number {
  return Math.max(0, Math.min(SCENE_SIDE - 1, at));
}

/** Classes and centres, apart by a letter and a margin; fewer if one finds no place. */
function placeObjects(random: RandomSource): SceneObject[] {
  const { objectsMin, objectsMax, distanceMin, marginMin, placementTries } = DIFFICULTY;
  const wanted = objectsMin + Math.floor(random() * (objectsMax - objectsMin + 1));
  const objects: SceneObject[] = [];
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

/** Bent strokes anywhere, as bright as letters but of fewer lines. */
function drawClutter(random: RandomSource, canvas: Canvas, background: number): void {
  const { clutterMin, clutterMax, clutterBendsMax, clutterReach } = DIFFICULTY;
  const count = clutterMin + Math.floor(random() * (clutterMax - clutterMin + 1));
  for (let i = 0; i < count; i++) {
    const segmentCount = 1 + Math.floor(random() * clutterBendsMax);
    const stroke = drawnStroke(random, background);
    let x = between(random, 0, SCENE_SIDE);
    let y = between(random, 0, SCENE_SIDE);
    for (let segment = 0; segment < segmentCount; segment++) {
      const nextX = x + between(random, -clutterReach, clutterReach);
      const nextY = y + between(random, -clutterReach, clutterReach);
      canvas.segment([x, y, nextX, nextY], stroke);
      x = nextX;
      y = nextY;
    }
  }
}

/** One letter, scaled, sheared and rotated. */
function drawLetter(
  random: RandomSource,
  canvas: Canvas,
  { classIndex, x: centreX, y: centreY }: SceneObject,
  background: number,
): void {
  const { halfAngleTangentMax, shearMax, jitterMax } = DIFFICULTY;
  const scale = between(random, DIFFICULTY.scaleMin, DIFFICULTY.scaleMax);
  // The order of the properties is that of the random numbers.
  const placement = {
    scale,
    widthScale: scale * between(random, 0.8, 1.05),
    shear: between(random, -shearMax, shearMax),
    halfAngleTangent: between(random, -halfAngleTangentMax, halfAngleTangentMax),
    centreX,
    centreY,
    jitterMax,
  };
  const stroke = drawnStroke(random, background);
  canvas.letter(random, STROKES_BY_CLASS[classIndex] ?? [], placement, stroke);
}

function drawnStroke(random: RandomSource, background: number): Stroke {
  const { strokeMin, strokeMax, contrastMin, contrastMax } = DIFFICULTY;
  const radius = between(random, strokeMin, strokeMax);
  return { radius, grey: background + between(random, contrastMin, contrastMax) };
}
