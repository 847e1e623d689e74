/**
 * `stratagem-kit/resize-image`: images that are tensors, in another size or written another way.
 *
 * Input `image`, a tensor as the option `image` says: its size, layout, order of channels and how
 * its pixels are normalised. Outputs `pixels`, FP32 or UINT8 [channels, height, width] or [height,
 * width, channels]; `to_original`, FP32 [4], how points of the one map to the other
 * (`images/placing.ts`). Values are of 8 bits in between. Resizing is sharp's.
 */
import { KERNELS, type Kernel, resizedPixels, useCores } from "./images/decoder.ts";
import { type ImageTensor, imageRows, imageSpec, imageTensorOf } from "./images/image-tensor.ts";
import { type PixelFormat, paddedTensor, pixelFormatOf, rowShape } from "./images/pixel-format.ts";
import { type Placing, placed, placingOf, toOriginal } from "./images/placing.ts";
import { sampleTensor } from "./images/sample-image.ts";
import { writePixels } from "./images/write-pixels.ts";
import type { HostModule, NamedTensors, OpenArguments } from "./module/contract.ts";
import { OptionReader } from "./module/options.ts";
import { eachRow } from "./module/row-error.ts";

interface Settings {
  readonly image: ImageTensor;
  readonly placing: Placing;
  readonly format: PixelFormat;
  readonly kernel: Kernel;
}

/** @throws TypeError if an option is not what it may be. */
export default async function open({ options, cores }: OpenArguments): Promise<HostModule> {
  const settings = settingsOf(options);
  useCores(cores);
  const { image, placing, format } = settings;
  const shape = rowShape(format, placing.height, placing.width);
  return {
    inputs: [imageSpec("image", image)],
    outputs: [
      { name: "pixels", datatype: format.datatype, shape },
      { name: "to_original", datatype: "FP32", shape: [4] },
    ],
    batches: null,
    sample: (rows, random) => ({ image: sampleTensor(rows, random, image) }),
    run: (inputs, rows) => resized(inputs, rows, settings),
    close: () => {},
  };
}

function settingsOf(given: unknown): Settings {
  const options = new OptionReader("stratagem-kit/resize-image", given);
  const image = options.inner("image");
  if (image === null) throw options.unfit("image", "an object that says what the tensor is");
  const settings = {
    image: imageTensorOf(image),
    placing: placingOf(options),
    format: pixelFormatOf(options),
    kernel: options.oneOf("kernel", KERNELS, "linear"),
  };
  options.done();
  return settings;
}

/** @throws RowError for rows with an element that is no number. */
async function resized(
  inputs: NamedTensors,
  rows: number,
  { image, placing, format, kernel }: Settings,
): Promise<NamedTensors> {
  const { height, width } = placing;
  const at = placed(image, placing);
  const data = paddedTensor(format, rows, height * width);
  await eachRow("image", imageRows(inputs, "image", rows, image), async (read, row) => {
    const pixels = await resizedPixels(read(), at.size, kernel);
    const start = (row * data.length) / rows;
    writePixels(format, pixels, { data, start, width, height }, at.x, at.y);
  });
  const mapping = toOriginal(image, at);
  return {
    pixels: { data, shape: [rows, ...rowShape(format, height, width)] },
    to_original: {
      data: Float32Array.from({ length: rows * 4 }, (_, index) => mapping[index % 4] ?? 0),
      shape: [rows, 4],
    },
  };
}
