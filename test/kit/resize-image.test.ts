/** Images that are tensors, in another size or written another way. */
import { expect, test } from "vitest";
import open from "../../kit/resize-image.ts";
import { gradient } from "./pictures.ts";

const folder = ".";
const picture = gradient(8, 6);
const given = { size: [6, 8], layout: "nhwc", datatype: "UINT8" };
const inputs = { image: { data: picture.data, shape: [1, 6, 8, 3] } };

test("the same size is written another way, exactly", async () => {
  const module = await open({
    options: { image: given, size: [6, 8], channels: "bgr", mean: 0.5 },
    folder,
  });
  const { pixels } = await module.run(inputs, 1);
  expect(pixels?.shape).toEqual([1, 3, 6, 8]);
  const blue = picture.data[(2 * 8 + 5) * 3 + 2] ?? 0;
  expect(pixels?.data[2 * 8 + 5]).toBeCloseTo(blue / 255 - 0.5, 6);
});

test("there and back are the values that there were", async () => {
  const how = { size: [6, 8], mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225] };
  const there = await open({ options: { image: given, ...how }, folder });
  const back = await open({ options: { image: how, ...given }, folder });
  const { pixels } = await there.run(inputs, 1);
  if (pixels === undefined) throw new Error("no pixels");
  const found = await back.run({ image: pixels }, 1);
  expect(found["pixels"]?.data).toEqual(picture.data);
});

test("half the size has the mean of neighbours, and can be found again", async () => {
  const options = { image: given, size: [4, 4], fit: "contain", place: "start", factor: 1 };
  const module = await open({ options, folder });
  const { pixels, to_original: mapping } = await module.run(inputs, 1);
  expect(mapping?.data).toEqual(Float32Array.of(2, 2, 0, 0));
  const expected = (picture.data[(2 * 8 + 2) * 3] ?? 0) + (picture.data[(2 * 8 + 3) * 3] ?? 0);
  expect(Math.abs(Number(pixels?.data[1 * 4 + 1]) - expected / 2)).toBeLessThanOrEqual(2);
  expect(pixels?.data[3 * 4]).toBe(0);
});

test("what is no number is refused by its row", async () => {
  const module = await open({ options: { image: { size: [1, 1] }, size: [1, 1] }, folder });
  const image = { data: Float32Array.of(0, 0, 0, 0, Number.NaN, 0), shape: [2, 3, 1, 1] };
  await expect(module.run({ image }, 2)).rejects.toMatchObject({
    rows: [1],
    message: 'input "image" row 1: expected numbers, got NaN at 1',
  });
});

test("how the tensor is written has to be said", async () => {
  await expect(open({ options: { size: [1, 1] }, folder })).rejects.toThrow(
    "resize-image image: expected an object that says what the tensor is, got nothing",
  );
  const options = { image: { size: [1, 1], colour: "red" }, size: [1, 1] };
  await expect(open({ options, folder })).rejects.toThrow(
    'resize-image image: found the option "colour"',
  );
});
