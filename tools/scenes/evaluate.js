/**
 * Measures detectors, classifiers and every pair of them on the held-out scenes and rewrites
 * models.json beside them.
 * Usage: node tools/scenes/evaluate.js [MODEL_FOLDER]
 */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { InferenceSession } from "onnxruntime-node";
import { countParameters } from "../image-classification/onnx-parameters.js";
import {
  CALIBRATION_COUNT,
  CALIBRATION_SEED,
  CLASS_NAMES,
  CROP_SIDE,
  drawScenes,
  HELD_OUT_COUNT,
  HELD_OUT_SEED,
  SCENE_SIDE,
  TRAIN_COUNT,
  TRAIN_SEED,
} from "./dataset.js";
import { classify, cutTrueCrops, MATCH_DISTANCE, matchCrops, propose, shareOf } from "./measure.js";

const folder = process.argv[2] ?? path.join("models", "scenes");
const { pixels, objectsByScene } = drawScenes(HELD_OUT_SEED, HELD_OUT_COUNT);
const trueCrops = cutTrueCrops(pixels, objectsByScene);

const files = readdirSync(folder).filter((name) => name.endsWith(".onnx"));
const detectors = await openAll(files.filter((file) => file.startsWith("detector-")));
const classifiers = await openAll(files.filter((file) => !file.startsWith("detector-")));
for (const detector of detectors) await measureDetector(detector);
for (const classifier of classifiers) await measureClassifier(classifier);
detectors.sort((a, b) => a.figures.recall - b.figures.recall);
classifiers.sort((a, b) => a.figures.accuracy - b.figures.accuracy);
const document = {
  task: "scenes",
  tasks: { detect: describeDetect(detectors), identify: describeIdentify(classifiers) },
  classes: CLASS_NAMES,
  matchDistancePixels: MATCH_DISTANCE,
  training: { seed: TRAIN_SEED, count: TRAIN_COUNT },
  calibration: { seed: CALIBRATION_SEED, count: CALIBRATION_COUNT },
  heldOut: { seed: HELD_OUT_SEED, count: HELD_OUT_COUNT, objects: trueCrops.classes.length },
  accuracyByPath: await measurePaths(),
};
writeFileSync(path.join(folder, "models.json"), `${JSON.stringify(document, null, 2)}\n`);
console.table(document.tasks.detect.variants, ["name", "recall", "precision", "cropsPerScene"]);
console.table(document.tasks.identify.variants, ["name", "parameters", "bytes", "accuracy"]);
console.table(document.accuracyByPath);

async function openAll(names) {
  const opened = [];
  for (const file of names) {
    const content = readFileSync(path.join(folder, file));
    const session = await InferenceSession.create(content, { intraOpNumThreads: 1 });
    const figures = {
      name: path.parse(file).name,
      file,
      sha256: createHash("sha256").update(content).digest("hex"),
      bytes: content.length,
      parameters: countParameters(content),
    };
    opened.push({ session, figures });
  }
  return opened;
}

/** Mutates `detector`: adds what it proposed and its figures. */
async function measureDetector(detector) {
  const { crops, boxesByScene } = await propose(detector.session, pixels);
  const matches = matchCrops(objectsByScene, boxesByScene);
  const cropCount = boxesByScene.flat().length;
  const foundCount = matches.filter(({ crop }) => crop >= 0).length;
  detector.crops = crops;
  detector.matches = matches;
  detector.figures.recall = foundCount / matches.length;
  detector.figures.precision = foundCount / cropCount;
  detector.figures.cropsPerScene = cropCount / HELD_OUT_COUNT;
}

/** Mutates `classifier`: adds its accuracy on the crops around the letters' true centres. */
async function measureClassifier(classifier) {
  const classes = await classify(classifier.session, trueCrops.crops);
  classifier.figures.accuracy = shareOf(classes, (named, i) => named === trueCrops.classes[i]);
}

/** Share of the letters that the detector found and the classifier then named, by path. */
async function measurePaths() {
  const accuracyByPath = {};
  for (const detector of detectors) {
    for (const classifier of classifiers) {
      const classes = await classify(classifier.session, detector.crops);
      const key = `${detector.figures.name}|${classifier.figures.name}`;
      accuracyByPath[key] = shareOf(
        detector.matches,
        ({ classIndex, crop }) => crop >= 0 && classes[crop] === classIndex,
      );
    }
  }
  return accuracyByPath;
}

function describeDetect(opened) {
  return {
    input: { name: "scene", type: "uint8", shape: ["rows", 1, SCENE_SIDE, SCENE_SIDE] },
    outputs: [
      { name: "crops", type: "uint8", shape: ["crops", 1, CROP_SIDE, CROP_SIDE] },
      { name: "crop_count", type: "int64", shape: ["rows"] },
      { name: "boxes", type: "float32", shape: ["crops", 3] },
    ],
    variants: opened.map(({ figures }) => figures),
  };
}

function describeIdentify(opened) {
  return {
    input: { name: "crop", type: "uint8", shape: ["rows", 1, CROP_SIDE, CROP_SIDE] },
    output: { name: "logits", type: "float32", shape: ["rows", CLASS_NAMES.length] },
    variants: opened.map(({ figures }) => figures),
  };
}
