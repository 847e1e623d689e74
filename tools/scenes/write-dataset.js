/**
 * Writes the training, calibration and held-out scenes as raw bytes for the training scripts.
 * Usage: node tools/scenes/write-dataset.js FOLDER
 */
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import {
  CALIBRATION_COUNT,
  CALIBRATION_SEED,
  drawScenes,
  HELD_OUT_COUNT,
  HELD_OUT_SEED,
  TRAIN_COUNT,
  TRAIN_SEED,
} from "./dataset.js";

const folder = process.argv[2];
if (folder === undefined) throw new Error("Usage: write-dataset.js FOLDER");
mkdirSync(folder, { recursive: true });
writeSet("train", TRAIN_SEED, TRAIN_COUNT);
writeSet("calibration", CALIBRATION_SEED, CALIBRATION_COUNT);
writeSet("held-out", HELD_OUT_SEED, HELD_OUT_COUNT);

/**
 * Two files: NAME-scenes.bin, bytes, shape (count, 128, 128), and NAME-objects.bin, float32, shape
 * (objects, 4): scene, class, x and y of each letter.
 */
function writeSet(name, seed, count) {
  const { pixels, objectsByScene } = drawScenes(seed, count);
  const rows = objectsByScene.flatMap((objects, scene) =>
    objects.map(({ classIndex, x, y }) => [scene, classIndex, x, y]),
  );
  writeFileSync(path.join(folder, `${name}-scenes.bin`), pixels);
  writeFileSync(path.join(folder, `${name}-objects.bin`), Float32Array.from(rows.flat()));
  console.log(`${name}: ${count} scenes, ${rows.length} letters, seed ${seed}`);
}
