/**
 * Writes the training, calibration and held-out scenes as raw bytes for the training scripts.
 * Usage: node dist/lab/models/scenes/write-dataset.js FOLDER
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
} from "./dataset.ts";

const folder = process.argv[2];
if (folder === undefined) throw new Error("Usage: write-dataset.js FOLDER");
mkdirSync(folder, { recursive: true });
writeSet(folder, "train", TRAIN_SEED, TRAIN_COUNT);
writeSet(folder, "calibration", CALIBRATION_SEED, CALIBRATION_COUNT);
writeSet(folder, "held-out", HELD_OUT_SEED, HELD_OUT_COUNT);

/**
 * Two files: NAME-scenes.bin, bytes, [count, 128, 128], and NAME-objects.bin, float32,
 * [objects, 4]: scene, class, x and y of each letter.
 */
function writeSet(into: string, name: string, seed: number, count: number): void {
  const { pixels, objectsByScene } = drawScenes(seed, count);
  const rows = objectsByScene.flatMap((objects, scene) =>
    objects.map(({ classIndex, x, y }) => [scene, classIndex, x, y]),
  );
  writeFileSync(path.join(into, `${name}-scenes.bin`), pixels);
  writeFileSync(path.join(into, `${name}-objects.bin`), Float32Array.from(rows.flat()));
  console.log(`${name}: ${count} scenes, ${rows.length} letters, seed ${seed}`);
}
