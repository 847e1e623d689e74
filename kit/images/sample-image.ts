/** Images as people send them, to profile with: drawn anew each, of a photograph's kind. */
import sharp from "sharp";
import type { NamedTensors, Tensor } from "../module/contract.ts";
import type { Decoder, Size } from "./decoder.ts";
import type { ImageTensor } from "./image-tensor.ts";
import { paddedTensor, rowShape } from "./pixel-format.ts";
import { type Pixels, writePixels } from "./write-pixels.ts";

/** Size of photos that clients have made smaller. */
const SENT: Size = { width: 1280, height: 960 };
const BOXES = 12;

/** The size of files to profile with: that, or as large as they may be. */
export function sentSize({ maxPixels }: Decoder): Size {
  const { width, height } = SENT;
  const scale = Math.min(1, Math.sqrt(maxPixels / (width * height)));
  const own = Math.max(1, Math.floor(width * scale));
  return { width: own, height: Math.max(1, Math.floor(Math.min(height * scale, maxPixels / own))) };
}

/**
 * Files of 1280 x 960 pixels or as many as there may be, JPEG if that is allowed: some 200 kB.
 * @param random uniform in [0, 1).
 */
export async function sampleFiles(
  rows: number,
  random: () => number,
  decoder: Decoder,
): Promise<Tensor> {
  const format = decoder.formats.includes("jpeg") ? "jpeg" : (decoder.formats[0] ?? "jpeg");
  const data: Uint8Array[] = [];
  for (let row = 0; row < rows; row++) {
    const { data: pixels, ...size } = samplePixels(sentSize(decoder), random);
    const image = sharp(pixels, { raw: { ...size, channels: 3 } });
    data.push(await image.toFormat(format, format === "jpeg" ? { quality: 85 } : {}).toBuffer());
  }
  return { data, shape: [rows] };
}

/** The same as a tensor. */
export function sampleTensor(
  rows: number,
  random: () => number,
  { format, height, width }: ImageTensor,
): Tensor {
  const data = paddedTensor(format, rows, height * width);
  for (let row = 0; row < rows; row++) {
    const start = (row * data.length) / rows;
    const pixels = samplePixels({ width, height }, random);
    writePixels(format, pixels, { data, start, width, height }, 0, 0);
  }
  return { data, shape: [rows, ...rowShape(format, height, width)] };
}

/** Boxes of a sample: lines of a short page. */
const LINES = 16;

/**
 * Lines from the top to the bottom of such an image, with their number in every row.
 * @param max places for boxes; −1 for as many as there are.
 */
export function sampleBoxes(
  rows: number,
  { width, height }: Size,
  areQuads: boolean,
  max: number,
): NamedTensors {
  const count = max === -1 ? LINES : Math.min(LINES, max);
  const places = max === -1 ? LINES : max;
  const values = areQuads ? 8 : 4;
  const data = new Float32Array(rows * places * values);
  const [left, right] = [0.1 * width, 0.9 * width];
  for (let row = 0; row < rows; row++) {
    for (let box = 0; box < count; box++) {
      const top = (height * (box + 0.1)) / count;
      const bottom = (height * (box + 0.9)) / count;
      const line = areQuads
        ? [left, top, right, top, right, bottom, left, bottom]
        : [left, top, right, bottom];
      data.set(line, (row * places + box) * values);
    }
  }
  return {
    boxes: { data, shape: areQuads ? [rows, places, 4, 2] : [rows, places, 4] },
    count: { data: new BigInt64Array(rows).fill(BigInt(count)), shape: [rows] },
  };
}

/** Waves of three colours with grain, and dark boxes: a letter or a thing has edges. */
function samplePixels({ width, height }: Size, random: () => number): Pixels {
  const data = new Uint8Array(width * height * 3);
  const waves = [0, 1, 2].map(() => [waveOf(width, random), waveOf(height, random)] as const);
  let grain = Math.floor(random() * 0xffffffff) | 1;
  for (const [colour, [across, down]] of waves.entries()) {
    for (let y = 0, at = colour; y < height; y++) {
      const line = 128 + (down[y] as number);
      for (let x = 0; x < width; x++, at += 3) {
        grain = (Math.imul(grain, 1664525) + 1013904223) | 0;
        data[at] = line + (across[x] as number) + (grain >>> 28);
      }
    }
  }
  for (let box = 0; box < BOXES; box++) {
    const [left, right] = [random() * width, random() * width]
      .sort((a, b) => a - b)
      .map(Math.floor);
    const [top, bottom] = [random() * height, random() * height]
      .sort((a, b) => a - b)
      .map(Math.floor);
    for (let y = top ?? 0; y < Math.min(bottom ?? 0, (top ?? 0) + height / 8); y++) {
      data.fill(40, (y * width + (left ?? 0)) * 3, (y * width + (right ?? 0)) * 3);
    }
  }
  return { data, width, height };
}

/** From -50 to 50. */
function waveOf(length: number, random: () => number): Float64Array {
  const [step, start] = [random() / 40, random() * 6];
  return new Float64Array(length).map((_, at) => 50 * Math.sin(at * step + start));
}
