/** Encoded images to tensors: exact for what is exact, against another decoder for JPEG. */
import jpegJs from "jpeg-js";
import sharp from "sharp";
import { describe, expect, test } from "vitest";
import open from "../../kit/decode-image.ts";
import type { NamedTensors } from "../../kit/module/contract.ts";
import { gradient, type Picture, pngFile, pngOf, withOrientation } from "./pictures.ts";

const folder = ".";
const picture = gradient(6, 4);

async function decode(options: object, ...files: readonly Uint8Array[]): Promise<NamedTensors> {
  const module = await open({ options, folder });
  return await module.run({ image: { data: files, shape: [files.length] } }, files.length);
}

/** The element of a tensor [rows, channels, height, width]. */
function at(tensors: NamedTensors, row: number, channel: number, y: number, x: number): number {
  const { data, shape } = tensors["pixels"] ?? { data: [], shape: [] };
  const [, channels = 0, height = 0, width = 0] = shape;
  return Number(data[((row * channels + channel) * height + y) * width + x]);
}

function channelOf({ data, width }: Picture, channel: number, y: number, x: number): number {
  return data[(y * width + x) * 3 + channel] ?? Number.NaN;
}

function jpegOf({ data, width, height }: Picture): Uint8Array {
  const rgba = new Uint8Array(width * height * 4).fill(255);
  for (let pixel = 0; pixel < width * height; pixel++) {
    rgba.set(data.subarray(pixel * 3, pixel * 3 + 3), pixel * 4);
  }
  return jpegJs.encode({ data: Buffer.from(rgba), width, height }, 95).data;
}

describe("a PNG of the tensor's size", () => {
  test("is its pixels, one plane after the other", async () => {
    const options = { size: [4, 6], datatype: "UINT8" };
    const { pixels, size, to_original: mapping } = await decode(options, pngOf(picture));
    const planes = [0, 1, 2].flatMap((channel) =>
      Array.from({ length: 24 }, (_, pixel) => picture.data[pixel * 3 + channel]),
    );
    expect(pixels).toEqual({ data: Uint8Array.from(planes as number[]), shape: [1, 3, 4, 6] });
    expect(size).toEqual({ data: BigInt64Array.of(4n, 6n), shape: [1, 2] });
    expect(mapping).toEqual({ data: Float32Array.of(1, 1, 0, 0), shape: [1, 4] });
  });

  test("is normalised, turned to BGR and kept in lines as it is asked", async () => {
    const options = {
      ...{ size: [4, 6], layout: "nhwc", channels: "bgr" },
      ...{ mean: [0.4, 0.5, 0.6], std: [0.2, 0.25, 0.5] },
    };
    const { pixels } = await decode(options, pngOf(picture));
    expect(pixels?.shape).toEqual([1, 4, 6, 3]);
    const [blue, green, red] = [2, 1, 0].map((channel) => channelOf(picture, channel, 2, 3) / 255);
    const found = [0, 1, 2].map((channel) => Number(pixels?.data[(2 * 6 + 3) * 3 + channel]));
    expect(found[0]).toBeCloseTo(((blue ?? 0) - 0.4) / 0.2, 5);
    expect(found[1]).toBeCloseTo(((green ?? 0) - 0.5) / 0.25, 5);
    expect(found[2]).toBeCloseTo(((red ?? 0) - 0.6) / 0.5, 5);
  });

  test("is grey as ITU-R BT.601 has it", async () => {
    const tensors = await decode({ size: [4, 6], channels: "grey", factor: 1 }, pngOf(picture));
    expect(tensors["pixels"]?.shape).toEqual([1, 1, 4, 6]);
    const [red = 0, green = 0, blue = 0] = [0, 1, 2].map((c) => channelOf(picture, c, 1, 5));
    const luma = Math.round(0.299 * red + 0.587 * green + 0.114 * blue);
    expect(at(tensors, 0, 0, 1, 5)).toBe(luma);
  });

  test("of 16 bits, of one channel and with transparency is of three of 8 bits", async () => {
    const deep = pngFile(1, 1, 16, 2, Buffer.from([0, 0x80, 0x12, 0x40, 0xff, 0xc0, 0x00]));
    const grey = pngFile(1, 1, 8, 0, Buffer.from([0, 77]));
    const clear = pngOf({ data: Uint8Array.of(10, 20, 30), width: 1, height: 1 }, 0);
    const tensors = await decode({ size: [1, 1], datatype: "UINT8" }, deep, grey, clear);
    const rows = [0, 1, 2].map((row) =>
      [0, 1, 2].map((channel) => at(tensors, row, channel, 0, 0)),
    );
    expect(rows).toEqual([
      [0x80, 0x40, 0xc0],
      [77, 77, 77],
      [255, 255, 255],
    ]);
  });
});

