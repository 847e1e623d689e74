/**
 * `stratagem-kit/db-boxes`: boxes around lines of text, from the map of a detector (DB, PP-OCR).
 *
 * Input `map`, FP32 [1, height, width]: how likely each pixel is text. With the option `original`
 * also `size`, INT64 [2], and `to_original`, FP32 [4], of decode-image: boxes are then given in the
 * pixels of the image, and end where it ends; else in those of the map. Outputs `boxes`, FP32 [max,
 * 4, 2]: x and y of the corners, clockwise from the upper left; `scores`, FP32 [max]; `count`,
 * INT64 []: how many of these there are, the rest is zeros. Lines come as they are read, from the
 * top and in a line from the left, or with `order: score` the likeliest first; where there are more
 * than `max`, the least likely are left out. How they are found: `boxes/text-boxes.ts`.
 */
import { type TextBox, type TextRule, textBoxes } from "./boxes/text-boxes.ts";
import type { HostModule, NamedTensors, OpenArguments, Tensor } from "./module/contract.ts";
import { OptionReader } from "./module/options.ts";
import { eachRow } from "./module/row-error.ts";
import { floatsOf, integersOf } from "./module/tensors.ts";

interface Settings {
  readonly height: number;
  readonly width: number;
  readonly rule: TextRule;
  readonly max: number;
  readonly isReadingOrder: boolean;
  readonly isOriginal: boolean;
}

/** How a map's points map to those of the image, and where it ends. */
interface Image {
  readonly height: number;
  readonly width: number;
  /** Factors and offsets of x and y. */
  readonly toOriginal: readonly number[];
}

const SHARE = { min: 0, max: 1 };
const MAX_SIDE = 16384;
/** Boxes whose upper left corners are less apart, in lines of pixels, are of one line. */
const ONE_LINE = 10;

/** @throws TypeError if an option is not what it may be. */
export default async function open({ options }: OpenArguments): Promise<HostModule> {
  const settings = settingsOf(options);
  const { height, width, max, isOriginal } = settings;
  return {
    inputs: [
      { name: "map", datatype: "FP32", shape: [1, height, width] },
      ...(isOriginal
        ? [
            { name: "size", datatype: "INT64" as const, shape: [2] },
            { name: "to_original", datatype: "FP32" as const, shape: [4] },
          ]
        : []),
    ],
    outputs: [
      { name: "boxes", datatype: "FP32", shape: [max, 4, 2] },
      { name: "scores", datatype: "FP32", shape: [max] },
      { name: "count", datatype: "INT64", shape: [] },
    ],
    batches: null,
    sample: (rows, random) => samples(rows, random, settings),
    run: (inputs, rows) => found(inputs, rows, settings),
    close: () => {},
  };
}

function settingsOf(given: unknown): Settings {
  const options = new OptionReader("stratagem-kit/db-boxes", given);
  const [height, width] = options.size("size", MAX_SIDE);
  const settings = {
    height,
    width,
    rule: {
      threshold: options.number("threshold", SHARE, 0.3),
      minScore: options.number("score", SHARE, 0.6),
      unclip: options.number("unclip", { min: 0, max: 10 }, 1.5),
      minSide: options.number("minSide", { min: 0, max: MAX_SIDE }, 3),
      isDilated: options.flag("dilate", false),
    },
    max: options.integer("max", { min: 1, max: 100_000 }, 200),
    isReadingOrder: options.oneOf("order", ["reading", "score"], "reading") === "reading",
    isOriginal: options.flag("original", false),
  };
  options.done();
  return settings;
}

