import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { InferenceSession, Tensor } from "onnxruntime-node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { loadApplication } from "../../compiler/spec/load-application.ts";
import { classesOf } from "../../lab/answers.ts";
import { gateOf } from "../../lab/models/cascade/gate.ts";
import {
  answersOf,
  CALIBRATION_COUNT,
  CALIBRATION_SEED,
  chooseThreshold,
  confidencesOf,
  type Figures,
  figuresOf,
  LOSS,
} from "../../lab/models/cascade/measure.ts";
import {
  CLASS_NAMES,
  drawImages,
  HELD_OUT_COUNT,
  HELD_OUT_SEED,
  IMAGE_BYTES,
  TRAIN_SEED,
} from "../../lab/models/image-classification/dataset.ts";

type Model = {
  name: string;
  file: string;
  sha256: string;
  bytes: number;
  source: { file: string; sha256: string };
};
type Manifest = {
  threshold: number;
  heldOut: Figures & { seed: number; count: number };
  models: Model[];
};

const folder = new URL("../../models/cascade/", import.meta.url);
const manifest: Manifest = JSON.parse(readFileSync(new URL("models.json", folder), "utf8"));
const { threshold, heldOut, models } = manifest;
const sha256 = (content: Uint8Array): string => createHash("sha256").update(content).digest("hex");
const read = (file: string): Buffer => readFileSync(new URL(file, folder));
const [gateModel, accurateModel] = models;
if (gateModel === undefined || accurateModel === undefined) throw new Error("two models");

/** Held-out images that what the models answer is measured on again. */
const SUBSET_COUNT = 400;
const subset = drawImages(HELD_OUT_SEED, SUBSET_COUNT);

const tolerance = (share: number, subsetSize: number, size: number): number =>
  4 * Math.sqrt(share * (1 - share) * (1 / subsetSize - 1 / size));

describe("models.json", () => {
  test("names every model file, what it was made of and the images it was measured with", () => {
    const files = readdirSync(folder).filter((file) => file.endsWith(".onnx"));
    expect(models.map(({ file }) => file).sort()).toEqual(files.sort());
    expect(manifest).toMatchObject({
      task: "cascade",
      input: { name: "pixels", type: "uint8", shape: ["batch", IMAGE_BYTES] },
      classes: CLASS_NAMES,
      calibration: { seed: CALIBRATION_SEED, count: CALIBRATION_COUNT, loss: LOSS },
      heldOut: { seed: HELD_OUT_SEED, count: HELD_OUT_COUNT },
    });
    expect(new Set([TRAIN_SEED, CALIBRATION_SEED, HELD_OUT_SEED]).size).toBe(3);
  });

  test.each(models)("describes the file of $name and the model it was made of", (model) => {
    const content = read(model.file);
    expect(content.length).toBe(model.bytes);
    expect(sha256(content)).toBe(model.sha256);
    expect(sha256(read(model.source.file))).toBe(model.source.sha256);
  });

  test("has an accuracy of the cascade that its parts add up to", () => {
    const { escalatedShare, gate, accurate, accuracy } = heldOut;
    const parts = (1 - escalatedShare) * gate.accuracyOfKept;
    expect(parts + escalatedShare * accurate.accuracyOfEscalated).toBeCloseTo(accuracy, 12);
    expect(accuracy).toBeGreaterThan(gate.accuracyAlone);
  });
});

