import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { InferenceSession, Tensor } from "onnxruntime-node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { loadApplication } from "../../compiler/spec/load-application.ts";
import { shareOf } from "../../lab/answers.ts";
import {
  CALIBRATION_COUNT,
  CALIBRATION_SEED,
  CLASS_NAMES,
  CROP_BYTES,
  CROP_SIDE,
  cutCrop,
  drawScene,
  drawScenes,
  HELD_OUT_COUNT,
  HELD_OUT_SEED,
  SCENE_BYTES,
  SCENE_SIDE,
  TRAIN_COUNT,
  TRAIN_SEED,
} from "../../lab/models/scenes/dataset.ts";
import {
  type Box,
  classify,
  cutTrueCrops,
  MATCH_DISTANCE,
  matchCrops,
  propose,
} from "../../lab/models/scenes/measure.ts";

type Variant = { name: string; file: string; sha256: string; bytes: number; parameters: number };
type Detector = Variant & { recall: number; precision: number; cropsPerScene: number };
type Classifier = Variant & { accuracy: number };
type Manifest = {
  heldOut: { objects: number };
  tasks: { detect: { variants: Detector[] }; identify: { variants: Classifier[] } };
  accuracyByPath: Record<string, number>;
};

const folder = new URL("../../models/scenes/", import.meta.url);
const manifest: Manifest = JSON.parse(readFileSync(new URL("models.json", folder), "utf8"));
const detectors = manifest.tasks.detect.variants;
const classifiers = manifest.tasks.identify.variants;
const sha256 = (content: Uint8Array): string => createHash("sha256").update(content).digest("hex");
const sessionByName = new Map<string, InferenceSession>();
const sessionOf = (name: string): InferenceSession => {
  const session = sessionByName.get(name);
  if (session === undefined) throw new Error(`no session of ${name}`);
  return session;
};

/** Held-out scenes the figures are measured on again. */
const SUBSET_COUNT = 50;
const subset = drawScenes(HELD_OUT_SEED, SUBSET_COUNT);

/**
 * How far a share of a subset may be from that of the whole set: four standard deviations of a
 * binomial share of `subsetSize` draws, without replacement, from `size`.
 */
const toleranceOf = (share: number, subsetSize: number, size: number): number =>
  4 * Math.sqrt(share * (1 - share) * (1 / subsetSize - 1 / size));

beforeAll(async () => {
  for (const { name, file } of [...detectors, ...classifiers]) {
    const content = readFileSync(new URL(file, folder));
    sessionByName.set(name, await InferenceSession.create(content, { intraOpNumThreads: 1 }));
  }
});
afterAll(async () => {
  for (const session of sessionByName.values()) await session.release();
});

describe("the generator", () => {
  test("draws the same held-out scenes on every machine", () => {
    const { pixels, objectsByScene } = drawScenes(HELD_OUT_SEED, 10);
    const letters = objectsByScene.map((objects) =>
      objects.map(({ classIndex }) => CLASS_NAMES[classIndex]).join(""),
    );
    expect(letters.join(" ")).toBe(
      "RFKACPA APGPAG KHRP HMAXX PSEFXGES PPE PAHHFX HSKEMK ESGC EGMPHMAP",
    );
    const places = objectsByScene.flat().flatMap(({ x, y }) => [x, y]);
    expect(sha256(new Uint8Array(Float64Array.from(places).buffer))).toBe(
      "4e1c575b296e0e2ebf86b17a3f3eeeee73fbfa6d55d5b1838b09e222929dda13",
    );
    expect(sha256(pixels)).toBe("5e5ffcb0aa8dc09e75287f33682c48f46664f33bdeadd8b703b00eeafd0d4efe");
  });

  test("draws a scene from its seed and index alone", () => {
    const alone = new Uint8Array(SCENE_BYTES).fill(255);
    expect(drawScene(HELD_OUT_SEED, 7, alone)).toEqual(subset.objectsByScene[7]);
    expect(alone).toEqual(subset.pixels.slice(7 * SCENE_BYTES, 8 * SCENE_BYTES));
  });

  test("draws other scenes for another seed", () => {
    const hashes = [TRAIN_SEED, CALIBRATION_SEED, HELD_OUT_SEED].flatMap((seed) => {
      const { pixels } = drawScenes(seed, 30);
      return Array.from({ length: 30 }, (_, i) =>
        sha256(pixels.subarray(i * SCENE_BYTES, (i + 1) * SCENE_BYTES)),
      );
    });
    expect(new Set(hashes).size).toBe(90);
  });

  test("puts at most 8 letters in a scene, none nearer than 29 pixels to another", () => {
    for (const objects of subset.objectsByScene) {
      expect(objects.length).toBeGreaterThanOrEqual(1);
      expect(objects.length).toBeLessThanOrEqual(8);
      for (const [i, a] of objects.entries()) {
        for (const b of objects.slice(0, i)) {
          expect(Math.hypot(a.x - b.x, a.y - b.y)).toBeGreaterThanOrEqual(29);
        }
      }
    }
  });
});