describe("a JPEG", () => {
  const large = gradient(64, 48);
  const jpeg = jpegOf(large);

  test("is what another decoder makes of it, but for roundings", async () => {
    const tensors = await decode({ size: [48, 64], factor: 1 }, jpeg);
    const other = jpegJs.decode(jpeg, { useTArray: true });
    let worst = 0;
    for (let pixel = 0; pixel < 64 * 48; pixel++) {
      for (let channel = 0; channel < 3; channel++) {
        const found = at(tensors, 0, channel, Math.floor(pixel / 64), pixel % 64);
        worst = Math.max(worst, Math.abs(found - (other.data[pixel * 4 + channel] ?? 0)));
      }
    }
    expect(worst).toBeLessThanOrEqual(6);
  });

  test("is seen as its orientation says, unless that is not wanted", async () => {
    const turned = withOrientation(jpeg, 6);
    const upright = await decode({ size: [64, 48], factor: 1 }, turned);
    expect(upright["size"]?.data).toEqual(BigInt64Array.of(64n, 48n));
    // A quarter to the right: what was at the lower left is at the upper left.
    expect(at(upright, 0, 1, 0, 0)).toBeGreaterThan(240);
    expect(at(upright, 0, 0, 63, 0)).toBeGreaterThan(240);
    const stored = await decode({ size: [48, 64], factor: 1, orient: false }, turned);
    expect(stored["size"]?.data).toEqual(BigInt64Array.of(48n, 64n));
    expect(at(stored, 0, 1, 0, 0)).toBeLessThan(15);
  });
});

test.each(["webp", "gif", "tiff", "avif"] as const)("a file of %s is read", async (format) => {
  const raw = { width: 16, height: 16, channels: 3 as const };
  const data = new Uint8Array(16 * 16 * 3).fill(200);
  const file = await sharp(data, { raw }).toFormat(format).toBuffer();
  const tensors = await decode({ size: [16, 16], factor: 1 }, file);
  expect(Math.abs(at(tensors, 0, 1, 8, 8) - 200)).toBeLessThanOrEqual(3);
  const error = await decode({ size: [16, 16], formats: ["png"] }, file).catch((found) => found);
  expect(String(error)).toContain(`expected an image (png), got ${format}`);
});

describe("an image of another size", () => {
  const white = { data: new Uint8Array(8 * 4 * 3).fill(255), width: 8, height: 4 };
  const edges = (tensors: NamedTensors, y: number) =>
    Array.from({ length: 8 }, (_, x) => at(tensors, 0, 0, y, x));

  test("is whole with padding around it, and can be found again", async () => {
    const options = { size: [8, 8], fit: "contain", padding: 114, factor: 1 };
    const tensors = await decode(options, pngOf(white));
    expect([0, 1, 2, 5, 6, 7].map((y) => edges(tensors, y)[3])).toEqual([
      114, 114, 255, 255, 114, 114,
    ]);
    expect(tensors["to_original"]?.data).toEqual(Float32Array.of(1, 1, 0, -2));
    const start = await decode({ ...options, place: "start" }, pngOf(white));
    expect([0, 3, 4, 7].map((y) => edges(start, y)[3])).toEqual([255, 255, 114, 114]);
  });

  test("fills the tensor with its middle", async () => {
    const picture = gradient(8, 4);
    const options = { size: [4, 4], fit: "cover", datatype: "UINT8" };
    const tensors = await decode(options, pngOf(picture));
    expect(at(tensors, 0, 0, 0, 0)).toBe(channelOf(picture, 0, 0, 2));
    expect(at(tensors, 0, 0, 3, 3)).toBe(channelOf(picture, 0, 3, 5));
    expect(tensors["to_original"]?.data).toEqual(Float32Array.of(1, 1, 2, 0));
  });

  test("has the mean of its pixels where it becomes smaller", async () => {
    const stripes = { data: new Uint8Array(16 * 16 * 3), width: 16, height: 16 };
    for (let at = 0; at < 256; at++) stripes.data.fill(at % 2 === 0 ? 0 : 200, at * 3, at * 3 + 3);
    const tensors = await decode({ size: [4, 4], factor: 1 }, pngOf(stripes));
    expect(Math.abs(at(tensors, 0, 0, 1, 1) - 100)).toBeLessThanOrEqual(8);
  });
});

