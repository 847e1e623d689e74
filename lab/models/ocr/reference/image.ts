/** Pictures as bytes of three channels, and how OpenCV draws them at other sizes. */
import sharp from "sharp";

/** Rows from the top, pixels from the left, red, green and blue of 0 to 255 each. */
export interface Picture {
  readonly width: number;
  readonly height: number;
  readonly pixels: Uint8Array;
}

/** A point of a picture in pixels; (0, 0) is the outer corner of the first one. */
export type Point = readonly [x: number, y: number];

const CHANNELS = 3;

/** @param file path of a picture, or its bytes. */
export async function readPicture(file: string | Uint8Array): Promise<Picture> {
  const image = sharp(file).rotate().flatten({ background: "white" }).toColourspace("srgb");
  const { data, info } = await image.raw().toBuffer({ resolveWithObject: true });
  const pixels = info.channels === CHANNELS ? data : Uint8Array.from(threeOf(data));
  return { width: info.width, height: info.height, pixels };
}

function threeOf(grey: Uint8Array): Uint8Array {
  const pixels = new Uint8Array(grey.length * CHANNELS);
  for (const [index, level] of grey.entries()) pixels.fill(level, 3 * index, 3 * index + 3);
  return pixels;
}

/** Between the four pixels around each point, as cv2.resize does with INTER_LINEAR. */
export function resized({ width, height, pixels }: Picture, to: Size): Picture {
  const drawn = new Uint8Array(to.width * to.height * CHANNELS);
  for (let y = 0; y < to.height; y++) {
    const sourceY = clamped(((y + 0.5) * height) / to.height - 0.5, height - 1);
    const top = Math.floor(sourceY);
    const bottom = Math.min(top + 1, height - 1);
    for (let x = 0; x < to.width; x++) {
      const sourceX = clamped(((x + 0.5) * width) / to.width - 0.5, width - 1);
      const left = Math.floor(sourceX);
      const right = Math.min(left + 1, width - 1);
      for (let channel = 0; channel < CHANNELS; channel++) {
        const level = (row: number, column: number) =>
          pixels[(row * width + column) * CHANNELS + channel] ?? 0;
        const upper = mixed(level(top, left), level(top, right), sourceX - left);
        const lower = mixed(level(bottom, left), level(bottom, right), sourceX - left);
        drawn[(y * to.width + x) * CHANNELS + channel] = Math.round(
          mixed(upper, lower, sourceY - top),
        );
      }
    }
  }
  return { ...to, pixels: drawn };
}

interface Size {
  readonly width: number;
  readonly height: number;
}

/**
 * The rectangle whose first three corners, clockwise, are given, drawn upright in a picture of its
 * own; what is beyond the edge repeats the edge. Between pixels it is bicubic, as cv2's
 * warpPerspective with INTER_CUBIC is, which PaddleOCR cuts its crops with.
 */
export function uprightCut(picture: Picture, corners: readonly Point[], to: Size): Picture {
  const [first, second, third] = corners;
  if (first === undefined || second === undefined || third === undefined) {
    throw new RangeError("expected three corners");
  }
  const drawn = new Uint8Array(to.width * to.height * CHANNELS);
  for (let y = 0; y < to.height; y++) {
    for (let x = 0; x < to.width; x++) {
      const [along, across] = [x / to.width, y / to.height];
      const sourceX = first[0] + (second[0] - first[0]) * along + (third[0] - second[0]) * across;
      const sourceY = first[1] + (second[1] - first[1]) * along + (third[1] - second[1]) * across;
      cubicPixel(picture, sourceX, sourceY, drawn, (y * to.width + x) * CHANNELS);
    }
  }
  return { ...to, pixels: drawn };
}

function cubicPixel(
  { width, height, pixels }: Picture,
  sourceX: number,
  sourceY: number,
  drawn: Uint8Array,
  offset: number,
): void {
  const [left, top] = [Math.floor(sourceX), Math.floor(sourceY)];
  const sums = [0, 0, 0];
  for (let row = -1; row <= 2; row++) {
    const weightY = cubicWeight(sourceY - top - row);
    const from = clamped(top + row, height - 1) * width;
    for (let column = -1; column <= 2; column++) {
      const weight = weightY * cubicWeight(sourceX - left - column);
      const at = (from + clamped(left + column, width - 1)) * CHANNELS;
      for (let channel = 0; channel < CHANNELS; channel++) {
        sums[channel] = (sums[channel] ?? 0) + weight * (pixels[at + channel] ?? 0);
      }
    }
  }
  for (const [channel, sum] of sums.entries()) {
    drawn[offset + channel] = Math.round(clamped(sum, 255));
  }
}

/** Of OpenCV's cubic kernel, with its constant −0.75. */
function cubicWeight(signed: number): number {
  const distance = Math.abs(signed);
  if (distance <= 1) return (1.25 * distance - 2.25) * distance * distance + 1;
  if (distance >= 2) return 0;
  return -0.75 * (((distance - 5) * distance + 8) * distance - 4);
}

function mixed(from: number, to: number, share: number): number {
  return from + (to - from) * share;
}

function clamped(value: number, most: number): number {
  return Math.min(Math.max(value, 0), most);
}
