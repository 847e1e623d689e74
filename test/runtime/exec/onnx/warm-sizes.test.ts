import { expect, test } from "vitest";
import { warmSizes } from "../../../../runtime/exec/onnx/warm-sizes.ts";

test("a processor runs what tables name; a GPU whatever may come", () => {
  const variant = { warmBatches: [3, 1], largestBatch: 9 };
  expect(warmSizes(variant, "cpu")).toEqual([1, 3]);
  expect(warmSizes(variant, "cuda")).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
  expect(warmSizes(variant, "tensorrt")).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
  expect(warmSizes(variant, "webgpu")).toEqual([1, 2, 3, 4, 8, 9]);
});

test("nothing is added where no other batches come", () => {
  expect(warmSizes({ warmBatches: [4] }, "cuda")).toEqual([4]);
  expect(warmSizes({ warmBatches: [], largestBatch: 0 }, "webgpu")).toEqual([]);
});