describe("models.json", () => {
  test("names every model file and the sets it was made with", () => {
    const files = readdirSync(folder).filter((file) => file.endsWith(".onnx"));
    expect([...detectors, ...classifiers].map(({ file }) => file).sort()).toEqual(files.sort());
    expect(manifest).toMatchObject({
      task: "scenes",
      tasks: {
        detect: {
          input: { name: "scene", type: "uint8", shape: ["rows", 1, SCENE_SIDE, SCENE_SIDE] },
          outputs: [
            { name: "crops", type: "uint8", shape: ["crops", 1, CROP_SIDE, CROP_SIDE] },
            { name: "crop_count", type: "int64", shape: ["rows"] },
            { name: "boxes", type: "float32", shape: ["crops", 3] },
          ],
        },
        identify: {
          input: { name: "crop", type: "uint8", shape: ["rows", 1, CROP_SIDE, CROP_SIDE] },
          output: { name: "logits", type: "float32", shape: ["rows", CLASS_NAMES.length] },
        },
      },
      classes: CLASS_NAMES,
      matchDistancePixels: MATCH_DISTANCE,
      training: { seed: TRAIN_SEED, count: TRAIN_COUNT },
      calibration: { seed: CALIBRATION_SEED, count: CALIBRATION_COUNT },
      heldOut: { seed: HELD_OUT_SEED, count: HELD_OUT_COUNT },
    });
  });

  test("has an accuracy for every path, never above the detector's recall", () => {
    const paths = detectors.flatMap((detector) =>
      classifiers.map((classifier) => `${detector.name}|${classifier.name}`),
    );
    expect(Object.keys(manifest.accuracyByPath)).toEqual(paths);
    for (const { name, recall } of detectors) {
      for (const classifier of classifiers) {
        expect(manifest.accuracyByPath[`${name}|${classifier.name}`]).toBeLessThan(recall);
      }
    }
  });

  test("describes detectors: a weaker one finds fewer letters and crops", () => {
    const falling = (values: number[]): number[] => [...values].sort((a, b) => a - b);
    const recalls = detectors.map(({ recall }) => recall);
    const crops = detectors.map(({ cropsPerScene }) => cropsPerScene);
    expect(recalls).toEqual(falling(recalls));
    expect(crops).toEqual(falling(crops));
    expect(Math.max(...recalls) - Math.min(...recalls)).toBeGreaterThan(0.15);
  });
});

describe.each([...detectors, ...classifiers])("variant $name", (variant) => {
  test("is the file models.json describes", () => {
    const content = readFileSync(new URL(variant.file, folder));
    expect(content.length).toBe(variant.bytes);
    expect(sha256(content)).toBe(variant.sha256);
  });
});

