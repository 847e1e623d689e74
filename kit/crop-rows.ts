/**
 * `stratagem-kit/crop-rows`: the parts of images that boxes name, each as a row of its own.
 *
 * Inputs `image`, BYTES [], a file as decode-image takes it, or a tensor as the option `image` says
 * (`images/image-tensor.ts`); `boxes`, FP32 [boxes, 4, 2], corners clockwise from the upper left,
 * or [boxes, 4], left, top, right, bottom, in pixels of the image; `count`, INT64 []: how many of
 * these there are. With the option `max` there are places for so many, as db-boxes and nms give
 * them, which a server needs to know; without it for any number. Outputs, with a row for each box:
 * `crops`, FP32 or UINT8 [channels, height, width] or [height, width, channels]; `corners`, FP32
 * [4, 2], of each; and with a row for each image `count`, INT64 [], which an edge of a spec names.
 * Source of the straightening and of turning what is tall: PaddleOCR, tools/infer/utility.py,
 * get_rotate_crop_image, which makes an even crop of the box's own size first and resizes that.
 */

import { Projection } from "./geometry/homography.ts";
import { cropped, type Quad, sidesOf, turnedLeft } from "./images/crop.ts";
import { type Decoder, openImage, useCores } from "./images/decoder.ts";
import { decoderOf } from "./images/decoder-options.ts";
import { type ImageTensor, imageRows, imageSpec, imageTensorOf } from "./images/image-tensor.ts";
import { type PixelFormat, paddedTensor, pixelFormatOf, rowShape } from "./images/pixel-format.ts";
import { type Placing, placed, placingOf } from "./images/placing.ts";
import { sampleBoxes, sampleFiles, sampleTensor, sentSize } from "./images/sample-image.ts";
import { type Canvas, type Pixels, writePixels } from "./images/write-pixels.ts";
import type { HostModule, NamedTensors, OpenArguments } from "./module/contract.ts";
import { OptionReader } from "./module/options.ts";
import { eachRow } from "./module/row-error.ts";
import { bytesOf, floatsOf, integersOf } from "./module/tensors.ts";

interface Settings {
  /** Null for files. */
  readonly tensor: ImageTensor | null;
  readonly decoder: Decoder;
  readonly areQuads: boolean;
  /** Places for boxes; −1 for any number. */
  readonly max: number;
  /** Boxes that are so many times as high as wide are turned; null for none. */
  readonly tall: number | null;
  readonly placing: Placing;
  readonly format: PixelFormat;
}

/** @throws TypeError if an option is not what it may be. */
export default async function open({ options, cores }: OpenArguments): Promise<HostModule> {
  const settings = settingsOf(options);
  useCores(cores);
  const { tensor, decoder, areQuads, max, placing, format } = settings;
  return {
    inputs: [
      tensor === null
        ? { name: "image", datatype: "BYTES", shape: [] }
        : imageSpec("image", tensor),
      { name: "boxes", datatype: "FP32", shape: areQuads ? [max, 4, 2] : [max, 4] },
      { name: "count", datatype: "INT64", shape: [] },
    ],
    outputs: [
      {
        name: "crops",
        datatype: format.datatype,
        shape: rowShape(format, placing.height, placing.width),
      },
      { name: "corners", datatype: "FP32", shape: [4, 2] },
      { name: "count", datatype: "INT64", shape: [] },
    ],
    batches: null,
    sample: async (rows, random) => {
      if (tensor === null) {
        const boxes = sampleBoxes(rows, sentSize(decoder), areQuads, max);
        return { image: await sampleFiles(rows, random, decoder), ...boxes };
      }
      return {
        image: sampleTensor(rows, random, tensor),
        ...sampleBoxes(rows, tensor, areQuads, max),
      };
    },
    run: (inputs, rows) => cropsOf(inputs, rows, settings),
    close: () => {},
  };
}

function settingsOf(given: unknown): Settings {
  const options = new OptionReader("stratagem-kit/crop-rows", given);
  const image = options.inner("image");
  const settings = {
    tensor: image === null ? null : imageTensorOf(image),
    decoder: decoderOf(options),
    areQuads: options.oneOf("boxes", ["quads", "corners"], "quads") === "quads",
    max: options.has("max") ? options.integer("max", { min: 1, max: 100_000 }, 1) : -1,
    tall: options.numberOrNull("tall", { min: 1, max: 1000 }),
    placing: placingOf(options),
    format: pixelFormatOf(options),
  };
  options.done();
  return settings;
}

