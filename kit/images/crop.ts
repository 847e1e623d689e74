/** Parts of an image, straightened: what lies within four corners, as a picture of a given size. */
import { Projection } from "../geometry/homography.ts";
import type { Point } from "../geometry/rectangle.ts";
import type { Size } from "./decoder.ts";
import type { Pixels } from "./write-pixels.ts";

/** Of the part's upper left, upper right, lower right and lower left, as it is to be seen. */
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
 * @throws RangeError if three of the corners lie on one line.
 */
export function cropped(image: Pixels, quad: Quad, size: Size): Pixels {
  const { width, height } = size;
  const sides = sidesOf(quad);
  const across = samplesFor(sides.width / width);
  const down = samplesFor(sides.height / height);
  const projection = new Projection(quad);
  const data = new Uint8Array(width * height * 3);
  const sum = new Float64Array(3);
  for (let y = 0, to = 0; y < height; y++) {
    for (let x = 0; x < width; x++, to += 3) {
      sum.fill(0);
      for (let sample = 0; sample < across * down; sample++) {
        const u = (x + ((sample % across) + 0.5) / across) / width;
        const v = (y + (Math.floor(sample / across) + 0.5) / down) / height;
        addSample(image, projection.x(u, v) - 0.5, projection.y(u, v) - 0.5, sum);
      }
      const share = 1 / (across * down);
      data[to] = (sum[0] as number) * share + 0.5;
      data[to + 1] = (sum[1] as number) * share + 0.5;
      data[to + 2] = (sum[2] as number) * share + 0.5;
    }
  }
  return { data, width, height };
}

function samplesFor(reduction: number): number {
  return Math.min(MAX_SAMPLES, Math.max(1, Math.round(reduction)));
}

/** Red, green and blue between the four pixels around a point. */
function addSample({ data, width, height }: Pixels, x: number, y: number, sum: Float64Array): void {
  const column = Math.min(width - 1, Math.max(0, x));
  const line = Math.min(height - 1, Math.max(0, y));
  const [left, top] = [Math.floor(column), Math.floor(line)];
  const [beside, below] = [column - left, line - top];
  const upper = (top * width + left) * 3;
  const next = left + 1 < width ? 3 : 0;
  const lower = top + 1 < height ? upper + width * 3 : upper;
  for (let colour = 0; colour < 3; colour++) {
    const above =
      (data[upper + colour] as number) * (1 - beside) +
      (data[upper + next + colour] as number) * beside;
    const under =
      (data[lower + colour] as number) * (1 - beside) +
      (data[lower + next + colour] as number) * beside;
    sum[colour] = (sum[colour] as number) + above * (1 - below) + under * below;
  }
}
