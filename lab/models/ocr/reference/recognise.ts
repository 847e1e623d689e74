/** What a line of text says: PP-OCR's recognisers, called directly. */
import { readFileSync } from "node:fs";
import { type InferenceSession, Tensor } from "onnxruntime-node";
import type { Corners } from "./boxes.ts";
import { type Picture, resized, uprightCut } from "./image.ts";

/** Of all recognisers of PP-OCR since its third version, in pixels. */
const HEIGHT = 48;
/** PaddleOCR widens shorter lines to this. */
const USUAL_WIDTH = 320;

/**
 * "paddle": as wide as the line, at least 320 pixels. A number: as wide as that; longer lines are
 * squeezed into it.
 */
export type LineWidth = "paddle" | number;

/** Characters by class; class 0 is the blank, the last one a space. */
export function readLabels(file: string): string[] {
  // A label may be a space of some kind, so lines are not trimmed.
  const lines = readFileSync(file, "utf8").split(/\r?\n/u);
  if (lines.at(-1) === "") lines.pop();
  return ["", ...lines, " "];
}

/** The text of a box, upright; a box that is much higher than wide is turned by a quarter. */
export function cutLine(page: Picture, corners: Corners): Picture {
  const [topLeft, topRight, bottomRight, bottomLeft] = corners;
  const side = ([ax, ay]: readonly number[], [bx, by]: readonly number[]) =>
    Math.hypot((bx ?? 0) - (ax ?? 0), (by ?? 0) - (ay ?? 0));
  const sides = (a: number, b: number) => Math.max(1, Math.floor(Math.max(a, b)));
  const width = sides(side(topLeft, topRight), side(bottomLeft, bottomRight));
  const height = sides(side(topLeft, bottomLeft), side(topRight, bottomRight));
  if (height < 1.5 * width) {
    return uprightCut(page, [topLeft, topRight, bottomRight], { width, height });
  }
  return uprightCut(page, [topRight, bottomRight, bottomLeft], { width: height, height: width });
}

export interface ReadLine {
  readonly text: string;
  readonly modelMs: number;
}

export async function recognise(
  session: InferenceSession,
  labels: readonly string[],
  line: Picture,
  lineWidth: LineWidth,
): Promise<ReadLine> {
  const natural = Math.ceil((HEIGHT * line.width) / line.height);
  const width = lineWidth === "paddle" ? Math.max(USUAL_WIDTH, natural) : lineWidth;
  const drawn = resized(line, { width: Math.min(width, natural), height: HEIGHT });
  const values = planes(drawn, width);
  const startMs = performance.now();
  const text = await readRow(session, labels, values, width);
  return { text, modelMs: performance.now() - startMs };
}

/** @param values shape (3, 48, width), normalised. */
export async function readRow(
  session: InferenceSession,
  labels: readonly string[],
  values: Float32Array,
  width: number,
): Promise<string> {
  const input = new Tensor("float32", values, [1, 3, HEIGHT, width]);
  const results = await session.run({ [session.inputNames[0] ?? ""]: input });
  const output = results[session.outputNames[0] ?? ""];
  if (!(output?.data instanceof Float32Array)) throw new Error("the recogniser gave nothing");
  const classes = output.dims[2] ?? 0;
  if (classes !== labels.length) {
    throw new Error(`the recogniser has ${classes} classes, its labels are ${labels.length}`);
  }
  return greedyText(output.data, labels);
}

/** Grey at the right of a short line is 0 after normalization, as in PaddleOCR. */
function planes({ width, height, pixels }: Picture, toWidth: number): Float32Array {
  const values = new Float32Array(3 * toWidth * height);
  for (let channel = 0; channel < 3; channel++) {
    for (let y = 0; y < height; y++) {
      const row = (channel * height + y) * toWidth;
      for (let x = 0; x < width; x++) {
        const level = pixels[(y * width + x) * 3 + 2 - channel] ?? 0;
        values[row + x] = level / 127.5 - 1;
      }
    }
  }
  return values;
}

/** The likeliest class of each step; repetitions count once, and blanks not at all. */
function greedyText(shares: Float32Array, labels: readonly string[]): string {
  let text = "";
  let before = 0;
  for (let start = 0; start < shares.length; start += labels.length) {
    let best = 0;
    for (let index = 1; index < labels.length; index++) {
      if ((shares[start + index] ?? 0) > (shares[start + best] ?? 0)) best = index;
    }
    if (best !== before) text += labels[best] ?? "";
    before = best;
  }
  return text;
}
