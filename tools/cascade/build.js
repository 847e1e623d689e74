/**
 * Makes the cascade's models of two of models/image-classification, and models.json beside them: chooses the threshold on the calibration
 * images, writes the gate, copies the accurate model, and measures both on the held-out images.
 * Usage: node tools/cascade/build.js [MODEL_FOLDER]
 */
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import {
  CLASS_NAMES,
  drawImages,
  HELD_OUT_COUNT,
  HELD_OUT_SEED,
  IMAGE_BYTES,
} from "../image-classification/dataset.js";
import { gateOf } from "./gate.js";
import {
  answersOf,
  CALIBRATION_COUNT,
  CALIBRATION_SEED,
  chooseThreshold,
  classesOf,
  confidencesOf,
  figuresOf,
  LOSS,
} from "./measure.js";

const SOURCES = path.join("models", "image-classification");
const FAST = "cnn-s.onnx";
const ACCURATE = "cnn-xl.onnx";

const folder = process.argv[2] ?? path.join("models", "cascade");
const fast = readFileSync(path.join(SOURCES, FAST));
const accurate = readFileSync(path.join(SOURCES, ACCURATE));

const threshold = await calibrate();
const gate = gateOf(fast, threshold, IMAGE_BYTES);
const document = {
  task: "cascade",
  input: { name: "pixels", type: "uint8", shape: ["batch", IMAGE_BYTES] },
  outputs: {
    gate: [
      { name: "logits", type: "float32", shape: ["batch", CLASS_NAMES.length] },
      { name: "escalate", type: "int64", shape: ["batch"] },
      { name: "image", type: "uint8", shape: ["batch", IMAGE_BYTES] },
    ],
    accurate: [{ name: "logits", type: "float32", shape: ["batch", CLASS_NAMES.length] }],
  },
  classes: CLASS_NAMES,
  threshold,
  calibration: { seed: CALIBRATION_SEED, count: CALIBRATION_COUNT, loss: LOSS },
  heldOut: { seed: HELD_OUT_SEED, count: HELD_OUT_COUNT, ...(await measure(gate)) },
  models: [
    describe("cnn-s-gate.onnx", gate, FAST, fast),
    describe(ACCURATE, accurate, ACCURATE, accurate),
  ],
};
writeFileSync(path.join(folder, "cnn-s-gate.onnx"), gate);
writeFileSync(path.join(folder, ACCURATE), accurate);
writeFileSync(path.join(folder, "models.json"), `${JSON.stringify(document, null, 2)}\n`);
console.log(document);

async function calibrate() {
  const { pixels, labels } = drawImages(CALIBRATION_SEED, CALIBRATION_COUNT);
  const { logits } = await answersOf(fast, pixels);
  const classes = classesOf(logits);
  const accurateClasses = classesOf((await answersOf(accurate, pixels)).logits);
  return chooseThreshold(
    confidencesOf(logits).map((confidence, image) => ({
      confidence,
      isGateRight: classes[image] === labels[image],
      isAccurateRight: accurateClasses[image] === labels[image],
    })),
  );
}

/** Of the files themselves: whether an image is escalated is what the gate's graph says. */
async function measure(gateModel) {
  const { pixels, labels } = drawImages(HELD_OUT_SEED, HELD_OUT_COUNT);
  const { logits, escalate } = await answersOf(gateModel, pixels);
  const classes = classesOf(logits);
  const accurateClasses = classesOf((await answersOf(accurate, pixels)).logits);
  return figuresOf(
    escalate.map((count, image) => ({
      isEscalated: count === 1,
      isGateRight: classes[image] === labels[image],
      isAccurateRight: accurateClasses[image] === labels[image],
    })),
  );
}

function describe(file, content, sourceFile, source) {
  return {
    name: path.parse(file).name,
    file,
    sha256: hashOf(content),
    bytes: content.length,
    source: {
      file: path.posix.join("../image-classification", sourceFile),
      sha256: hashOf(source),
    },
  };
}

function hashOf(content) {
  return createHash("sha256").update(content).digest("hex");
}
