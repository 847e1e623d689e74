/** Encoded images to pixels, by sharp. */
import sharp, { type FitEnum, type KernelEnum } from "sharp";
import { formatOf, type ImageFormat } from "./image-format.ts";
import type { Pixels } from "./write-pixels.ts";

export type Kernel = "nearest" | "linear" | "cubic" | "lanczos3";
export const KERNELS: readonly Kernel[] = ["nearest", "linear", "cubic", "lanczos3"];

const WHITE = { r: 255, g: 255, b: 255 };
const FILL: keyof FitEnum = "fill";

export interface Decoder {
  readonly formats: readonly ImageFormat[];
  /** Limit for the pixels that the file states; more is refused before decoding. */
  readonly maxPixels: number;
  /** Whether the orientation of EXIF is applied. */
  readonly isUpright: boolean;
}

export interface Size {
  readonly width: number;
  readonly height: number;
}

/** One image of a file: its size is known, its pixels are not read. */
export interface OpenedImage {
  /** Upright, if asked for. */
  readonly size: Size;
  /** @throws Error if the file is broken. */
  pixels(size: Size, kernel: Kernel): Promise<Pixels>;
}

/** No image is kept: a worker's memory is its batch's. */
sharp.cache(false);

/** Sets the threads of libvips in this process. */
export function useCores(cores = 1): void {
  sharp.concurrency(cores);
}

/** @throws Error that says what is wrong with the file. */
export async function openImage(bytes: Uint8Array, how: Decoder): Promise<OpenedImage> {
  const format = formatOf(bytes);
  if (format === null || !how.formats.includes(format)) {
    const found = format ?? (bytes.length === 0 ? "nothing" : `${bytes.length} bytes of no image`);
    throw new Error(`expected an image (${how.formats.join(", ")}), got ${found}`);
  }
  const image = sharp(bytes, { limitInputPixels: how.maxPixels, failOn: "error" });
  const { width, height, orientation = 1 } = await image.metadata().catch(rethrown(how.maxPixels));
  if (width * height > how.maxPixels) throw tooLarge(`${width} x ${height}`, how.maxPixels);
  const isTurned = how.isUpright && orientation >= 5;
  const size = isTurned ? { width: height, height: width } : { width, height };
  return {
    size,
    pixels: async (wanted, kernel) => {
      const upright = how.isUpright ? image.autoOrient() : image;
      const isSame = wanted.width === size.width && wanted.height === size.height;
      const resized = isSame ? upright : upright.resize({ ...wanted, ...resizing(kernel) });
      const { data, info } = await resized
        .flatten({ background: WHITE })
        .toColourspace("srgb")
        .raw({ depth: "uchar" })
        .toBuffer({ resolveWithObject: true })
        .catch(rethrown(how.maxPixels));
      return { data: info.channels === 3 ? data : threeOf(data, info.channels), ...wanted };
    },
  };
}

/** Pixels in another size. */
export async function resizedPixels(pixels: Pixels, size: Size, kernel: Kernel): Promise<Pixels> {
  if (pixels.width === size.width && pixels.height === size.height) return pixels;
  const { width, height } = pixels;
  const data = await sharp(pixels.data, { raw: { width, height, channels: 3 } })
    .resize({ ...size, ...resizing(kernel) })
    .raw({ depth: "uchar" })
    .toBuffer();
  return { data, ...size };
}

/** Disables shrinking on load, which rounds sizes and shifts pixels. */
function resizing(kernel: keyof KernelEnum) {
  return { fit: FILL, kernel, fastShrinkOnLoad: false };
}

/** Makes three equal channels of one, or of one and transparency. */
function threeOf(data: Uint8Array, channels: number): Uint8Array {
  const pixels = data.length / channels;
  const three = new Uint8Array(pixels * 3);
  for (let pixel = 0; pixel < pixels; pixel++) {
    three.fill(data[pixel * channels] ?? 0, pixel * 3, pixel * 3 + 3);
  }
  return three;
}

function tooLarge(found: string, maxPixels: number): Error {
  return new Error(`expected at most ${maxPixels} pixels (maxPixels), got ${found}`);
}

/** Handles errors of libvips, which have a line for each of its parts. */
function rethrown(maxPixels: number): (error: Error) => never {
  return ({ message }) => {
    if (/pixel limit/.test(message)) throw tooLarge("more", maxPixels);
    throw new Error(`expected a whole image, got one that cannot be read: ${firstLine(message)}`);
  };
}

function firstLine(message: string): string {
  return message.split("\n")[0] ?? message;
}
