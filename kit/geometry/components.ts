/** Connected parts of a bitmap. */
import type { Point } from "./rectangle.ts";

/** Picture in lines: 1 where it is set, otherwise 0. */
export interface Bitmap {
  readonly data: Uint8Array;
  readonly width: number;
  readonly height: number;
}

/**
 * For each part, the first and the last of its pixels in every line, from the top: the hull of
 * these is the hull of the part. Pixels that touch at a corner belong together.
 */
export function componentEnds({ data, width, height }: Bitmap): Point[][] {
  const isLeft = data.slice();
  const waiting = new Int32Array(data.length);
  const firsts = new Int32Array(height).fill(width);
  const lasts = new Int32Array(height).fill(-1);
  const found: Point[][] = [];
  for (let start = isLeft.indexOf(1); start >= 0; start = isLeft.indexOf(1, start + 1)) {
    const lines = { from: height, to: -1 };
    let count = 1;
    waiting[0] = start;
    isLeft[start] = 0;
    while (count > 0) {
      count--;
      const pixel = waiting[count] as number;
      const y = Math.floor(pixel / width);
      const x = pixel - y * width;
      if (x < (firsts[y] as number)) firsts[y] = x;
      if (x > (lasts[y] as number)) lasts[y] = x;
      if (y < lines.from) lines.from = y;
      if (y > lines.to) lines.to = y;
      const [left, right] = [Math.max(0, x - 1), Math.min(width - 1, x + 1)];
      const lowest = Math.min(height - 1, y + 1);
      for (let line = Math.max(0, y - 1); line <= lowest; line++) {
        for (let at = line * width + left; at <= line * width + right; at++) {
          if (isLeft[at] !== 1) continue;
          isLeft[at] = 0;
          waiting[count] = at;
          count++;
        }
      }
    }
    found.push(endsOf(firsts, lasts, lines.from, lines.to));
    firsts.fill(width, lines.from, lines.to + 1);
    lasts.fill(-1, lines.from, lines.to + 1);
  }
  return found;
}

function endsOf(firsts: Int32Array, lasts: Int32Array, from: number, to: number): Point[] {
  const ends: Point[] = [];
  for (let y = from; y <= to; y++) {
    const [first, last] = [firsts[y] as number, lasts[y] as number];
    ends.push({ x: first, y });
    if (last > first) ends.push({ x: last, y });
  }
  return ends;
}
