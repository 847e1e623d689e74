/** What the figures in models.json are made of: crops proposed, matched with letters, and named. */
import { type InferenceSession, Tensor } from "onnxruntime-node";
import { bytesOf, classesOf, floatsOf, integersOf, rowsOf } from "../../answers.ts";
import {
  CLASS_NAMES,
  CROP_BYTES,
  CROP_SIDE,
  cutCrop,
  SCENE_BYTES,
  SCENE_SIDE,
  type SceneObject,
} from "./dataset.ts";

/** Where a crop was cut: its centre in pixels, and the detector's score. */
export interface Box {
  readonly x: number;
  readonly y: number;
  readonly score: number;
}

/** A letter, and the crop that shows it: an index over the crops of all scenes, -1 for none. */
interface Match {
  readonly classIndex: number;
  readonly crop: number;
}

/** A crop shows a letter whose centre is at most this far from the crop's, in pixels. */
export const MATCH_DISTANCE = 5;

const BATCH_SIZE = 50;

/** Numbers per crop in `boxes`: x and y of the centre, and the score. */
const BOX_WIDTH = 3;

/** Boxes of an output of such rows. */
export function boxesOf(values: ArrayLike<number>): Box[] {
  return rowsOf(values, BOX_WIDTH).map(([x = 0, y = 0, score = 0]) => ({ x, y, score }));
}

/**
 * What a detector proposes. @param pixels of the scenes, [scenes, SCENE_BYTES].
 * @returns crops of all scenes in their order, [crops, CROP_BYTES], and where they were cut.
 */
export async function propose(
  session: InferenceSession,
  pixels: Uint8Array,
): Promise<{ crops: Uint8Array; boxesByScene: Box[][] }> {
  const crops: Uint8Array[] = [];
  const boxesByScene: Box[][] = [];
  for (let first = 0; first < pixels.length; first += BATCH_SIZE * SCENE_BYTES) {
    const bytes = pixels.slice(first, first + BATCH_SIZE * SCENE_BYTES);
    const rows = bytes.length / SCENE_BYTES;
    const scene = new Tensor("uint8", bytes, [rows, 1, SCENE_SIDE, SCENE_SIDE]);
    const out = await session.run({ scene });
    crops.push(bytesOf(out, "crops"));
    const boxes = boxesOf(floatsOf(out, "boxes"));
    for (const count of integersOf(out, "crop_count")) boxesByScene.push(boxes.splice(0, count));
  }
  return { crops: Buffer.concat(crops), boxesByScene };
}

/**
 * The class a classifier gives each crop. @param crops [crops, CROP_BYTES].
 * @returns indices into CLASS_NAMES.
 */
export async function classify(session: InferenceSession, crops: Uint8Array): Promise<number[]> {
  const classes: number[] = [];
  for (let first = 0; first < crops.length; first += BATCH_SIZE * CROP_BYTES) {
    const bytes = Uint8Array.from(crops.subarray(first, first + BATCH_SIZE * CROP_BYTES));
    const rows = bytes.length / CROP_BYTES;
    const crop = new Tensor("uint8", bytes, [rows, 1, CROP_SIDE, CROP_SIDE]);
    const logits = floatsOf(await session.run({ crop }), "logits");
    classes.push(...classesOf(logits, CLASS_NAMES.length));
  }
  return classes;
}

/**
 * Which letters were found. The crop with the highest score claims the nearest letter within
 * MATCH_DISTANCE, then the next claims among the rest, so that no crop counts for two letters.
 * @returns per letter, in the order of `objectsByScene`.
 */
export function matchCrops(
  objectsByScene: readonly (readonly SceneObject[])[],
  boxesByScene: readonly (readonly Box[])[],
): Match[] {
  let start = 0;
  return objectsByScene.flatMap((objects, scene) => {
    const boxes = boxesByScene[scene] ?? [];
    const cropOf = matchScene(objects, boxes);
    const matches = objects.map(({ classIndex }, i) => {
      const crop = cropOf[i] ?? -1;
      return { classIndex, crop: crop < 0 ? -1 : start + crop };
    });
    start += boxes.length;
    return matches;
  });
}

/** By object, its box, -1 for none. */
function matchScene(objects: readonly SceneObject[], boxes: readonly Box[]): number[] {
  const cropOf = objects.map(() => -1);
  const byScore = [...boxes.entries()].sort(([a, one], [b, other]) => {
    return other.score - one.score || a - b;
  });
  for (const [crop, box] of byScore) {
    let nearest = -1;
    let distance = MATCH_DISTANCE;
    for (const [i, object] of objects.entries()) {
      const away = Math.hypot(object.x - box.x, object.y - box.y);
      if ((cropOf[i] ?? -1) >= 0 || away > distance) continue;
      nearest = i;
      distance = away;
    }
    if (nearest >= 0) cropOf[nearest] = crop;
  }
  return cropOf;
}

/**
 * Crops cut around the letters' true centres. @param pixels of the scenes, [scenes, SCENE_BYTES].
 * @returns crops, [letters, CROP_BYTES], and the class of each.
 */
export function cutTrueCrops(
  pixels: Uint8Array,
  objectsByScene: readonly (readonly SceneObject[])[],
): { crops: Uint8Array; classes: number[] } {
  const classes = objectsByScene.flat().map(({ classIndex }) => classIndex);
  const crops = new Uint8Array(classes.length * CROP_BYTES);
  let at = 0;
  for (const [i, objects] of objectsByScene.entries()) {
    const scene = pixels.subarray(i * SCENE_BYTES, (i + 1) * SCENE_BYTES);
    for (const { x, y } of objects) {
      cutCrop(scene, x, y, crops.subarray(at, at + CROP_BYTES));
      at += CROP_BYTES;
    }
  }
  return { crops, classes };
}
