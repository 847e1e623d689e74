/** Types of dataset.js for the tests; the comments are there. */
export type SceneObject = { classIndex: number; x: number; y: number };
export const SCENE_SIDE: number;
export const SCENE_BYTES: number;
export const CROP_SIDE: number;
export const CROP_BYTES: number;
export const TRAIN_SEED: number;
export const TRAIN_COUNT: number;
export const HELD_OUT_SEED: number;
export const HELD_OUT_COUNT: number;
export const CALIBRATION_SEED: number;
export const CALIBRATION_COUNT: number;
export const CLASS_NAMES: readonly string[];
export function drawScene(seed: number, index: number, pixels: Uint8Array): SceneObject[];
export function drawScenes(
  seed: number,
  count: number,
): { pixels: Uint8Array<ArrayBuffer>; objectsByScene: SceneObject[][] };
export function cutCrop(scene: Uint8Array, x: number, y: number, crop: Uint8Array): void;
