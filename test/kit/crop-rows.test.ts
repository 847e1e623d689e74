/** Parts of images as rows: straight ones exactly, turned ones against a slow twin. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import open from "../../kit/crop-rows.ts";
import { Projection } from "../../kit/geometry/homography.ts";
import type { NamedTensors } from "../../kit/module/contract.ts";
import { gradient, type Picture, pngOf } from "./pictures.ts";

const folder = ".";
const picture = gradient(40, 30);
const tensor = { size: [30, 40], layout: "nhwc", datatype: "UINT8" };

type Corners = readonly number[];

async function crop(options: object, image: object, ...boxes: Corners[][]): Promise<NamedTensors> {
  const module = await open({ options, folder });
  const rows = boxes.length;
  const most = Math.max(1, ...boxes.map((own) => own.length));
  const size = "boxes" in options && options.boxes === "corners" ? 4 : 8;
  const data = new Float32Array(rows * most * size);
  for (const [row, own] of boxes.entries()) data.set(own.flat(), row * most * size);
  return await module.run(
    {
      image: { data: image as Uint8Array[], shape: [rows] },
      boxes: { data, shape: size === 8 ? [rows, most, 4, 2] : [rows, most, 4] },
      count: { data: BigInt64Array.from(boxes, (own) => BigInt(own.length)), shape: [rows] },
    },
    rows,
  );
}

async function cropTensor(options: object, ...boxes: Corners[]): Promise<NamedTensors> {
  const module = await open({ options: { image: tensor, datatype: "UINT8", ...options }, folder });
  const areQuads = boxes[0]?.length === 8;
  return await module.run(
    {
      image: { data: picture.data, shape: [1, 30, 40, 3] },
      boxes: {
        data: Float32Array.from(boxes.flat()),
        shape: areQuads ? [1, boxes.length, 4, 2] : [1, boxes.length, 4],
      },
      count: { data: BigInt64Array.of(BigInt(boxes.length)), shape: [1] },
    },
    1,
  );
}

function pixelOf({ data, width }: Picture, x: number, y: number): number[] {
  return [...data.subarray((y * width + x) * 3, (y * width + x) * 3 + 3)];
}

/** Pixel of a crop [rows, height, width, 3]. */
function at({ crops }: NamedTensors, row: number, x: number, y: number): number[] {
  const [, height = 0, width = 0] = crops?.shape ?? [];
  const start = ((row * height + y) * width + x) * 3;
  return [0, 1, 2].map((channel) => Number(crops?.data[start + channel]));
}

describe("a box along the pixels", () => {
  test("is a slice of the image where sizes agree", async () => {
    const options = { size: [5, 7], boxes: "corners", layout: "nhwc" };
    const tensors = await cropTensor(options, [10, 20, 17, 25], [0, 0, 7, 5]);
    expect(tensors["crops"]?.shape).toEqual([2, 5, 7, 3]);
    for (const [x, y] of [
      [0, 0],
      [6, 4],
      [3, 1],
    ] as const) {
      expect(at(tensors, 0, x, y)).toEqual(pixelOf(picture, 10 + x, 20 + y));
      expect(at(tensors, 1, x, y)).toEqual(pixelOf(picture, x, y));
    }
    expect(tensors["count"]).toEqual({ data: BigInt64Array.of(2n), shape: [1] });
    const corners = [10, 20, 17, 20, 17, 25, 10, 25, 0, 0, 7, 0, 7, 5, 0, 5];
    expect(tensors["corners"]).toEqual({ data: Float32Array.from(corners), shape: [2, 4, 2] });
  });

  test("is as its nearest pixels where it leaves the image", async () => {
    const options = { size: [4, 4], boxes: "corners", layout: "nhwc" };
    const tensors = await cropTensor(options, [38, 28, 42, 32]);
    expect(at(tensors, 0, 1, 1)).toEqual(pixelOf(picture, 39, 29));
    expect(at(tensors, 0, 3, 3)).toEqual(pixelOf(picture, 39, 29));
  });

  test("is the mean of its pixels where it becomes smaller", async () => {
    const options = { size: [2, 2], boxes: "corners", layout: "nhwc" };
    const tensors = await cropTensor(options, [0, 0, 8, 8]);
    const mean = [0, 1, 2].map((channel) => {
      let sum = 0;
      for (let y = 0; y < 4; y++) {
        for (let x = 4; x < 8; x++) sum += pixelOf(picture, x, y)[channel] ?? 0;
      }
      return sum / 16;
    });
    for (const channel of [0, 1, 2]) {
      const found = at(tensors, 0, 1, 0)[channel] ?? 0;
      expect(Math.abs(found - (mean[channel] ?? 0))).toBeLessThanOrEqual(1);
    }
  });
});

