/**
 * Resizes the images of rows by linear interpolation between pixel centres, like the ONNX operator
 * Resize with "linear" and "half_pixel".
 */
import type { Resize } from "../../bundle/schema.ts";
import { type Numbers, numbersOf } from "./numbers.ts";

/** One axis of the result: the two source pixels of each pixel, and the weight of the second. */
interface Taps {
  readonly first: Int32Array;
  readonly second: Int32Array;
  readonly weight: Float64Array;
}

interface Size {
  readonly height: number;
  readonly width: number;
  /** Interleaved values of a pixel; 1 if each channel is an image of its own. */
  readonly channels: number;
}

/** Channels of grey, colour, and colour with transparency. */
const CHANNELS: readonly (number | undefined)[] = [1, 3, 4];

/** Whether a row is an image whose last axis, and not its first, are channels. */
export function isChannelsLast(row: readonly number[]): boolean {
  return row.length === 3 && !CHANNELS.includes(row[0]) && CHANNELS.includes(row[2]);
}

/**
 * Returns the axis of a row that is the height of an image, which the width follows; null if it is
 * neither three axes with channels first nor last.
 */
export function imageHeightAxis(row: readonly number[]): number | null {
  if (isChannelsLast(row)) return 0;
  return row.length === 3 && CHANNELS.includes(row[0]) ? 1 : null;
}

/** Returns the size of a row's images. @param isLast whether channels are last. */
export function imageSize(row: readonly number[], isLast: boolean): Size {
  const [height = 1, width = 1, channels = 1] = row.slice(isLast ? -3 : -2);
  return { height, width, channels };
}

/** The size that an image takes of another one: with "pad" as much as its ratio allows. */
function innerSize(from: Size, to: Size, fit: Resize["fit"]): Size {
  if (fit === "fill") return to;
  const scale = Math.min(to.height / from.height, to.width / from.width);
  const within = (size: number, most: number) => {
    return Math.min(most, Math.max(1, Math.round(size * scale)));
  };
  return {
    ...to,
    height: within(from.height, to.height),
    width: within(from.width, to.width),
  };
}

/**
 * @param bytes images one after another, of a numeric type.
 * @returns the resized images; integers are rounded and clamped to their range.
 */
export function resized(
  bytes: Uint8Array<ArrayBuffer>,
  dtype: string,
  from: Size,
  to: Size,
  { fit, padding }: Resize,
): Uint8Array<ArrayBuffer> {
  if (from.height === to.height && from.width === to.width) return bytes;
  const source = numbersOf(dtype, bytes);
  const { channels } = from;
  const pixels = from.height * from.width * channels;
  const images = source.length / pixels;
  const area = to.height * to.width * channels;
  const result = new Uint8Array((images * area * bytes.length) / source.length);
  const target = numbersOf(dtype, result);
  const inner = innerSize(from, to, fit);
  const [rows, columns] = [taps(from.height, inner.height), taps(from.width, inner.width)];
  for (let image = 0; image < images; image++) {
    if (fit === "pad") target.fill(padding, image * area, (image + 1) * area);
    for (let channel = 0; channel < channels; channel++) {
      const [sourceAt, targetAt] = [image * pixels + channel, image * area + channel];
      interpolate(source, sourceAt, from, target, targetAt, to, rows, columns);
    }
  }
  return result;
}

function interpolate(
  source: Numbers,
  sourceAt: number,
  { width: sourceWidth, channels }: Size,
  target: Numbers,
  targetAt: number,
  { width: targetWidth }: Size,
  rows: Taps,
  columns: Taps,
): void {
  for (let y = 0; y < rows.first.length; y++) {
    const top = sourceAt + (rows.first[y] ?? 0) * sourceWidth * channels;
    const bottom = sourceAt + (rows.second[y] ?? 0) * sourceWidth * channels;
    const down = rows.weight[y] ?? 0;
    for (let x = 0; x < columns.first.length; x++) {
      const left = (columns.first[x] ?? 0) * channels;
      const right = (columns.second[x] ?? 0) * channels;
      const along = columns.weight[x] ?? 0;
      const above = source.get(top + left) * (1 - along) + source.get(top + right) * along;
      const below = source.get(bottom + left) * (1 - along) + source.get(bottom + right) * along;
      target.set(targetAt + (y * targetWidth + x) * channels, above * (1 - down) + below * down);
    }
  }
}

function taps(from: number, to: number): Taps {
  const first = new Int32Array(to);
  const second = new Int32Array(to);
  const weight = new Float64Array(to);
  for (let at = 0; at < to; at++) {
    const centre = Math.min(from - 1, Math.max(0, ((at + 0.5) * from) / to - 0.5));
    first[at] = Math.floor(centre);
    second[at] = Math.min(from - 1, Math.floor(centre) + 1);
    weight[at] = centre - Math.floor(centre);
  }
  return { first, second, weight };
}