/** @throws RowError for images that cannot be read, and for invalid boxes. */
async function cropsOf(
  inputs: NamedTensors,
  rows: number,
  settings: Settings,
): Promise<NamedTensors> {
  const { placing, format } = settings;
  const quadsByRow = await quadsOf(inputs, rows, settings);
  const total = quadsByRow.reduce((sum, quads) => sum + quads.length, 0);
  const { height, width } = placing;
  const data = paddedTensor(format, total, height * width);
  const corners = new Float32Array(total * 8);
  const shape = rowShape(format, height, width);
  const elements = shape.reduce((product, size) => product * size, 1);
  let crop = 0;
  await eachRow("image", imagesOf(inputs, rows, settings), async (read, row) => {
    const quads = quadsByRow[row] ?? [];
    if (quads.length === 0) return;
    const pixels = await read();
    for (const quad of quads) {
      corners.set(
        quad.flatMap(({ x, y }) => [x, y]),
        crop * 8,
      );
      drawCrop(pixels, quad, { data, start: crop * elements, width, height }, settings);
      crop++;
    }
  });
  return {
    crops: { data, shape: [total, ...shape] },
    corners: { data: corners, shape: [total, 4, 2] },
    count: {
      data: BigInt64Array.from(quadsByRow, (quads) => BigInt(quads.length)),
      shape: [rows],
    },
  };
}

function drawCrop(pixels: Pixels, quad: Quad, canvas: Canvas, settings: Settings): void {
  const { placing, format, tall } = settings;
  const { width, height } = sidesOf(quad);
  const isTall = tall !== null && height >= width * tall;
  const seen = isTall ? turnedLeft(quad) : quad;
  const sides = sidesOf(seen);
  const at = placed(
    { width: Math.max(1, sides.width), height: Math.max(1, sides.height) },
    placing,
  );
  writePixels(format, cropped(pixels, seen, at.size), canvas, at.x, at.y);
}

/** Returns a reader of the image of each row: images without boxes are not decoded. */
function imagesOf(
  inputs: NamedTensors,
  rows: number,
  { tensor, decoder }: Settings,
): (() => Pixels | Promise<Pixels>)[] {
  if (tensor !== null) return imageRows(inputs, "image", rows, tensor);
  return bytesOf(inputs, "image", rows).map((bytes) => async () => {
    const image = await openImage(bytes, decoder);
    return await image.pixels(image.size, "nearest");
  });
}

/** Returns the boxes of each row. @throws RowError for a wrong count, or invalid corners. */
async function quadsOf(
  inputs: NamedTensors,
  rows: number,
  { areQuads }: Settings,
): Promise<Quad[][]> {
  const { data, shape } = floatsOf(inputs, "boxes", rows, areQuads ? 4 : 3);
  const counts = integersOf(inputs, "count", rows, []);
  const given = shape[1] ?? 0;
  const numbers = areQuads ? 8 : 4;
  const quadsByRow: Quad[][] = counts.map(() => []);
  await eachRow("boxes", counts, (count, row) => {
    if (count < 0 || count > given) {
      throw new RangeError(`expected a count from 0 to ${given}, got ${count}`);
    }
    for (let box = 0; box < count; box++) {
      const start = (row * given + box) * numbers;
      const values = [...data.subarray(start, start + numbers)];
      if (!values.every((value) => Math.abs(value) <= MAX_COORDINATE)) {
        throw new RangeError(`expected coordinates of pixels, got ${values} as box ${box}`);
      }
      const quad = quadOf(values);
      new Projection(quad);
      quadsByRow[row]?.push(quad);
    }
  });
  return quadsByRow;
}

/** Farther from the image than any can be. */
const MAX_COORDINATE = 1e6;

function quadOf(values: readonly number[]): Quad {
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = values;
  if (values.length === 4)
    return [
      { x: a, y: b },
      { x: c, y: b },
      { x: c, y: d },
      { x: a, y: d },
    ];
  return [
    { x: a, y: b },
    { x: c, y: d },
    { x: e, y: f },
    { x: g, y: h },
  ];
}
