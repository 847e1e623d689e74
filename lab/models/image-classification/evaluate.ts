/**
 * Measures the models' accuracy on the held-out set and rewrites models.json beside them.
 * Usage: node dist/lab/models/image-classification/evaluate.js [MODEL_FOLDER]
 */
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { InferenceSession, Tensor } from "onnxruntime-node";
import { classesOf, floatsOf, shareOf } from "../../answers.ts";
import { fileFields, writeModels } from "../model-files.ts";
import {
  CLASS_NAMES,
  drawImages,
  HELD_OUT_COUNT,
  HELD_OUT_SEED,
  IMAGE_BYTES,
  TRAIN_COUNT,
  TRAIN_SEED,
} from "./dataset.ts";
import { countParameters } from "./onnx-parameters.ts";

const BATCH_SIZE = 100;
const PREFIX_COUNT = 300;

const folder = process.argv[2] ?? path.join("models", "image-classification");
const heldOut = drawImages(HELD_OUT_SEED, HELD_OUT_COUNT);

const files = readdirSync(folder).filter((name) => name.endsWith(".onnx"));
const variants: Awaited<ReturnType<typeof describe>>[] = [];
for (const file of files) variants.push(await describe(file));
variants.sort((a, b) => a.accuracy - b.accuracy);
const document = {
  task: "image-classification",
  input: { name: "pixels", type: "uint8", shape: ["batch", IMAGE_BYTES] },
  output: { name: "logits", type: "float32", shape: ["batch", CLASS_NAMES.length] },
  classes: CLASS_NAMES,
  training: { seed: TRAIN_SEED, count: TRAIN_COUNT },
  heldOut: { seed: HELD_OUT_SEED, count: HELD_OUT_COUNT },
  variants,
};
writeModels(folder, [], document);
console.table(variants, ["name", "parameters", "bytes", "accuracy", "accuracyFirst300"]);

async function describe(file: string) {
  const content = readFileSync(path.join(folder, file));
  const isCorrect = await classify(content);
  return {
    ...fileFields({ file, content }),
    parameters: countParameters(content),
    accuracy: shareOf(isCorrect, Boolean),
    accuracyFirst300: shareOf(isCorrect.slice(0, PREFIX_COUNT), Boolean),
  };
}

/** Whether the class that the model names is the image's, per held-out image. */
async function classify(content: Uint8Array): Promise<boolean[]> {
  const session = await InferenceSession.create(content, { intraOpNumThreads: 1 });
  const isCorrect: boolean[] = [];
  for (let first = 0; first < HELD_OUT_COUNT; first += BATCH_SIZE) {
    const count = Math.min(BATCH_SIZE, HELD_OUT_COUNT - first);
    const bytes = heldOut.pixels.slice(first * IMAGE_BYTES, (first + count) * IMAGE_BYTES);
    const pixels = new Tensor("uint8", bytes, [count, IMAGE_BYTES]);
    const logits = floatsOf(await session.run({ pixels }), "logits");
    for (const [i, named] of classesOf(logits, CLASS_NAMES.length).entries()) {
      isCorrect.push(named === heldOut.labels[first + i]);
    }
  }
  await session.release();
  return isCorrect;
}
