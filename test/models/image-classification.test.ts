import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { InferenceSession, Tensor } from "onnxruntime-node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  CLASS_NAMES,
  drawImage,
  drawImages,
  HELD_OUT_COUNT,
  HELD_OUT_SEED,
  IMAGE_BYTES,
  TRAIN_COUNT,
  TRAIN_SEED,
} from "../../lab/models/image-classification/dataset.ts";

type Variant = {
  name: string;
  file: string;
  sha256: string;
  bytes: number;
  parameters: number;
  accuracy: number;
  accuracyFirst300: number;
};

const folder = new URL("../../models/image-classification/", import.meta.url);
const manifest: { variants: Variant[] } & Record<string, unknown> = JSON.parse(
  readFileSync(new URL("models.json", folder), "utf8"),
);
const sha256 = (content: Uint8Array): string => createHash("sha256").update(content).digest("hex");

describe("the generator", () => {
  test("draws the same held-out images on every machine", () => {
    const { pixels, labels } = drawImages(HELD_OUT_SEED, 20);
    expect([...labels].map((label) => CLASS_NAMES[label]).join("")).toBe("CZFKRHKTVVUTESXCOJHU");
    expect(sha256(pixels)).toBe("d11d897aea31beecddd1a06408e0b2414b915fb5d5ee5a8f0a34a7901497b3d9");
  });

  test("draws an image from its seed and index alone", () => {
    const { pixels, labels } = drawImages(HELD_OUT_SEED, 8);
    const alone = new Uint8Array(IMAGE_BYTES).fill(255);
    expect(drawImage(HELD_OUT_SEED, 7, alone)).toBe(labels[7]);
    expect(alone).toEqual(pixels.slice(7 * IMAGE_BYTES));
  });

  test("draws other images for another seed, and every class about as often", () => {
    const count = 1000;
    const training = drawImages(TRAIN_SEED, count);
    const heldOut = drawImages(HELD_OUT_SEED, count);
    const hashes = [training, heldOut].flatMap(({ pixels }) =>
      Array.from({ length: count }, (_, i) =>
        sha256(pixels.subarray(i * IMAGE_BYTES, (i + 1) * IMAGE_BYTES)),
      ),
    );
    expect(new Set(hashes).size).toBe(2 * count);
    const countByClass = CLASS_NAMES.map(
      (_, classIndex) => heldOut.labels.filter((label) => label === classIndex).length,
    );
    // 1,000 draws of 1 in 20: mean 50, standard deviation 6.9; five deviations either way.
    expect(Math.min(...countByClass)).toBeGreaterThan(50 - 35);
    expect(Math.max(...countByClass)).toBeLessThan(50 + 35);
  });
});

describe("models.json", () => {
  test("names every model file and the sets it was made with", () => {
    const files = readdirSync(folder).filter((file) => file.endsWith(".onnx"));
    expect(manifest.variants.map(({ file }) => file).sort()).toEqual(files.sort());
    expect(manifest).toMatchObject({
      task: "image-classification",
      input: { name: "pixels", type: "uint8", shape: ["batch", IMAGE_BYTES] },
      output: { name: "logits", type: "float32", shape: ["batch", CLASS_NAMES.length] },
      classes: CLASS_NAMES,
      training: { seed: TRAIN_SEED, count: TRAIN_COUNT },
      heldOut: { seed: HELD_OUT_SEED, count: HELD_OUT_COUNT },
    });
  });

  test("offers a ladder of accuracies: distinct, from under 0.75 to over 0.95", () => {
    const accuracies = manifest.variants.map(({ accuracy }) => accuracy);
    expect(new Set(accuracies).size).toBe(accuracies.length);
    expect(Math.min(...accuracies)).toBeLessThan(0.75);
    expect(Math.max(...accuracies)).toBeGreaterThan(0.95);
  });
});

describe.each(manifest.variants)("variant $name", (variant) => {
  const content = readFileSync(new URL(variant.file, folder));
  let session: InferenceSession;
  beforeAll(async () => {
    session = await InferenceSession.create(content, { intraOpNumThreads: 1 });
  });
  afterAll(() => session.release());

  async function logitsOf(pixels: Uint8Array): Promise<Float32Array> {
    const input = new Tensor("uint8", pixels, [pixels.length / IMAGE_BYTES, IMAGE_BYTES]);
    const { logits } = await session.run({ pixels: input });
    if (!(logits?.data instanceof Float32Array)) throw new Error("logits are not float32");
    return logits.data;
  }

  test("is the file models.json describes", () => {
    expect(content.length).toBe(variant.bytes);
    expect(sha256(content)).toBe(variant.sha256);
  });

  test("takes bytes and gives one logit per class, for any batch", () => {
    expect(session.inputMetadata).toMatchObject([
      { name: "pixels", isTensor: true, type: "uint8", shape: ["batch", IMAGE_BYTES] },
    ]);
    expect(session.outputMetadata).toMatchObject([
      { name: "logits", isTensor: true, type: "float32", shape: ["batch", CLASS_NAMES.length] },
    ]);
  });

  test("answers a batch of three as it answers the three alone", async () => {
    const { pixels } = drawImages(HELD_OUT_SEED, 3);
    const together = await logitsOf(pixels);
    const alone: number[] = [];
    for (let i = 0; i < 3; i++) {
      alone.push(...(await logitsOf(pixels.slice(i * IMAGE_BYTES, (i + 1) * IMAGE_BYTES))));
    }
    expect(alone.length).toBe(together.length);
    const gaps = alone.map((logit, i) => Math.abs(logit - (together[i] ?? Number.NaN)));
    expect(Math.max(...gaps)).toBeLessThanOrEqual(1e-5);
  });

  test("is as accurate on the first 300 held-out images as models.json says", async () => {
    const { pixels, labels } = drawImages(HELD_OUT_SEED, 300);
    const logits = await logitsOf(pixels);
    let correctCount = 0;
    for (let i = 0; i < 300; i++) {
      const row = logits.subarray(i * CLASS_NAMES.length, (i + 1) * CLASS_NAMES.length);
      if (row.indexOf(Math.max(...row)) === labels[i]) correctCount += 1;
    }
    expect(correctCount / 300).toBe(variant.accuracyFirst300);
  });
});
