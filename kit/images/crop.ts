/** Parts of an image, straightened: what lies within four corners, as a picture of a given size. */
import { Projection } from "../geometry/homography.ts";
import type { Point } from "../geometry/rectangle.ts";
import type { Size } from "./decoder.ts";
import type { Pixels } from "./write-pixels.ts";

/** Corners: upper left, upper right, lower right and lower left of the upright part. */
export type Quad = readonly [Point, Point, Point, Point];

/** Samples of a pixel in each direction, where a part becomes much smaller. */
const MAX_SAMPLES = 8;

/** Lengths of its longer sides. */
export function sidesOf([p, q, r, s]: Quad): Size {
  return {
    width: Math.max(distance(p, q), distance(s, r)),
    height: Math.max(distance(p, s), distance(q, r)),
  };
}

function distance(a: Point, b: Point): number {
  return Math.hypot(a.x - b.x, a.y - b.y);
}

/** Turned by a quarter to the left: its right side is seen at the top. */
export function turnedLeft([p, q, r, s]: Quad): Quad {
  return [q, r, s, p];
}

/**
 * Bilinear, with several samples for each pixel where the part is larger than the picture. Corners
 * are points on the edges of pixels: (0, 0) is the upper left of the first. What lies outside of
 * the image is as its nearest pixel.
 * @throws RangeError for corners that Projection refuses.
 */
export function cropped(image: Pixels, quad: Quad, size: Size): Pixels {
  const { width, height } = size;
  const sides = sidesOf(quad);
  const across = samplesFor(sides.width / width);
  const down = samplesFor(sides.height / height);
  const projection = new Projection(quad);
  const data = new Uint8Array(width * height * 3);
  const sums = new Float64Array(width * 3);
  for (let y = 0; y < height; y++) {
    sums.fill(0.5 * across * down);
    for (let sample = 0; sample < down; sample++) {
      addLine(image, projection, (y + (sample + 0.5) / down) / height, across, sums);
    }
    for (let at = 0; at < sums.length; at++) {
      data[y * sums.length + at] = (sums[at] as number) / (across * down);
    }
  }
  return { data, width, height };
}

function samplesFor(reduction: number): number {
  return Math.min(MAX_SAMPLES, Math.max(1, Math.round(reduction)));
}

/** Adds red, green and blue along a line of the part to the sums of its pixels. */
function addLine(
  { data, width, height }: Pixels,
  projection: Projection,
  v: number,
  across: number,
  sums: Float64Array,
): void {
  const samples = (sums.length / 3) * across;
  const [lastColumn, lastLine] = [width - 1, height - 1];
  for (let sample = 0; sample < samples; sample++) {
    const u = (sample + 0.5) / samples;
    const x = Math.min(lastColumn, Math.max(0, projection.x(u, v) - 0.5));
    const y = Math.min(lastLine, Math.max(0, projection.y(u, v) - 0.5));
    const left = Math.floor(x);
    const top = Math.floor(y);
    const beside = x - left;
    const below = y - top;
    const upper = (top * width + left) * 3;
    const next = upper + (left < lastColumn ? 3 : 0);
    const under = top < lastLine ? width * 3 : 0;
    const to = (across === 1 ? sample : Math.floor(sample / across)) * 3;
    for (let colour = 0; colour < 3; colour++) {
      const above = mixed(data[upper + colour] as number, data[next + colour] as number, beside);
      const bottom = upper + under + colour;
      const lower = mixed(data[bottom] as number, data[next + under + colour] as number, beside);
      sums[to + colour] = (sums[to + colour] as number) + mixed(above, lower, below);
    }
  }
}

function mixed(a: number, b: number, share: number): number {
  return a + (b - a) * share;
}
