/**
 * Measures the models' accuracy on the held-out set and rewrites models.json beside them.
 * Usage: node tools/image-classification/evaluate.js [MODEL_FOLDER]
 */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { InferenceSession, Tensor } from "onnxruntime-node";
import {
  CLASS_NAMES,
  drawImages,
  HELD_OUT_COUNT,
  HELD_OUT_SEED,
  IMAGE_BYTES,
  TRAIN_COUNT,
  TRAIN_SEED,
} from "./dataset.js";
import { countParameters } from "./onnx-parameters.js";

const BATCH_SIZE = 100;
const PREFIX_COUNT = 300;

const folder = process.argv[2] ?? path.join("models", "image-classification");
const heldOut = drawImages(HELD_OUT_SEED, HELD_OUT_COUNT);

const variants = [];
for (const file of readdirSync(folder).filter((name) => name.endsWith(".onnx"))) {
  variants.push(await describe(file));
}
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
writeFileSync(path.join(folder, "models.json"), `${JSON.stringify(document, null, 2)}\n`);
console.table(variants, ["name", "parameters", "bytes", "accuracy", "accuracyFirst300"]);

async function describe(file) {
  const content = readFileSync(path.join(folder, file));
  const isCorrect = await classify(content);
  return {
    name: path.parse(file).name,
    file,
    sha256: createHash("sha256").update(content).digest("hex"),
    bytes: content.length,
    parameters: countParameters(content),
    accuracy: shareTrue(isCorrect),
    accuracyFirst300: shareTrue(isCorrect.slice(0, PREFIX_COUNT)),
  };
}

/** Whether the largest logit (the first of equals) is the image's class, per held-out image. */
async function classify(content) {
  const session = await InferenceSession.create(content, { intraOpNumThreads: 1 });
  const isCorrect = [];
  for (let first = 0; first < HELD_OUT_COUNT; first += BATCH_SIZE) {
    const count = Math.min(BATCH_SIZE, HELD_OUT_COUNT - first);
    const bytes = heldOut.pixels.slice(first * IMAGE_BYTES, (first + count) * IMAGE_BYTES);
    const { logits } = await session.run({
      pixels: new Tensor("uint8", bytes, [count, IMAGE_BYTES]),
    });
    for (let i = 0; i < count; i++) {
      const row = logits.data.subarray(i * CLASS_NAMES.length, (i + 1) * CLASS_NAMES.length);
      isCorrect.push(row.indexOf(Math.max(...row)) === heldOut.labels[first + i]);
    }
  }
  await session.release();
  return isCorrect;
}

function shareTrue(flags) {
  return flags.filter(Boolean).length / flags.length;
}
