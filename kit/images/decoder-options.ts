/** Options of modules that take files of images. */
import type { OptionReader } from "../module/options.ts";
import type { Decoder } from "./decoder.ts";
import { IMAGE_FORMATS } from "./image-format.ts";

/** A page scanned at 600 dpi has 35 million. */
const DEFAULT_PIXELS = 50_000_000;

/** Reads `formats`, `maxPixels` and `orient`. */
export function decoderOf(options: OptionReader): Decoder {
  return {
    formats: options.someOf("formats", IMAGE_FORMATS, IMAGE_FORMATS),
    maxPixels: options.integer("maxPixels", { min: 1, max: 2 ** 31 - 1 }, DEFAULT_PIXELS),
    isUpright: options.flag("orient", true),
  };
}
