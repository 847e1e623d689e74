/** Where on a page there is text: PP-OCR's detector, called directly. */
import { type InferenceSession, Tensor } from "onnxruntime-node";
import { type Corners, inReadingOrder, type TextMap, textBoxes } from "./boxes.ts";
import { type Picture, resized } from "./image.ts";

/** Of ImageNet, as PaddleOCR applies them: to blue, green and red, in this order. */
const MEANS = [0.485, 0.456, 0.406];
const DEVIATIONS = [0.229, 0.224, 0.225];

/** Sides of a detector's input are multiples of this. */
const GRID = 32;

/**
 * What a detector is given: "paddle" is what PaddleOCR does, the longer side at most 960 pixels and
 * both rounded to the grid; a number is a square of that side, which the page is fitted into at its
 * top left corner, black beside it.
 */
export type DetectorSize = "paddle" | number;

export interface Detection {
  /** On the page, in reading order. */
  readonly boxes: readonly Corners[];
  readonly modelMs: number;
}

export async function detect(
  session: InferenceSession,
  page: Picture,
  size: DetectorSize,
): Promise<Detection> {
  const { map, drawn, modelMs } = await detectorMap(session, page, size);
  const [scaleX, scaleY] = [page.width / drawn.width, page.height / drawn.height];
  const clipped = (value: number, most: number) => Math.min(Math.max(value, 0), most);
  const boxes = textBoxes(map).map(
    (corners) =>
      corners.map(([x, y]) => [
        clipped(Math.round(x * scaleX), page.width),
        clipped(Math.round(y * scaleY), page.height),
      ]) as unknown as Corners,
  );
  return { boxes: inReadingOrder(boxes), modelMs };
}

export interface DetectorMap {
  readonly map: TextMap;
  /** The page in the size in which it is on the map. */
  readonly drawn: Picture;
  readonly modelMs: number;
}

export async function detectorMap(
  session: InferenceSession,
  page: Picture,
  size: DetectorSize,
): Promise<DetectorMap> {
  const { drawn, width, height } = drawnFor(page, size);
  const input = new Tensor("float32", planes(drawn, width, height), [1, 3, height, width]);
  const startMs = performance.now();
  const results = await session.run({ [session.inputNames[0] ?? ""]: input });
  const modelMs = performance.now() - startMs;
  const output = results[session.outputNames[0] ?? ""];
  if (!(output?.data instanceof Float32Array)) throw new Error("the detector gave no map");
  return { map: { width, height, shares: output.data }, drawn, modelMs };
}

/** The page as it is drawn for the detector, and the size of the input that it is a part of. */
function drawnFor(page: Picture, size: DetectorSize) {
  const longer = Math.max(page.width, page.height);
  if (size === "paddle") {
    const ratio = Math.min(1, 960 / longer);
    const rounded = (side: number) => Math.max(GRID, Math.round((side * ratio) / GRID) * GRID);
    const drawn = resized(page, { width: rounded(page.width), height: rounded(page.height) });
    return { drawn, width: drawn.width, height: drawn.height };
  }
  const rounded = (side: number) => Math.max(1, Math.round((side * size) / longer));
  const drawn = resized(page, { width: rounded(page.width), height: rounded(page.height) });
  return { drawn, width: size, height: size };
}

function planes({ width, height, pixels }: Picture, toWidth: number, toHeight: number) {
  const values = new Float32Array(3 * toWidth * toHeight);
  for (let channel = 0; channel < 3; channel++) {
    const [mean, deviation] = [MEANS[channel] ?? 0, DEVIATIONS[channel] ?? 1];
    const plane = channel * toWidth * toHeight;
    values.fill(-mean / deviation, plane, plane + toWidth * toHeight);
    for (let y = 0; y < height; y++) {
      for (let x = 0; x < width; x++) {
        const level = (pixels[(y * width + x) * 3 + 2 - channel] ?? 0) / 255;
        values[plane + y * toWidth + x] = (level - mean) / deviation;
      }
    }
  }
  return values;
}