describe("what is no image", () => {
  const svg = Buffer.from("<svg xmlns='http://www.w3.org/2000/svg'/>");

  test("is refused by its row, and the others are named by none", async () => {
    const whole = pngOf(picture);
    const cut = whole.subarray(0, whole.length - 30);
    const files = [whole, svg, new Uint8Array(0), whole, cut];
    const error = await decode({ size: [4, 6] }, ...files).catch((found: Error) => found);
    expect(error).toMatchObject({ name: "RowError", rows: [1, 2, 4] });
    const text = (error as Error).message;
    expect(text).toContain(
      'input "image" row 1: expected an image (jpeg, png, webp, gif, tiff, avif)',
    );
    expect(text).toContain("got 41 bytes of no image");
    expect(text).toContain("row 2: expected an image");
    expect(text).toMatch(/row 4: expected a whole image, got one that cannot be read/);
  });

  test("is also what has more pixels than it may, whatever it would take to unpack", async () => {
    // A header of 2.5 billion pixels, which 60 bytes of data follow.
    const bomb = pngFile(50_000, 50_000, 8, 2, Buffer.alloc(1000));
    await expect(decode({ size: [4, 6] }, bomb)).rejects.toThrow(
      /row 0: expected at most 50000000 pixels \(maxPixels\), got/,
    );
    await expect(decode({ size: [4, 6], maxPixels: 23 }, pngOf(picture))).rejects.toThrow(
      /expected at most 23 pixels/,
    );
  });

  test("is a format that is not among those allowed", async () => {
    await expect(decode({ size: [4, 6], formats: ["jpeg"] }, pngOf(picture))).rejects.toThrow(
      "row 0: expected an image (jpeg), got png",
    );
  });
});

test.each([
  { maxPixels: 1_000_000 },
  { maxPixels: 1 },
  { formats: ["png"] },
  { formats: ["webp", "gif"], maxPixels: 5000 },
  { formats: ["tiff"] },
  { formats: ["avif"], maxPixels: 5000 },
])("what it is profiled and warmed up with is what it takes: %o", async (options) => {
  const module = await open({ options: { size: [4, 6], ...options }, folder });
  const { image } = (await module.sample?.(1, () => 0.5)) ?? {};
  const { pixels } = await module.run({ image: image ?? { data: [], shape: [0] } }, 1);
  expect(pixels?.shape).toEqual([1, 3, 4, 6]);
});

test.each([
  [{}, "decode-image size: expected [height, width], each an integer from 1 to 16384, got nothing"],
  [{ size: [4.5, 6] }, "got [4.5,6]"],
  [{ size: [4, 6], fit: "crop" }, 'fit: expected one of fill, contain, cover, height, got "crop"'],
  [{ size: [4, 6], std: 0 }, "std: expected a number from 1e-9 to 1000000, or a list of 3, got 0"],
  [{ size: [4, 6], mean: [1, 2] }, "mean: expected a number from"],
  [{ size: [4, 6], datatype: "UINT8", mean: 1 }, "mean: expected nothing where datatype is UINT8"],
  [{ size: [4, 6], sise: 1 }, 'found the option "sise", allowed are'],
  [{ size: [4, 6], formats: ["svg"] }, "formats: expected a list of some of jpeg, png"],
  [[], "decode-image: expected an object of options, got []"],
])("options %j are refused in one sentence", async (options, message) => {
  await expect(open({ options, folder })).rejects.toThrow(message);
});
