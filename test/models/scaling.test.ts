import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { InferenceSession } from "onnxruntime-node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { themisMistakes } from "../../compiler/methods/themis/solve/mistakes.ts";
import { loadApplication } from "../../compiler/spec/load-application.ts";
import { clearestOf } from "../../lab/models/scaling/clearest.ts";
import { type Figures, figuresOf, find } from "../../lab/models/scaling/measure.ts";
import {
  CLASS_NAMES,
  CROP_BYTES,
  CROP_SIDE,
  drawScenes,
  HELD_OUT_COUNT,
  HELD_OUT_SEED,
  SCENE_BYTES,
} from "../../lab/models/scenes/dataset.ts";
import { propose } from "../../lab/models/scenes/measure.ts";
import { ofMethod } from "../support/of-method.ts";

type Model = {
  name: string;
  file: string;
  sha256: string;
  bytes: number;
  source: { file: string; sha256: string };
};
type Manifest = { heldOut: Figures & { seed: number; count: number }; models: Model[] };

const folder = new URL("../../models/scaling/", import.meta.url);
const manifest: Manifest = JSON.parse(readFileSync(new URL("models.json", folder), "utf8"));
const { heldOut, models } = manifest;
const sha256 = (content: Uint8Array): string => createHash("sha256").update(content).digest("hex");
const read = (file: string): Buffer => readFileSync(new URL(file, folder));
const [finderModel, namerModel] = models;
if (finderModel === undefined || namerModel === undefined) throw new Error("two models");

/** Held-out scenes that what the models answer is measured on again. */
const SUBSET_COUNT = 60;
const subset = drawScenes(HELD_OUT_SEED, SUBSET_COUNT);

/** Four standard deviations of a share of the subset, drawn without replacement. */
const tolerance = (share: number): number =>
  4 * Math.sqrt(share * (1 - share) * (1 / SUBSET_COUNT - 1 / HELD_OUT_COUNT));

describe("models.json", () => {
  test("names every model file, and the scenes they were measured with", () => {
    const files = readdirSync(folder).filter((file) => file.endsWith(".onnx"));
    expect(models.map(({ file }) => file).sort()).toEqual(files.sort());
    expect(manifest).toMatchObject({
      task: "scaling",
      classes: CLASS_NAMES,
      heldOut: { seed: HELD_OUT_SEED, count: HELD_OUT_COUNT },
    });
  });

  test.each(models)("describes the file of $name and the model it was made of", (model) => {
    const content = read(model.file);
    expect(content.length).toBe(model.bytes);
    expect(sha256(content)).toBe(model.sha256);
    expect(sha256(read(model.source.file))).toBe(model.source.sha256);
  });
});

describe("the models", () => {
  const sessions: InferenceSession[] = [];
  const open = async (content: Uint8Array): Promise<InferenceSession> => {
    const session = await InferenceSession.create(content, { intraOpNumThreads: 1 });
    sessions.push(session);
    return session;
  };
  let finder: InferenceSession;
  let namer: InferenceSession;
  let detector: InferenceSession;
  beforeAll(async () => {
    finder = await open(read(finderModel.file));
    namer = await open(read(namerModel.file));
    detector = await open(read(finderModel.source.file));
  });
  afterAll(async () => {
    for (const session of sessions) await session.release();
  });

  test("take scenes, and the finder gives what the namer takes", () => {
    const crop = { type: "uint8", shape: ["rows", 1, CROP_SIDE, CROP_SIDE] };
    expect(finder.outputMetadata).toMatchObject([
      { name: "found", type: "int64", shape: ["rows"] },
      { name: "letter", ...crop },
      { name: "place", type: "float32", shape: ["rows", 3] },
    ]);
    expect(namer.inputMetadata).toMatchObject([{ name: "crop", ...crop }]);
  });

  test("are the networks they were made of, to the byte", () => {
    expect(sha256(clearestOf(read(finderModel.source.file), CROP_SIDE))).toBe(finderModel.sha256);
    expect(namerModel.sha256).toBe(namerModel.source.sha256);
  });

  test("find of each scene the crop that the detector is surest of", async () => {
    const { crops, boxesByScene } = await propose(detector, subset.pixels);
    const findings = await find(finder, subset.pixels);
    let start = 0;
    for (const [scene, boxes] of boxesByScene.entries()) {
      const surest = Math.max(...boxes.map(({ score }) => score));
      const chosen = boxes.findIndex(({ score }) => score === surest);
      const first = CROP_BYTES * (start + chosen);
      expect(findings[scene]?.found).toBe(true);
      expect(findings[scene]?.place).toEqual(boxes[chosen]);
      expect(findings[scene]?.letter).toEqual(
        Uint8Array.from(crops.subarray(first, first + CROP_BYTES)),
      );
      start += boxes.length;
    }
    expect(findings).toHaveLength(SUBSET_COUNT);
  });

  test("find nothing in a blank scene, and the same in the others of its batch", async () => {
    const blank = new Uint8Array(SCENE_BYTES);
    const [nothing] = await find(finder, blank);
    const none = {
      found: false,
      letter: new Uint8Array(CROP_BYTES),
      place: { x: 0, y: 0, score: 0 },
    };
    expect(nothing).toEqual(none);
    const scene = subset.pixels.subarray(0, SCENE_BYTES);
    const [alone] = await find(finder, scene);
    const both = await find(finder, Uint8Array.from([...blank, ...scene, ...blank]));
    expect(both).toEqual([none, alone, none]);
  });

  test("are as often right as models.json says", async () => {
    const figures = await figuresOf(finder, namer, subset);
    for (const name of ["foundShare", "shownShare", "accuracy"] as const) {
      expect(Math.abs(figures[name] - heldOut[name])).toBeLessThanOrEqual(tolerance(heldOut[name]));
    }
  });
});

describe("the application that serves them", () => {
  const path = fileURLToPath(new URL("../../policies/scaling/app.yaml", import.meta.url));
  const { application } = loadApplication(path);
  const [finder, namer] = application.tasks.map(({ variants }) => variants[0]);

  test("has the accuracies that were measured, and nothing that Themis refuses", () => {
    expect(finder?.accuracy).toBe(heldOut.shownShare);
    expect(namer?.accuracy).toBe(heldOut.accuracy);
    expect([...themisMistakes(ofMethod("themis", application))]).toEqual([]);
  });

  test("has latencies that were measured on one core and on two", () => {
    for (const variant of [finder, namer]) {
      const byCores = variant?.profile.byCores ?? [];
      expect(byCores.map(({ cores }) => cores)).toEqual([1, 2]);
      for (const { rows } of byCores) {
        expect(rows.map(({ batch }) => batch)).toEqual([1, 2, 4, 8]);
        expect(rows.every(({ quantiles }) => quantiles !== null)).toBe(true);
      }
    }
  });
});