describe("the models", () => {
  const sessions: InferenceSession[] = [];
  const open = async (content: Uint8Array): Promise<InferenceSession> => {
    const session = await InferenceSession.create(content, { intraOpNumThreads: 1 });
    sessions.push(session);
    return session;
  };
  let gate: InferenceSession;
  let accurate: InferenceSession;
  beforeAll(async () => {
    gate = await open(read(gateModel.file));
    accurate = await open(read(accurateModel.file));
  });
  afterAll(async () => {
    for (const session of sessions) await session.release();
  });

  test("take images, and the gate gives what the accurate model takes", () => {
    const logits = { name: "logits", type: "float32", shape: ["batch", CLASS_NAMES.length] };
    const pixels = { type: "uint8", shape: ["batch", IMAGE_BYTES] };
    expect(gate.inputMetadata).toMatchObject([{ name: "pixels", ...pixels }]);
    expect(gate.outputMetadata).toMatchObject([
      logits,
      { name: "escalate", type: "int64", shape: ["batch"] },
      { name: "image", ...pixels },
    ]);
    expect(accurate.inputMetadata).toMatchObject([{ name: "pixels", ...pixels }]);
    expect(accurate.outputMetadata).toMatchObject([logits]);
  });

  test("are the classifiers they were made of, to the byte", () => {
    const written = gateOf(read(gateModel.source.file), threshold, IMAGE_BYTES);
    expect(sha256(written)).toBe(gateModel.sha256);
    expect(accurateModel.sha256).toBe(accurateModel.source.sha256);
  });

  test("answer with the logits of the original classifier, to the bit", async () => {
    const original = await answersOf(read(gateModel.source.file), subset.pixels);
    const { logits } = await answersOf(read(gateModel.file), subset.pixels);
    expect(logits).toHaveLength(SUBSET_COUNT * CLASS_NAMES.length);
    expect(logits).toEqual(original.logits);
  });

  test("escalate what the original is less sure of than the threshold", async () => {
    const original = await answersOf(read(gateModel.source.file), subset.pixels);
    const { escalate } = await answersOf(read(gateModel.file), subset.pixels);
    const confidences = confidencesOf(original.logits);
    // Nearer than a float32 tells apart, the graph may decide either way.
    const isClear = confidences.map((confidence) => Math.abs(confidence - threshold) > 1e-5);
    const clear = <T>(list: readonly T[]) => list.filter((_, image) => isClear[image]);
    const expected = confidences.map((confidence) => (confidence < threshold ? 1 : 0));
    expect(clear(escalate ?? [])).toEqual(clear(expected));
    expect(clear(expected).length).toBeGreaterThan(SUBSET_COUNT - 5);
    expect(new Set(escalate)).toEqual(new Set([0, 1]));
  });

  test("hand the image on as it came, in a batch as alone, and decide on it alone", async () => {
    const rows = 6;
    const run = async (first: number, count: number) => {
      const bytes = subset.pixels.slice(first * IMAGE_BYTES, (first + count) * IMAGE_BYTES);
      const { image, escalate } = await gate.run({
        pixels: new Tensor("uint8", bytes, [count, IMAGE_BYTES]),
      });
      expect(image?.dims).toEqual([count, IMAGE_BYTES]);
      expect(escalate?.dims).toEqual([count]);
      expect(sha256(image?.data as Uint8Array)).toBe(sha256(bytes));
      return Array.from(escalate?.data as BigInt64Array, Number);
    };
    const together = await run(0, rows);
    const alone: number[] = [];
    for (let row = 0; row < rows; row++) alone.push(...(await run(row, 1)));
    expect(together).toEqual(alone);
  });

  test.each([
    { name: "none with a threshold of 0", threshold: 0, escalated: 0 },
    { name: "all with one that no probability reaches", threshold: 1.1, escalated: 50 },
  ])("escalate $name", async ({ threshold: other, escalated }) => {
    const model = gateOf(read(gateModel.source.file), other, IMAGE_BYTES);
    const { escalate } = await answersOf(model, subset.pixels.slice(0, 50 * IMAGE_BYTES));
    expect(escalate?.filter((count) => count === 1)).toHaveLength(escalated);
  });

  test("do on the first held-out images what models.json says of all", async () => {
    const fast = await answersOf(read(gateModel.file), subset.pixels);
    const gateClasses = classesOf(fast.logits, CLASS_NAMES.length);
    const accurateClasses = classesOf(
      (await answersOf(read(accurateModel.file), subset.pixels)).logits,
      CLASS_NAMES.length,
    );
    const measured = figuresOf(
      (fast.escalate ?? []).map((count, image) => ({
        isEscalated: count === 1,
        isGateRight: gateClasses[image] === subset.labels[image],
        isAccurateRight: accurateClasses[image] === subset.labels[image],
      })),
    );
    const near = (found: number, stated: number, share = 1): void =>
      expect(Math.abs(found - stated)).toBeLessThanOrEqual(
        tolerance(stated, share * SUBSET_COUNT, share * HELD_OUT_COUNT),
      );
    const escalated = heldOut.escalatedShare;
    near(measured.escalatedShare, escalated);
    near(measured.accuracy, heldOut.accuracy);
    near(measured.gate.accuracyAlone, heldOut.gate.accuracyAlone);
    near(measured.accurate.accuracyAlone, heldOut.accurate.accuracyAlone);
    near(measured.gate.accuracyOfKept, heldOut.gate.accuracyOfKept, 1 - escalated);
    near(measured.accurate.accuracyOfEscalated, heldOut.accurate.accuracyOfEscalated, escalated);
  });
});

describe("the threshold", () => {
  const image = (confidence: number, isGateRight: boolean, isAccurateRight: boolean) => ({
    confidence,
    isGateRight,
    isAccurateRight,
  });
  const sure = Array.from({ length: 8 }, () => image(0.995, true, true));

  test("is the lowest with which nothing is lost that the accurate model would have named", () => {
    const images = [...sure, image(0.3, false, true), image(0.605, false, true)];
    expect(chooseThreshold(images)).toBe(0.61);
  });

  test("counts what the gate names better for it", () => {
    const images = [...sure, image(0.5, false, true), image(0.7, true, false)];
    expect(chooseThreshold(images)).toBe(0);
  });

  test("is 0 for a gate as good as the model behind it, and 1 for one that is surely wrong", () => {
    expect(chooseThreshold(sure)).toBe(0);
    expect(chooseThreshold(sure.map(() => image(0.999, false, true)))).toBe(1);
  });
});

test("the application in policies/cascade states what was measured", () => {
  const { application } = loadApplication("policies/cascade/app.yaml");
  const [first, second] = application.tasks;
  const near = (stated: number | undefined, measured: number): void =>
    expect(Math.abs((stated ?? Number.NaN) - measured)).toBeLessThan(1e-4);
  expect(first?.variants.map(({ name }) => name)).toEqual([gateModel.name]);
  expect(second?.variants.map(({ name }) => name)).toEqual([accurateModel.name]);
  expect(first?.to).toMatchObject([{ task: "accurate", count: "escalate" }]);
  near(first?.to[0]?.share ?? undefined, heldOut.escalatedShare);
  near(first?.variants[0]?.accuracy, heldOut.gate.accuracyOfKept);
  // Accuracies multiply along the way.
  const ofBoth = heldOut.accurate.accuracyOfEscalated;
  near(second?.variants[0]?.accuracy, ofBoth / heldOut.gate.accuracyOfKept);
});
