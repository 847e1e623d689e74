/** Place of an image in a tensor of another size, and the way back. */
import type { OptionReader } from "../module/options.ts";
import type { Size } from "./decoder.ts";

export interface Placing {
  readonly height: number;
  readonly width: number;
  /**
   * The whole image stretched; the whole image with padding; its middle without; or the whole image
   * at full height, with padding beside it, and stretched where it is wider than the tensor.
   */
  readonly fit: "fill" | "contain" | "cover" | "height";
  /** Place of the image beside its padding: `start` is the left and the top. */
  readonly place: "centre" | "start";
}

export interface Placed {
  /** Size of the resized image. */
  readonly size: Size;
  /** First column and line in the tensor; negative where some are left out. */
  readonly x: number;
  readonly y: number;
}

/** Sides of tensors. */
export const MAX_SIDE = 16384;

/** Reads `size`, `fit` and `place`. @throws TypeError that says which of them is wrong. */
export function placingOf(options: OptionReader): Placing {
  const [height, width] = options.size("size", MAX_SIDE);
  const fit = options.oneOf("fit", ["fill", "contain", "cover", "height"], "fill");
  const place = options.oneOf("place", ["centre", "start"], "centre");
  return { height, width, fit, place };
}

/** The resized sides are rounded, at least 1. */
export function placed({ width, height }: Size, placing: Placing): Placed {
  const across = placing.width / width;
  const down = placing.height / height;
  if (placing.fit === "fill") return { size: placing, x: 0, y: 0 };
  const ratio = placing.fit === "cover" ? Math.max(across, down) : Math.min(across, down);
  const size = {
    width: Math.max(1, Math.round(width * ratio)),
    height: placing.fit === "height" ? placing.height : Math.max(1, Math.round(height * ratio)),
  };
  const share = placing.place === "centre" ? 2 : Number.POSITIVE_INFINITY;
  return {
    size,
    x: Math.trunc((placing.width - size.width) / share),
    y: Math.trunc((placing.height - size.height) / share),
  };
}

/**
 * Maps a point (x, y) of the tensor to the image: [x factor, y factor, x offset, y offset],
 * point * factor + offset, where points lie on the edges of pixels.
 */
export function toOriginal({ width, height }: Size, { size, x, y }: Placed): number[] {
  const across = width / size.width;
  const down = height / size.height;
  return [across, down, 0 - x * across, 0 - y * down];
}