describe("four corners", () => {
  test("are straightened: each corner of the crop is its own", async () => {
    const quad = [5, 3, 30, 6, 28, 25, 8, 20];
    const tensors = await cropTensor({ size: [40, 60], layout: "nhwc" }, quad);
    const near = (found: number[], x: number, y: number) => {
      const expected = pixelOf(picture, x, y);
      for (const channel of [0, 1, 2]) {
        expect(Math.abs((found[channel] ?? 0) - (expected[channel] ?? 0))).toBeLessThan(10);
      }
    };
    near(at(tensors, 0, 0, 0), 5, 3);
    near(at(tensors, 0, 59, 0), 29, 6);
    near(at(tensors, 0, 59, 39), 28, 24);
    near(at(tensors, 0, 0, 39), 8, 20);
  });

  test("go to the corners of a square and straight lines stay straight, whatever they are", () => {
    const corner = fc.tuple(fc.integer({ min: 0, max: 40 }), fc.integer({ min: 0, max: 40 }));
    fc.assert(
      fc.property(corner, corner, corner, corner, (a, b, c, d) => {
        // Each in a quarter of its own, so that they are convex.
        const [p, q, r, s] = [
          { x: a[0], y: a[1] },
          { x: 100 + b[0], y: b[1] },
          { x: 100 + c[0], y: 100 + c[1] },
          { x: d[0], y: 100 + d[1] },
        ] as const;
        const projection = new Projection([p, q, r, s]);
        for (const [u, v, point] of [
          [0, 0, p],
          [1, 0, q],
          [1, 1, r],
          [0, 1, s],
        ] as const) {
          expect(projection.x(u, v)).toBeCloseTo(point.x, 6);
          expect(projection.y(u, v)).toBeCloseTo(point.y, 6);
        }
        const [x, y] = [projection.x(0.3, 0), projection.y(0.3, 0)];
        expect((q.x - p.x) * (y - p.y) - (q.y - p.y) * (x - p.x)).toBeCloseTo(0, 5);
        // The diagonals meet where those of the square do.
        const middle = [projection.x(0.5, 0.5), projection.y(0.5, 0.5)] as const;
        const cross = (r.x - p.x) * (middle[1] - p.y) - (r.y - p.y) * (middle[0] - p.x);
        expect(cross).toBeCloseTo(0, 5);
      }),
    );
  });

  test("of a tall box are turned to the left where that is asked", async () => {
    const box = [10, 5, 14, 5, 14, 25, 10, 25];
    const options = { size: [4, 20], layout: "nhwc", tall: 1.5 };
    const turned = await cropTensor(options, box);
    // The right side of the box is at the top.
    expect(at(turned, 0, 0, 0)).toEqual(pixelOf(picture, 13, 5));
    expect(at(turned, 0, 19, 0)).toEqual(pixelOf(picture, 13, 24));
    expect(at(turned, 0, 0, 3)).toEqual(pixelOf(picture, 10, 5));
  });
});

test("a line keeps its ratio at full height, and one that is too long is squeezed", async () => {
  const options = { size: [10, 40], boxes: "corners", fit: "height", place: "start", padding: 7 };
  const tensors = await cropTensor({ ...options, layout: "nhwc" }, [0, 0, 10, 5], [0, 0, 40, 5]);
  expect(at(tensors, 0, 19, 5)).not.toEqual([7, 7, 7]);
  expect(at(tensors, 0, 20, 5)).toEqual([7, 7, 7]);
  expect(at(tensors, 1, 39, 5)).not.toEqual([7, 7, 7]);
});

