import { expect, test } from "vitest";
import { fillWithNoise } from "../../../../runtime/exec/models/noise.ts";

test.each([
  ["float32", (bytes: Uint8Array<ArrayBuffer>) => [...new Float32Array(bytes.buffer)]],
  ["float64", (bytes: Uint8Array<ArrayBuffer>) => [...new Float64Array(bytes.buffer)]],
])("numbers of %s are in [0, 1), to the last", (dtype, valuesOf) => {
  const bytes = new Uint8Array(2 ** 16 + 64);
  fillWithNoise(dtype, bytes);
  const values = valuesOf(bytes);
  expect(Math.min(...values)).toBeGreaterThanOrEqual(0);
  expect(Math.max(...values)).toBeLessThan(1);
  expect(new Set(values).size).toBeGreaterThan(1000);
  expect(values.at(-1)).not.toBe(0);
});

test("half floats are in [½, 1), and pixels of all values", () => {
  const halves = new Uint8Array(256);
  fillWithNoise("float16", halves);
  for (const bits of new Uint16Array(halves.buffer)) expect(bits >> 10).toBe(0x3800 >> 10);
  const pixels = new Uint8Array(4096);
  fillWithNoise("uint8", pixels);
  expect(new Set(pixels).size).toBe(256);
});

test.each(["int64", "int32", "bool", "string"])("what may be an index stays: %s", (dtype) => {
  const bytes = new Uint8Array(64);
  fillWithNoise(dtype, bytes);
  expect(bytes).toEqual(new Uint8Array(64));
});