/** @throws RowError for rows with a value that is no number. */
async function found(
  inputs: NamedTensors,
  rows: number,
  settings: Settings,
): Promise<NamedTensors> {
  const { height, width, max } = settings;
  const { data } = floatsOf(inputs, "map", rows, 4);
  const images = imagesOf(inputs, rows, settings);
  const boxes = new Float32Array(rows * max * 8);
  const scores = new Float32Array(rows * max);
  const count = new BigInt64Array(rows);
  await eachRow("map", images, (image, row) => {
    const map = data.subarray(row * height * width, (row + 1) * height * width);
    const all = textBoxes({ data: map, height, width }, settings.rule);
    const kept = ordered(all, settings);
    count[row] = BigInt(kept.length);
    for (const [place, { corners, score }] of kept.entries()) {
      const points = corners.flatMap(({ x, y }) => pointIn(image, x, y));
      boxes.set(points, (row * max + place) * 8);
      scores[row * max + place] = score;
    }
  });
  return {
    boxes: { data: boxes, shape: [rows, max, 4, 2] },
    scores: { data: scores, shape: [rows, max] },
    count: { data: count, shape: [rows] },
  };
}

function ordered(boxes: readonly TextBox[], { max, isReadingOrder }: Settings): TextBox[] {
  const likeliest = boxes.toSorted((a, b) => b.score - a.score).slice(0, max);
  return isReadingOrder ? asRead(likeliest) : likeliest;
}

/** Sorts like PaddleOCR's sorted_boxes: from the top, then neighbours of one line from the left. */
function asRead(boxes: readonly TextBox[]): TextBox[] {
  const start = ({ corners: [first] }: TextBox) => first ?? { x: 0, y: 0 };
  const lines = boxes.toSorted((a, b) => start(a).y - start(b).y || start(a).x - start(b).x);
  for (let last = 1; last < lines.length; last++) {
    for (let at = last; at > 0; at--) {
      const [before, after] = [lines[at - 1], lines[at]];
      if (before === undefined || after === undefined) break;
      const isOneLine = Math.abs(start(after).y - start(before).y) < ONE_LINE;
      if (!isOneLine || start(after).x >= start(before).x) break;
      lines[at - 1] = after;
      lines[at] = before;
    }
  }
  return lines;
}

function imagesOf(inputs: NamedTensors, rows: number, settings: Settings): Image[] {
  const each = Array.from({ length: rows }, (_, row) => row);
  const { height, width, isOriginal } = settings;
  if (!isOriginal) return each.map(() => ({ height, width, toOriginal: [1, 1, 0, 0] }));
  const sizes = integersOf(inputs, "size", rows, [2]);
  const mappings = floatsOf(inputs, "to_original", rows, 2).data;
  return each.map((row) => ({
    height: sizes[row * 2] ?? 0,
    width: sizes[row * 2 + 1] ?? 0,
    toOriginal: [...mappings.subarray(row * 4, row * 4 + 4)],
  }));
}

/** Within the image. */
function pointIn({ height, width, toOriginal }: Image, x: number, y: number): number[] {
  const [across = 1, down = 1, left = 0, top = 0] = toOriginal;
  return [
    Math.min(width, Math.max(0, x * across + left)),
    Math.min(height, Math.max(0, y * down + top)),
  ];
}

/** Pages of lines, as a detector sees them. */
function samples(rows: number, random: () => number, settings: Settings): NamedTensors {
  const { height, width, isOriginal } = settings;
  const data = new Float32Array(rows * height * width);
  const lineHeight = Math.max(4, Math.round(height / 48));
  for (let row = 0; row < rows; row++) {
    for (let top = lineHeight; top + lineHeight < height; top += 2 * lineHeight) {
      const left = Math.floor(random() * 0.3 * width);
      const right = Math.floor(width * (0.5 + random() * 0.4));
      for (let y = top; y < top + lineHeight; y++) {
        data.fill(0.9, (row * height + y) * width + left, (row * height + y) * width + right);
      }
    }
  }
  const map: Tensor = { data, shape: [rows, 1, height, width] };
  if (!isOriginal) return { map };
  const size = new BigInt64Array(rows * 2).map((_, at) => BigInt(at % 2 === 0 ? height : width));
  const mapping = new Float32Array(rows * 4).map((_, at) => (at % 4 < 2 ? 1 : 0));
  return {
    map,
    size: { data: size, shape: [rows, 2] },
    to_original: { data: mapping, shape: [rows, 4] },
  };
}
