/**
 * Writes the training and held-out sets as raw bytes for train.py.
 * Usage: node dist/lab/models/image-classification/write-dataset.js FOLDER
 */
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { drawImages, HELD_OUT_COUNT, HELD_OUT_SEED, TRAIN_COUNT, TRAIN_SEED } from "./dataset.ts";

const folder = process.argv[2];
if (folder === undefined) throw new Error("Usage: write-dataset.js FOLDER");
mkdirSync(folder, { recursive: true });
writeSet(folder, "train", TRAIN_SEED, TRAIN_COUNT);
writeSet(folder, "held-out", HELD_OUT_SEED, HELD_OUT_COUNT);

/** Two files: NAME-pixels.bin, [count, 64, 64], and NAME-labels.bin, [count]. */
function writeSet(into: string, name: string, seed: number, count: number): void {
  const { pixels, labels } = drawImages(seed, count);
  writeFileSync(path.join(into, `${name}-pixels.bin`), pixels);
  writeFileSync(path.join(into, `${name}-labels.bin`), labels);
  console.log(`${name}: ${count} images, seed ${seed}`);
}