describe.each(detectors)("detector $name", (detector) => {
  test("takes scenes and gives crops, their number per row and their places", () => {
    const { inputMetadata, outputMetadata } = sessionOf(detector.name);
    expect(inputMetadata).toMatchObject([
      { name: "scene", type: "uint8", shape: ["rows", 1, SCENE_SIDE, SCENE_SIDE] },
    ]);
    expect(outputMetadata.map(({ name }) => name)).toEqual(["crops", "crop_count", "boxes"]);
    expect(outputMetadata.map((value) => (value.isTensor ? value.type : ""))).toEqual([
      "uint8",
      "int64",
      "float32",
    ]);
  });

  test("gives tensors of the documented shapes, also for scenes without crops", async () => {
    const blank = new Uint8Array(SCENE_BYTES).fill(90);
    const mixed = Buffer.concat([blank, subset.pixels.subarray(0, SCENE_BYTES), blank]);
    for (const pixels of [blank, Buffer.concat([blank, blank]), mixed]) {
      const rows = pixels.length / SCENE_BYTES;
      const scene = new Tensor("uint8", pixels, [rows, 1, SCENE_SIDE, SCENE_SIDE]);
      const { crops, crop_count, boxes } = await sessionOf(detector.name).run({ scene });
      const counts = Array.from(crop_count?.data as BigInt64Array, Number);
      const total = counts.reduce((sum, count) => sum + count, 0);
      expect(crop_count?.dims).toEqual([rows]);
      expect(crops?.dims).toEqual([total, 1, CROP_SIDE, CROP_SIDE]);
      expect(boxes?.dims).toEqual([total, 3]);
      expect(counts[0]).toBe(0);
      expect(counts[rows - 1]).toBe(0);
      expect(total > 0).toBe(rows === 3);
    }
  });

  test("answers a scene in a batch as it answers it alone", async () => {
    const count = 6;
    const session = sessionOf(detector.name);
    const together = await propose(session, subset.pixels.subarray(0, count * SCENE_BYTES));
    const crops: Uint8Array[] = [];
    const boxesByScene: Box[][] = [];
    for (let i = 0; i < count; i++) {
      const pixels = subset.pixels.subarray(i * SCENE_BYTES, (i + 1) * SCENE_BYTES);
      const alone = await propose(session, pixels);
      crops.push(alone.crops);
      boxesByScene.push(...alone.boxesByScene);
    }
    const counts = boxesByScene.map((boxes) => boxes.length);
    expect(together.boxesByScene.map((boxes) => boxes.length)).toEqual(counts);
    expect(sha256(together.crops)).toBe(sha256(Buffer.concat(crops)));
    const gaps = together.boxesByScene.flatMap((boxes, scene) =>
      boxes.map(({ x, y, score }, i) => {
        const alone = boxesByScene[scene]?.[i] ?? { x: Number.NaN, y: 0, score: 0 };
        return Math.max(
          Math.abs(x - alone.x),
          Math.abs(y - alone.y),
          Math.abs(score - alone.score),
        );
      }),
    );
    // Places of up to 128 pixels in float32: an error of 1e-6 of that, a hundred times over.
    expect(Math.max(...gaps)).toBeLessThanOrEqual(0.0128);
  });

  test("cuts each crop around the place it gives", async () => {
    const pixels = subset.pixels.subarray(0, 6 * SCENE_BYTES);
    const { crops, boxesByScene } = await propose(sessionOf(detector.name), pixels);
    const expected = boxesByScene.flatMap((boxes, scene) =>
      boxes.map(({ x, y }) => {
        const crop = new Uint8Array(CROP_BYTES);
        cutCrop(pixels.subarray(scene * SCENE_BYTES, (scene + 1) * SCENE_BYTES), x, y, crop);
        return crop;
      }),
    );
    expect(expected.length).toBeGreaterThan(0);
    expect(sha256(crops)).toBe(sha256(Buffer.concat(expected)));
  });
});

describe.each(classifiers)("classifier $name", (classifier) => {
  test("takes crops and gives one logit per class", () => {
    const { inputMetadata, outputMetadata } = sessionOf(classifier.name);
    expect(inputMetadata).toMatchObject([
      { name: "crop", type: "uint8", shape: ["rows", 1, CROP_SIDE, CROP_SIDE] },
    ]);
    expect(outputMetadata).toMatchObject([
      { name: "logits", type: "float32", shape: ["rows", CLASS_NAMES.length] },
    ]);
  });

  test("answers a crop in a batch as it answers it alone", async () => {
    const { crops } = cutTrueCrops(subset.pixels, subset.objectsByScene.slice(0, 2));
    const rows = crops.length / CROP_BYTES;
    const logitsOf = async (bytes: Uint8Array): Promise<number[]> => {
      const shape = [bytes.length / CROP_BYTES, 1, CROP_SIDE, CROP_SIDE];
      const crop = new Tensor("uint8", bytes, shape);
      const { logits } = await sessionOf(classifier.name).run({ crop });
      if (!(logits?.data instanceof Float32Array)) throw new Error("logits are not float32");
      return [...logits.data];
    };
    const together = await logitsOf(crops);
    const alone: number[] = [];
    for (let i = 0; i < rows; i++) {
      alone.push(...(await logitsOf(crops.slice(i * CROP_BYTES, (i + 1) * CROP_BYTES))));
    }
    expect(alone.length).toBe(rows * CLASS_NAMES.length);
    const gaps = alone.map((logit, i) => Math.abs(logit - (together[i] ?? Number.NaN)));
    expect(Math.max(...gaps)).toBeLessThanOrEqual(1e-4);
  });

  test("is as accurate on the first held-out letters as models.json says of all", async () => {
    const { crops, classes } = cutTrueCrops(subset.pixels, subset.objectsByScene);
    const named = await classify(sessionOf(classifier.name), crops);
    const accuracy = shareOf(named, (classIndex, i) => classIndex === classes[i]);
    const tolerance = toleranceOf(classifier.accuracy, classes.length, manifest.heldOut.objects);
    expect(Math.abs(accuracy - classifier.accuracy)).toBeLessThanOrEqual(tolerance);
  });
});

