/**
 * Makes the models of the scaling example of two of models/scenes, and models.json beside them:
 * extends the detector, copies the classifier, and measures both on the held-out scenes.
 * Usage: node dist/lab/models/scaling/build.js [MODEL_FOLDER]
 */
import { readFileSync } from "node:fs";
import path from "node:path";
import { InferenceSession } from "onnxruntime-node";
import { madeOf, writeModels } from "../model-files.ts";
import {
  CLASS_NAMES,
  CROP_SIDE,
  drawScenes,
  HELD_OUT_COUNT,
  HELD_OUT_SEED,
  SCENE_SIDE,
} from "../scenes/dataset.ts";
import { clearestOf } from "./clearest.ts";
import { type Figures, figuresOf } from "./measure.ts";

const SOURCE = "scenes";

const folder = process.argv[2] ?? path.join("models", "scaling");
const detector = sourceOf("detector-l.onnx");
const classifier = sourceOf("cnn-m.onnx");
const finder = {
  file: "detector-l-clearest.onnx",
  content: clearestOf(detector.content, CROP_SIDE),
};
const document = {
  task: "scaling",
  tasks: {
    find: {
      input: { name: "scene", type: "uint8", shape: ["rows", 1, SCENE_SIDE, SCENE_SIDE] },
      outputs: [
        { name: "found", type: "int64", shape: ["rows"] },
        { name: "letter", type: "uint8", shape: ["rows", 1, CROP_SIDE, CROP_SIDE] },
        { name: "place", type: "float32", shape: ["rows", 3] },
      ],
    },
    name: {
      input: { name: "crop", type: "uint8", shape: ["rows", 1, CROP_SIDE, CROP_SIDE] },
      output: { name: "logits", type: "float32", shape: ["rows", CLASS_NAMES.length] },
    },
  },
  classes: CLASS_NAMES,
  heldOut: { seed: HELD_OUT_SEED, count: HELD_OUT_COUNT, ...(await measure()) },
  models: [madeOf(finder, SOURCE, detector), madeOf(classifier, SOURCE, classifier)],
};
writeModels(folder, [finder, classifier], document);
console.log(document);

function sourceOf(file: string) {
  return { file, content: readFileSync(path.join("models", SOURCE, file)) };
}

async function measure(): Promise<Figures> {
  const options = { intraOpNumThreads: 1 };
  const finding = await InferenceSession.create(finder.content, options);
  const naming = await InferenceSession.create(classifier.content, options);
  const figures = await figuresOf(finding, naming, drawScenes(HELD_OUT_SEED, HELD_OUT_COUNT));
  await finding.release();
  await naming.release();
  return figures;
}
