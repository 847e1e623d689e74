/** How pixels become elements of a tensor: layout, order of channels, type, normalisation. */
import type { OptionReader } from "../module/options.ts";

export interface PixelFormat {
  readonly layout: "nchw" | "nhwc";
  readonly channels: "rgb" | "bgr" | "grey";
  readonly datatype: "FP32" | "UINT8";
  /** Element of each value of a pixel, by channel of the tensor: (value * factor - mean) / std. */
  readonly elements: readonly (Float32Array | Uint8Array)[];
  /** The element of a padded pixel, by channel of the tensor. */
  readonly padding: readonly number[];
  /** Scaling; a mean and a std for each channel. */
  readonly factor: number;
  readonly mean: readonly number[];
  readonly std: readonly number[];
}

export type Elements = Uint8Array | Float32Array;

const ANY = { min: -1e6, max: 1e6 };
const POSITIVE = { min: 1e-9, max: 1e6 };
const VALUES = 256;

/**
 * Reads `layout`, `channels`, `datatype`, `factor`, `mean`, `std` and `padding`.
 * @throws TypeError that says which of them is wrong.
 */
export function pixelFormatOf(options: OptionReader): PixelFormat {
  const layout = options.oneOf("layout", ["nchw", "nhwc"], "nchw");
  const channels = options.oneOf("channels", ["rgb", "bgr", "grey"], "rgb");
  const datatype = options.oneOf("datatype", ["FP32", "UINT8"], "FP32");
  const count = channels === "grey" ? 1 : 3;
  const isWhole = datatype === "UINT8";
  for (const name of ["factor", "mean", "std"]) {
    if (isWhole && options.has(name)) throw options.unfit(name, "nothing where datatype is UINT8");
  }
  const factor = options.number("factor", ANY, isWhole ? 1 : 1 / 255);
  const mean = options.numbers("mean", count, ANY, 0);
  const std = options.numbers("std", count, POSITIVE, 1);
  const padded = options.numbers("padding", count, { min: 0, max: 255 }, 0);
  const elementOf = (value: number, channel: number) =>
    (value * factor - (mean[channel] ?? 0)) / (std[channel] ?? 1);
  return {
    layout,
    channels,
    datatype,
    elements: mean.map((_, channel) => {
      const elements = isWhole ? new Uint8Array(VALUES) : new Float32Array(VALUES);
      return elements.map((_, value) => elementOf(value, channel));
    }),
    padding: padded.map((value, channel) => (isWhole ? value : elementOf(value, channel))),
    factor,
    mean,
    std,
  };
}

/** Shape of one row. */
export function rowShape(
  { layout, channels }: PixelFormat,
  height: number,
  width: number,
): number[] {
  const count = channels === "grey" ? 1 : 3;
  return layout === "nchw" ? [count, height, width] : [height, width, count];
}

/** Room for so many rows, all of it padding. */
export function paddedTensor(format: PixelFormat, rows: number, pixels: number): Elements {
  const count = format.padding.length;
  const length = rows * pixels * count;
  const data = format.datatype === "UINT8" ? new Uint8Array(length) : new Float32Array(length);
  if (format.padding.every((value) => value === 0)) return data;
  if (format.layout === "nhwc") {
    for (let at = 0; at < length; at++) data[at] = format.padding[at % count] ?? 0;
    return data;
  }
  for (let plane = 0; plane < rows * count; plane++) {
    data.fill(format.padding[plane % count] ?? 0, plane * pixels, (plane + 1) * pixels);
  }
  return data;
}