test("images may be files, and have no boxes", async () => {
  const file = pngOf(picture);
  const options = { size: [2, 3], boxes: "corners", layout: "nhwc", datatype: "UINT8" };
  const box = [4, 4, 7, 6];
  // What nothing is wanted of is not even read.
  const tensors = await crop(options, [file, Buffer.from("no image"), file], [box, box], [], [box]);
  expect(tensors["count"]?.data).toEqual(BigInt64Array.of(2n, 0n, 1n));
  expect(tensors["crops"]?.shape).toEqual([3, 2, 3, 3]);
  for (const row of [0, 1, 2]) expect(at(tensors, row, 2, 1)).toEqual(pixelOf(picture, 6, 5));
  const none = await crop(options, [file], []);
  expect(none["crops"]).toEqual({ data: new Uint8Array(0), shape: [0, 2, 3, 3] });
});

test("what a model was given is brought back to pixels, and normalised anew", async () => {
  const image = { size: [30, 40], channels: "bgr", mean: [0.4, 0.5, 0.6], std: [0.2, 0.3, 0.4] };
  const module = await open({
    options: { image, size: [3, 3], boxes: "corners", factor: 1 },
    folder,
  });
  const data = new Float32Array(3 * 30 * 40);
  for (let pixel = 0; pixel < 1200; pixel++) {
    for (const channel of [0, 1, 2]) {
      const value = (picture.data[pixel * 3 + 2 - channel] ?? 0) / 255;
      data[channel * 1200 + pixel] =
        (value - (image.mean[channel] ?? 0)) / (image.std[channel] ?? 1);
    }
  }
  const { crops } = await module.run(
    {
      image: { data, shape: [1, 3, 30, 40] },
      boxes: { data: Float32Array.of(20, 10, 23, 13), shape: [1, 1, 4] },
      count: { data: BigInt64Array.of(1n), shape: [1] },
    },
    1,
  );
  const found = [0, 1, 2].map((channel) => crops?.data[channel * 9 + 4]);
  expect(found).toEqual(pixelOf(picture, 21, 11));
});

test.each([
  [[[1, 2, 3, Number.NaN]], 'input "boxes" row 0: expected coordinates of pixels, got 1,2,3,NaN'],
  [[[1, 2, 3, 1e9]], "expected coordinates of pixels"],
  [[[0, 10, 0, 0, 10, 10, 20, 20]], "expected corners whose last three are not on a line"],
])("boxes %j are refused by their row", async (boxes, message) => {
  const areQuads = boxes[0]?.length === 8 ? "quads" : "corners";
  await expect(
    crop({ size: [2, 2], boxes: areQuads }, [pngOf(picture)], boxes),
  ).rejects.toMatchObject({
    rows: [0],
    message: expect.stringContaining(message),
  });
});

test("a count of more boxes than there are is refused by its row", async () => {
  const module = await open({ options: { size: [2, 2], boxes: "corners", image: tensor }, folder });
  const inputs = {
    image: { data: picture.data, shape: [1, 30, 40, 3] },
    boxes: { data: new Float32Array(4), shape: [1, 1, 4] },
    count: { data: BigInt64Array.of(2n), shape: [1] },
  };
  await expect(module.run(inputs, 1)).rejects.toThrow(
    'input "boxes" row 0: expected a count from 0 to 1, got 2',
  );
});

test("boxes have as many places as the module before gives, or any number", async () => {
  const shapes = await Promise.all(
    [{ max: 7 }, { max: 7, boxes: "corners" }, {}].map(async (options) => {
      const { inputs } = await open({ options: { size: [8, 16], ...options }, folder });
      return inputs.find(({ name }) => name === "boxes")?.shape;
    }),
  );
  expect(shapes).toEqual([
    [7, 4, 2],
    [7, 4],
    [-1, 4, 2],
  ]);
});
