/** What the figures in models.json are made of: crops proposed, crops matched with letters, letters named. */
import { Tensor } from "onnxruntime-node";
import { CLASS_NAMES, CROP_BYTES, CROP_SIDE, cutCrop, SCENE_BYTES, SCENE_SIDE } from "./dataset.js";

/** A crop shows a letter whose centre is at most this far from the crop's, in pixels. */
export const MATCH_DISTANCE = 5;

const BATCH_SIZE = 50;

/** Numbers per crop in `boxes`: x and y of the centre, and the score. */
const BOX_WIDTH = 3;

/**
 * What a detector proposes.
 * @param {import("onnxruntime-node").InferenceSession} session of the detector.
 * @param {Uint8Array} pixels of the scenes, shape (scenes, SCENE_BYTES).
 * @returns {Promise<{ crops: Uint8Array, boxesByScene: { x: number, y: number, score: number }[][] }>}
 * crops of all scenes in their order, shape (crops, CROP_BYTES), and where they were cut.
 */
export async function propose(session, pixels) {
  const crops = [];
  const boxesByScene = [];
  for (let first = 0; first < pixels.length; first += BATCH_SIZE * SCENE_BYTES) {
    const bytes = pixels.slice(first, first + BATCH_SIZE * SCENE_BYTES);
    const rows = bytes.length / SCENE_BYTES;
    const scene = new Tensor("uint8", bytes, [rows, 1, SCENE_SIDE, SCENE_SIDE]);
    const out = await session.run({ scene });
    crops.push(out.crops.data);
    let at = 0;
    for (const count of out.crop_count.data) {
      boxesByScene.push(
        Array.from({ length: Number(count) }, () => {
          const [x, y, score] = out.boxes.data.subarray(BOX_WIDTH * at, BOX_WIDTH * (at + 1));
          at += 1;
          return { x, y, score };
        }),
      );
    }
  }
  return { crops: Buffer.concat(crops), boxesByScene };
}

/**
 * The class a classifier gives each crop: the largest logit, the first of equals.
 * @param {import("onnxruntime-node").InferenceSession} session of the classifier.
 * @param {Uint8Array} crops shape (crops, CROP_BYTES).
 * @returns {Promise<number[]>} indices into CLASS_NAMES.
 */
export async function classify(session, crops) {
  const classes = [];
  for (let first = 0; first < crops.length; first += BATCH_SIZE * CROP_BYTES) {
    const bytes = Uint8Array.from(crops.subarray(first, first + BATCH_SIZE * CROP_BYTES));
    const rows = bytes.length / CROP_BYTES;
    const crop = new Tensor("uint8", bytes, [rows, 1, CROP_SIDE, CROP_SIDE]);
    const { logits } = await session.run({ crop });
    for (let i = 0; i < rows; i++) {
      const row = logits.data.subarray(i * CLASS_NAMES.length, (i + 1) * CLASS_NAMES.length);
      classes.push(row.indexOf(Math.max(...row)));
    }
  }
  return classes;
}

/**
 * Which letters were found. The crop with the highest score claims the nearest letter within
 * MATCH_DISTANCE, then the next claims among the rest, so that no crop counts for two letters.
 * @param {{ x: number, y: number }[][]} objectsByScene the letters.
 * @param {{ x: number, y: number, score: number }[][]} boxesByScene the crops.
 * @returns {{ classIndex: number, crop: number }[]} per letter, in the order of `objectsByScene`:
 * its class, and its crop as an index over the crops of all scenes, -1 if none shows it.
 */
export function matchCrops(objectsByScene, boxesByScene) {
  let start = 0;
  return objectsByScene.flatMap((objects, scene) => {
    const boxes = boxesByScene[scene] ?? [];
    const cropOf = matchScene(objects, boxes);
    const matches = objects.map(({ classIndex }, i) => ({
      classIndex,
      crop: cropOf[i] < 0 ? -1 : start + cropOf[i],
    }));
    start += boxes.length;
    return matches;
  });
}

function matchScene(objects, boxes) {
  const cropOf = objects.map(() => -1);
  const byScore = boxes.map((_, i) => i).sort((a, b) => boxes[b].score - boxes[a].score || a - b);
  for (const crop of byScore) {
    let nearest = -1;
    let distance = MATCH_DISTANCE;
    for (let i = 0; i < objects.length; i++) {
      const away = Math.hypot(objects[i].x - boxes[crop].x, objects[i].y - boxes[crop].y);
      if (cropOf[i] >= 0 || away > distance) continue;
      nearest = i;
      distance = away;
    }
    if (nearest >= 0) cropOf[nearest] = crop;
  }
  return cropOf;
}

/**
 * Crops cut around the letters' true centres.
 * @param {Uint8Array} pixels of the scenes, shape (scenes, SCENE_BYTES).
 * @param {{ classIndex: number, x: number, y: number }[][]} objectsByScene the letters.
 * @returns {{ crops: Uint8Array, classes: number[] }} crops, shape (letters, CROP_BYTES), and the
 * class of each.
 */
export function cutTrueCrops(pixels, objectsByScene) {
  const classes = objectsByScene.flat().map(({ classIndex }) => classIndex);
  const crops = new Uint8Array(classes.length * CROP_BYTES);
  let at = 0;
  objectsByScene.forEach((objects, i) => {
    const scene = pixels.subarray(i * SCENE_BYTES, (i + 1) * SCENE_BYTES);
    for (const { x, y } of objects) {
      cutCrop(scene, x, y, crops.subarray(at, at + CROP_BYTES));
      at += CROP_BYTES;
    }
  });
  return { crops, classes };
}

/** Share of a list for which something holds. */
export function shareOf(list, holds) {
  return list.filter(holds).length / list.length;
}