describe("the pipeline on the first held-out scenes", () => {
  test("finds, misses and names as models.json says of all, whatever the path", async () => {
    const foundCounts: number[] = [];
    for (const detector of detectors) {
      const { crops, boxesByScene } = await propose(sessionOf(detector.name), subset.pixels);
      const matches = matchCrops(subset.objectsByScene, boxesByScene);
      const found = matches.filter(({ crop }) => crop >= 0);
      foundCounts.push(found.length);
      const size = manifest.heldOut.objects;
      const near = (measured: number, stated: number, count: number, of: number): void =>
        expect(Math.abs(measured - stated)).toBeLessThanOrEqual(toleranceOf(stated, count, of));
      near(found.length / matches.length, detector.recall, matches.length, size);
      const cropCounts = boxesByScene.map((boxes) => boxes.length);
      const cropCount = cropCounts.reduce((sum, count) => sum + count, 0);
      const cropTotal = detector.cropsPerScene * HELD_OUT_COUNT;
      near(found.length / cropCount, detector.precision, cropCount, cropTotal);
      expect(Math.abs(cropCount / SUBSET_COUNT - detector.cropsPerScene)).toBeLessThanOrEqual(
        4 * deviationOf(cropCounts) * Math.sqrt(1 / SUBSET_COUNT - 1 / HELD_OUT_COUNT),
      );
      for (const classifier of classifiers) {
        const named = await classify(sessionOf(classifier.name), crops);
        const accuracy = shareOf(
          matches,
          ({ classIndex, crop }) => crop >= 0 && named[crop] === classIndex,
        );
        const stated = manifest.accuracyByPath[`${detector.name}|${classifier.name}`] ?? Number.NaN;
        near(accuracy, stated, matches.length, size);
      }
    }
    expect(foundCounts).toEqual([...foundCounts].sort((a, b) => a - b));
    expect(new Set(foundCounts).size).toBe(foundCounts.length);
  });
});

test("the application in policies/scenes states what was measured", () => {
  const { application } = loadApplication("policies/scenes/app.yaml");
  const near = (stated: number | undefined, measured: number | undefined): void =>
    expect(Math.abs((stated ?? Number.NaN) - (measured ?? Number.NaN))).toBeLessThan(1e-4);
  const [detect, identify] = application.tasks;
  expect(detect?.variants.map(({ name }) => name)).toEqual(detectors.map(({ name }) => name));
  for (const { name, accuracy, fanout } of detect?.variants ?? []) {
    const detector = detectors.find((candidate) => candidate.name === name);
    near(accuracy, detector?.recall);
    expect(fanout).toBe(detector?.cropsPerScene);
  }
  for (const { name, accuracy } of identify?.variants ?? []) {
    near(accuracy, classifiers.find((candidate) => candidate.name === name)?.accuracy);
  }
  const { policy } = application;
  if (policy.method !== "loki" || policy.accuracyOf.kind !== "table") expect.fail("no table");
  for (const [path, accuracy] of Object.entries(policy.accuracyOf.accuracyByPath)) {
    near(accuracy, manifest.accuracyByPath[path]);
  }
});

function deviationOf(values: readonly number[]): number {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return Math.sqrt(squares / (values.length - 1));
}
