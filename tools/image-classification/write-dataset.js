/**
 * Writes the training and held-out sets as raw bytes for train.py.
 * Usage: node tools/image-classification/write-dataset.js FOLDER
 */
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { drawImages, HELD_OUT_COUNT, HELD_OUT_SEED, TRAIN_COUNT, TRAIN_SEED } from "./dataset.js";

const folder = process.argv[2];
if (folder === undefined) throw new Error("Usage: write-dataset.js FOLDER");
mkdirSync(folder, { recursive: true });
writeSet("train", TRAIN_SEED, TRAIN_COUNT);
writeSet("held-out", HELD_OUT_SEED, HELD_OUT_COUNT);

/** Two files: NAME-pixels.bin, shape (count, 64, 64), and NAME-labels.bin, shape (count,). */
function writeSet(name, seed, count) {
  const { pixels, labels } = drawImages(seed, count);
  writeFileSync(path.join(folder, `${name}-pixels.bin`), pixels);
  writeFileSync(path.join(folder, `${name}-labels.bin`), labels);
  console.log(`${name}: ${count} images, seed ${seed}`);
}
