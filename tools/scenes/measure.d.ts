/** Types of measure.js for the tests; the comments are there. */
import type { InferenceSession } from "onnxruntime-node";
import type { SceneObject } from "./dataset.js";

export type Box = { x: number; y: number; score: number };
export type Match = { classIndex: number; crop: number };
export const MATCH_DISTANCE: number;
export function propose(
  session: InferenceSession,
  pixels: Uint8Array,
): Promise<{ crops: Uint8Array; boxesByScene: Box[][] }>;
export function classify(session: InferenceSession, crops: Uint8Array): Promise<number[]>;
export function matchCrops(objectsByScene: SceneObject[][], boxesByScene: Box[][]): Match[];
export function cutTrueCrops(
  pixels: Uint8Array,
  objectsByScene: SceneObject[][],
): { crops: Uint8Array; classes: number[] };
export function shareOf<T>(list: readonly T[], holds: (item: T, index: number) => boolean): number;
