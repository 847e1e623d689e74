/**
 * `stratagem-kit/decode-image`: encoded images to tensors of one size, as models take them.
 *
 * Input `image`, BYTES []: a file of JPEG, PNG, WebP, GIF, TIFF or AVIF; of several pictures the
 * first. Outputs `pixels`, FP32 or UINT8 [channels, height, width] or [height, width, channels];
 * `size`, INT64 [2], height and width of the image as it is seen; `to_original`, FP32 [4], how
 * points of the tensor map to those of the image (`images/placing.ts`). Transparent pixels are seen
 * on white. Decoding, colours and resizing are sharp's (libvips); its kernels look at every pixel
 * also where an image becomes smaller, as those of Pillow do and OpenCV's do not.
 */
import { type Decoder, KERNELS, type Kernel, openImage, useCores } from "./images/decoder.ts";
import { decoderOf } from "./images/decoder-options.ts";
import { type PixelFormat, paddedTensor, pixelFormatOf, rowShape } from "./images/pixel-format.ts";
import { type Placing, placed, placingOf, toOriginal } from "./images/placing.ts";
import { sampleFiles } from "./images/sample-image.ts";
import { writePixels } from "./images/write-pixels.ts";
import type { HostModule, NamedTensors, OpenArguments } from "./module/contract.ts";
import { OptionReader } from "./module/options.ts";
import { eachRow } from "./module/row-error.ts";
import { bytesOf } from "./module/tensors.ts";

interface Settings {
  readonly decoder: Decoder;
  readonly placing: Placing;
  readonly format: PixelFormat;
  readonly kernel: Kernel;
}

/** @throws TypeError if an option is not what it may be. */
export default async function open({ options, cores }: OpenArguments): Promise<HostModule> {
  const settings = settingsOf(options);
  useCores(cores);
  const { height, width } = settings.placing;
  return {
    inputs: [{ name: "image", datatype: "BYTES", shape: [] }],
    outputs: [
      {
        name: "pixels",
        datatype: settings.format.datatype,
        shape: rowShape(settings.format, height, width),
      },
      { name: "size", datatype: "INT64", shape: [2] },
      { name: "to_original", datatype: "FP32", shape: [4] },
    ],
    batches: null,
    sample: async (rows, random) => ({ image: await sampleFiles(rows, random, settings.decoder) }),
    run: (inputs, rows) => decoded(bytesOf(inputs, "image", rows), settings),
    close: () => {},
  };
}

function settingsOf(given: unknown): Settings {
  const options = new OptionReader("stratagem-kit/decode-image", given);
  const placing = placingOf(options);
  const format = pixelFormatOf(options);
  const decoder = decoderOf(options);
  const kernel = options.oneOf("kernel", KERNELS, "linear");
  options.done();
  return { placing, format, decoder, kernel };
}

/** @throws RowError for all files that are no images, are too large or broken. */
async function decoded(files: readonly Uint8Array[], settings: Settings): Promise<NamedTensors> {
  const { placing, format, decoder, kernel } = settings;
  const { height, width } = placing;
  const shape = rowShape(format, height, width);
  const data = paddedTensor(format, files.length, height * width);
  const elements = data.length / files.length;
  const size = new BigInt64Array(files.length * 2);
  const mapping = new Float32Array(files.length * 4);
  await eachRow("image", files, async (file, row) => {
    const image = await openImage(file, decoder);
    const at = placed(image.size, placing);
    const canvas = { data, start: row * elements, width, height };
    writePixels(format, await image.pixels(at.size, kernel), canvas, at.x, at.y);
    size.set([BigInt(image.size.height), BigInt(image.size.width)], row * 2);
    mapping.set(toOriginal(image.size, at), row * 4);
  });
  return {
    pixels: { data, shape: [files.length, ...shape] },
    size: { data: size, shape: [files.length, 2] },
    to_original: { data: mapping, shape: [files.length, 4] },
  };
}
