/** Images that come as tensors, as decode-image and models' inputs have them, back to pixels. */
import type { NamedTensors, TensorSpec } from "../module/contract.ts";
import type { OptionReader } from "../module/options.ts";
import { floatsOf, octetsOf } from "../module/tensors.ts";
import { type Elements, type PixelFormat, pixelFormatOf, rowShape } from "./pixel-format.ts";
import { MAX_SIDE } from "./placing.ts";
import type { Pixels } from "./write-pixels.ts";

export interface ImageTensor {
  readonly height: number;
  readonly width: number;
  readonly format: PixelFormat;
}

/** Reads `size` and how its pixels are written; `options` are done then. */
export function imageTensorOf(options: OptionReader): ImageTensor {
  const [height, width] = options.size("size", MAX_SIDE);
  const format = pixelFormatOf(options);
  options.done();
  return { height, width, format };
}

/** How a module declares it. */
export function imageSpec(name: string, { height, width, format }: ImageTensor): TensorSpec {
  return { name, datatype: format.datatype, shape: rowShape(format, height, width) };
}

/** Returns a reader for each row of a tensor. @throws TypeError if it is another tensor. */
export function imageRows(
  inputs: NamedTensors,
  name: string,
  rows: number,
  image: ImageTensor,
): (() => Pixels)[] {
  const read = image.format.datatype === "UINT8" ? octetsOf : floatsOf;
  const { data } = read(inputs, name, rows, 4);
  const size = data.length / rows;
  return Array.from({ length: rows }, (_, row) => () => {
    return readPixels(data.subarray(row * size, (row + 1) * size), image);
  });
}

/**
 * Values are rounded to whole ones from 0 to 255. Grey becomes three that are alike.
 * @throws RangeError if an element is no number.
 */
function readPixels(elements: Elements, { height, width, format }: ImageTensor): Pixels {
  const { layout, channels, factor, mean, std } = format;
  const count = mean.length;
  const data = new Uint8Array(height * width * 3);
  for (let colour = 0; colour < 3; colour++) {
    const channel = channels === "grey" ? 0 : channels === "bgr" ? 2 - colour : colour;
    const [gain, offset] = [(std[channel] ?? 1) / factor, (mean[channel] ?? 0) / factor];
    const step = layout === "nchw" ? 1 : count;
    let from = layout === "nchw" ? channel * height * width : channel;
    for (let to = colour; to < data.length; to += 3, from += step) {
      const value = (elements[from] as number) * gain + offset;
      if (Number.isNaN(value)) throw new RangeError(`expected numbers, got NaN at ${from}`);
      data[to] = Math.min(255, Math.max(0, value + 0.5));
    }
  }
  return { data, width, height };
}
