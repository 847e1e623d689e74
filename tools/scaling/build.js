/**
 * Makes the models of the scaling example of two of models/scenes, and models.json beside them: extends the detector, copies the classifier, and measures both on
 * the held-out scenes. Usage: node tools/scaling/build.js [MODEL_FOLDER]
 */
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { InferenceSession } from "onnxruntime-node";
import {
  CLASS_NAMES,
  CROP_SIDE,
  drawScenes,
  HELD_OUT_COUNT,
  HELD_OUT_SEED,
  SCENE_SIDE,
} from "../scenes/dataset.js";
import { clearestOf } from "./clearest.js";
import { figuresOf } from "./measure.js";

const SOURCES = path.join("models", "scenes");
const DETECTOR = "detector-l.onnx";
const CLASSIFIER = "cnn-m.onnx";
const FINDER = "detector-l-clearest.onnx";

const folder = process.argv[2] ?? path.join("models", "scaling");
const detector = readFileSync(path.join(SOURCES, DETECTOR));
const classifier = readFileSync(path.join(SOURCES, CLASSIFIER));
const finder = clearestOf(detector, CROP_SIDE);
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
  models: [
    describe(FINDER, finder, DETECTOR, detector),
    describe(CLASSIFIER, classifier, CLASSIFIER, classifier),
  ],
};
writeFileSync(path.join(folder, FINDER), finder);
writeFileSync(path.join(folder, CLASSIFIER), classifier);
writeFileSync(path.join(folder, "models.json"), `${JSON.stringify(document, null, 2)}\n`);
console.log(document);

async function measure() {
  const options = { intraOpNumThreads: 1 };
  const sessions = [
    await InferenceSession.create(finder, options),
    await InferenceSession.create(classifier, options),
  ];
  const figures = await figuresOf(...sessions, drawScenes(HELD_OUT_SEED, HELD_OUT_COUNT));
  for (const session of sessions) await session.release();
  return figures;
}

function describe(file, content, sourceFile, source) {
  return {
    name: path.parse(file).name,
    file,
    sha256: hashOf(content),
    bytes: content.length,
    source: { file: path.posix.join("../scenes", sourceFile), sha256: hashOf(source) },
  };
}

function hashOf(content) {
  return createHash("sha256").update(content).digest("hex");
}
