/**
 * Measures detectors, classifiers and every pair of them on the held-out scenes and rewrites
 * models.json beside them. Usage: node dist/lab/models/scenes/evaluate.js [MODEL_FOLDER]
 */
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { InferenceSession } from "onnxruntime-node";
import { shareOf } from "../../answers.ts";
import { countParameters } from "../image-classification/onnx-parameters.ts";
import { fileFields, writeModels } from "../model-files.ts";
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
} from "./dataset.ts";
import { classify, cutTrueCrops, MATCH_DISTANCE, matchCrops, propose } from "./measure.ts";

const folder = process.argv[2] ?? path.join("models", "scenes");
const { pixels, objectsByScene } = drawScenes(HELD_OUT_SEED, HELD_OUT_COUNT);
const trueCrops = cutTrueCrops(pixels, objectsByScene);

const files = readdirSync(folder).filter((name) => name.endsWith(".onnx"));
const detectors: Awaited<ReturnType<typeof measuredDetector>>[] = [];
const classifiers: Awaited<ReturnType<typeof measuredClassifier>>[] = [];
for (const file of files) {
  if (file.startsWith("detector-")) detectors.push(await measuredDetector(file));
  else classifiers.push(await measuredClassifier(file));
}
detectors.sort((a, b) => a.figures.recall - b.figures.recall);
classifiers.sort((a, b) => a.figures.accuracy - b.figures.accuracy);
const scene = { name: "scene", type: "uint8", shape: ["rows", 1, SCENE_SIDE, SCENE_SIDE] };
const document = {
  task: "scenes",
  tasks: {
    detect: {
      input: scene,
      outputs: [
        { name: "crops", type: "uint8", shape: ["crops", 1, CROP_SIDE, CROP_SIDE] },
        { name: "crop_count", type: "int64", shape: ["rows"] },
        { name: "boxes", type: "float32", shape: ["crops", 3] },
      ],
      variants: detectors.map(({ figures }) => figures),
    },
    identify: {
      input: { name: "crop", type: "uint8", shape: ["rows", 1, CROP_SIDE, CROP_SIDE] },
      output: { name: "logits", type: "float32", shape: ["rows", CLASS_NAMES.length] },
      variants: classifiers.map(({ figures }) => figures),
    },
  },
  classes: CLASS_NAMES,
  matchDistancePixels: MATCH_DISTANCE,
  training: { seed: TRAIN_SEED, count: TRAIN_COUNT },
  calibration: { seed: CALIBRATION_SEED, count: CALIBRATION_COUNT },
  heldOut: { seed: HELD_OUT_SEED, count: HELD_OUT_COUNT, objects: trueCrops.classes.length },
  accuracyByPath: await measurePaths(),
};
writeModels(folder, [], document);
console.table(document.tasks.detect.variants, ["name", "recall", "precision", "cropsPerScene"]);
console.table(document.tasks.identify.variants, ["name", "parameters", "bytes", "accuracy"]);
console.table(document.accuracyByPath);

async function opened(file: string) {
  const content = readFileSync(path.join(folder, file));
  const session = await InferenceSession.create(content, { intraOpNumThreads: 1 });
  const fields = { ...fileFields({ file, content }), parameters: countParameters(content) };
  return { session, fields };
}

/** What it proposed, and its figures. */
async function measuredDetector(file: string) {
  const { session, fields } = await opened(file);
  const { crops, boxesByScene } = await propose(session, pixels);
  const matches = matchCrops(objectsByScene, boxesByScene);
  const cropCount = boxesByScene.flat().length;
  const foundCount = matches.filter(({ crop }) => crop >= 0).length;
  const figures = {
    ...fields,
    recall: foundCount / matches.length,
    precision: foundCount / cropCount,
    cropsPerScene: cropCount / HELD_OUT_COUNT,
  };
  return { crops, matches, figures };
}

/** Its accuracy is that on the crops around the letters' true centres. */
async function measuredClassifier(file: string) {
  const { session, fields } = await opened(file);
  const classes = await classify(session, trueCrops.crops);
  const accuracy = shareOf(classes, (named, i) => named === trueCrops.classes[i]);
  return { session, figures: { ...fields, accuracy } };
}

/** Share of the letters that the detector found and the classifier then named, by path. */
async function measurePaths(): Promise<Record<string, number>> {
  const accuracyByPath: Record<string, number> = {};
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
