/** Pixels into a row of a tensor, at a place: what lies outside of the row is left out. */
import type { Elements, PixelFormat } from "./pixel-format.ts";

/** Red, green and blue of each pixel in turn. */
export interface Pixels {
  readonly data: Uint8Array;
  readonly width: number;
  readonly height: number;
}

export interface Canvas {
  readonly data: Elements;
  /** Index in `data` at which the row begins. */
  readonly start: number;
  readonly width: number;
  readonly height: number;
}

/** @param x where the first column goes, may be negative. @param y the same of the first line. */
export function writePixels(
  format: PixelFormat,
  { data: source, width, height }: Pixels,
  { data: target, start, width: columns, height: lines }: Canvas,
  x: number,
  y: number,
): void {
  const count = format.elements.length;
  const isPlanar = format.layout === "nchw";
  const step = isPlanar ? 1 : count;
  const fromLine = Math.max(0, -y);
  const toLine = Math.min(height, lines - y);
  const fromColumn = Math.max(0, -x);
  const toColumn = Math.min(width, columns - x);
  for (const [channel, elements] of format.elements.entries()) {
    const first = start + (isPlanar ? channel * columns * lines : channel);
    const offset = format.channels === "bgr" ? 2 - channel : channel;
    for (let line = fromLine; line < toLine; line++) {
      let to = first + ((line + y) * columns + fromColumn + x) * step;
      let from = (line * width + fromColumn) * 3;
      if (format.channels === "grey") {
        for (let column = fromColumn; column < toColumn; column++, to += step, from += 3) {
          target[to] = elements[luma(source, from)] as number;
        }
      } else {
        from += offset;
        for (let column = fromColumn; column < toColumn; column++, to += step, from += 3) {
          target[to] = elements[source[from] as number] as number;
        }
      }
    }
  }
}

/** ITU-R BT.601 in integers, as Pillow's convert("L") has it. */
function luma(source: Uint8Array, at: number): number {
  const red = source[at] as number;
  const green = source[at + 1] as number;
  const blue = source[at + 2] as number;
  return (red * 19595 + green * 38470 + blue * 7471 + 0x8000) >> 16;
}
