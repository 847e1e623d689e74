/**
 * Makes the cascade's models of two of models/image-classification, and models.json beside them:
 * chooses the threshold on the calibration images, writes the gate, copies the accurate model, and
 * measures both on the held-out images.
 * Usage: node dist/lab/models/cascade/build.js [MODEL_FOLDER]
 */
import { readFileSync } from "node:fs";
import path from "node:path";
import { classesOf } from "../../answers.ts";
import {
  CLASS_NAMES,
  drawImages,
  HELD_OUT_COUNT,
  HELD_OUT_SEED,
  IMAGE_BYTES,
} from "../image-classification/dataset.ts";
import { madeOf, writeModels } from "../model-files.ts";
import { gateOf } from "./gate.ts";
import {
  answersOf,
  CALIBRATION_COUNT,
  CALIBRATION_SEED,
  chooseThreshold,
  confidencesOf,
  type Figures,
  figuresOf,
  LOSS,
} from "./measure.ts";

const SOURCE = "image-classification";

const folder = process.argv[2] ?? path.join("models", "cascade");
const fast = sourceOf("cnn-s.onnx");
const accurate = sourceOf("cnn-xl.onnx");

const threshold = await calibrate();
const gate = { file: "cnn-s-gate.onnx", content: gateOf(fast.content, threshold, IMAGE_BYTES) };
const logits = { name: "logits", type: "float32", shape: ["batch", CLASS_NAMES.length] };
const document = {
  task: "cascade",
  input: { name: "pixels", type: "uint8", shape: ["batch", IMAGE_BYTES] },
  outputs: {
    gate: [
      logits,
      { name: "escalate", type: "int64", shape: ["batch"] },
      { name: "image", type: "uint8", shape: ["batch", IMAGE_BYTES] },
    ],
    accurate: [logits],
  },
  classes: CLASS_NAMES,
  threshold,
  calibration: { seed: CALIBRATION_SEED, count: CALIBRATION_COUNT, loss: LOSS },
  heldOut: { seed: HELD_OUT_SEED, count: HELD_OUT_COUNT, ...(await measure()) },
  models: [madeOf(gate, SOURCE, fast), madeOf(accurate, SOURCE, accurate)],
};
writeModels(folder, [gate, accurate], document);
console.log(document);

function sourceOf(file: string) {
  return { file, content: readFileSync(path.join("models", SOURCE, file)) };
}

async function calibrate(): Promise<number> {
  const { pixels, labels } = drawImages(CALIBRATION_SEED, CALIBRATION_COUNT);
  const answers = await answersOf(fast.content, pixels);
  const verdicts = await verdictsOf(answers.logits, pixels, labels);
  const confidences = confidencesOf(answers.logits);
  return chooseThreshold(
    verdicts.map((verdict, image) => ({ ...verdict, confidence: confidences[image] ?? 0 })),
  );
}

/** Of the files themselves: whether an image is escalated is what the gate's graph says. */
async function measure(): Promise<Figures> {
  const { pixels, labels } = drawImages(HELD_OUT_SEED, HELD_OUT_COUNT);
  const answers = await answersOf(gate.content, pixels);
  const verdicts = await verdictsOf(answers.logits, pixels, labels);
  return figuresOf(
    verdicts.map((verdict, image) => ({
      ...verdict,
      isEscalated: answers.escalate?.[image] === 1,
    })),
  );
}

async function verdictsOf(gateLogits: readonly number[], pixels: Uint8Array, labels: Uint8Array) {
  const byGate = classesOf(gateLogits, CLASS_NAMES.length);
  const answers = await answersOf(accurate.content, pixels);
  const byAccurate = classesOf(answers.logits, CLASS_NAMES.length);
  return Array.from(labels, (label, image) => ({
    isGateRight: byGate[image] === label,
    isAccurateRight: byAccurate[image] === label,
  }));
}
