/** What a worker makes of rows for a model that has them elsewhere, and of what that gives. */
import { expect, test } from "vitest";
import { onnxModel } from "../../../../lab/models/onnx-graph.ts";
import type { ModelAdapter } from "../../../../runtime/bundle/schema.ts";
import { Rng } from "../../../../runtime/core/rng.ts";
import { AdaptedModel } from "../../../../runtime/exec/adapter/adapted-model.ts";
import { rowsMovedFrom, rowsMovedTo } from "../../../../runtime/exec/adapter/moved-rows.ts";
import { resized } from "../../../../runtime/exec/adapter/resized.ts";
import type { VariantModel } from "../../../../runtime/exec/models/executor.ts";
import { InferenceSession, Tensor } from "../../../../runtime/exec/tensors/onnxruntime.ts";
import { decodeStrings, stringOf } from "../../../../runtime/exec/tensors/string-data.ts";

const PLAIN = { as: "tensor", k: null, labels: null, blank: null } as const;

function bytesOf(values: readonly number[]): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Float32Array.from(values).buffer);
}

function numbersIn({ buffer, byteOffset, length }: Uint8Array): number[] {
  return [...new Float32Array(buffer as ArrayBuffer, byteOffset, length / 4)];
}

function adapted(adapter: ModelAdapter, inputs: VariantModel["inputs"], buckets = {}) {
  const outputs = adapter.outputs.map(({ name }) => ({ name, dtype: "float32", shape: [-1] }));
  const variant = { name: "v", path: "v.onnx", inputs, outputs, adapter, warmBatches: [] };
  return new AdaptedModel({ ...variant, ...buckets }, adapter);
}

test("rows go to another axis and come back, as a transposition does it", () => {
  const values = Array.from({ length: 2 * 3 * 4 }, (_, index) => index);
  const moved = rowsMovedTo(1, bytesOf(values), 3, [2, 4], 4);
  const expected = [0, 1].flatMap((outer) =>
    [0, 1, 2].flatMap((row) => [0, 1, 2, 3].map((inner) => row * 8 + outer * 4 + inner)),
  );
  expect(numbersIn(moved)).toEqual(expected);
  expect(numbersIn(rowsMovedFrom(1, moved, 3, [2, 4], 4))).toEqual(values);
});

test("feeds rows, constants and an axis of rows that is the second one", () => {
  const model = adapted(
    {
      maxRows: null,
      inputs: [
        input("x", [-1, 2], 0, 0),
        input("state", [2, -1, 3], 1, 1),
        { ...input("rate", [], null, null), dtype: "int64", constant: 16_000 },
      ],
      outputs: [{ name: "y", batchAxis: 0, ...PLAIN }],
    },
    [
      { name: "audio", dtype: "float32", shape: [-1, 2] },
      { name: "memory", dtype: "float32", shape: [-1, 2, 3] },
    ],
  );
  const memory = Array.from({ length: 12 }, (_, index) => index);
  const feeds = model.feeds(2, [bytesOf([1, 2, 3, 4]), bytesOf(memory)], 0);
  expect(feeds["x"]?.dims).toEqual([2, 2]);
  expect(feeds["state"]?.dims).toEqual([2, 2, 3]);
  expect([...(feeds["state"]?.data ?? [])]).toEqual([0, 1, 2, 6, 7, 8, 3, 4, 5, 9, 10, 11]);
  expect(feeds["rate"]?.dims).toEqual([]);
  expect([...(feeds["rate"]?.data ?? [])]).toEqual([16_000n]);
  expect(() => model.feeds(2, [bytesOf([1, 2, 3]), bytesOf(memory)], 0)).toThrow(
    'input "audio": expected 4, 2 rows of [2], got 3 elements',
  );
});

test("a model of one row at a time refuses more", () => {
  const adapter = { maxRows: 1, inputs: [input("x", [2], null, 0)], outputs: [] };
  const model = adapted(adapter, [{ name: "x", dtype: "float32", shape: [1, 2] }]);
  expect(model.feeds(1, [bytesOf([1, 2])], 0)["x"]?.dims).toEqual([2]);
  expect(() => model.feeds(2, [bytesOf([1, 2, 3, 4])], 0)).toThrow(
    "expected at most 1 rows in a batch, got 2",
  );
});

test("rows of a bucket have its sizes", () => {
  const adapter = {
    maxRows: null,
    inputs: [input("x", [-1, -1, -1], 0, 0)],
    outputs: [{ name: "y", batchAxis: 0, ...PLAIN }],
  };
  const axis = (at: number, sizes: number[]) => {
    return { inputs: [{ input: 0, axis: at }], sizes, padding: 0 };
  };
  const model = adapted(adapter, [{ name: "x", dtype: "float32", shape: [-1, -1, -1] }], {
    buckets: [axis(1, [1, 2]), axis(2, [3, 6])],
  });
  const six = bytesOf([1, 2, 3, 4, 5, 6]);
  expect(model.feeds(1, [six], 1)["x"]?.dims).toEqual([1, 1, 6]);
  expect(model.feeds(1, [six], 2)["x"]?.dims).toEqual([1, 2, 3]);
});

test.each([
  ["fill", 5, 7, 3, 4],
  ["fill", 4, 4, 9, 6],
  ["pad", 4, 8, 6, 6],
] as const)("resizes (%s %i×%i to %i×%i) as onnxruntime does", async (fit, h, w, toH, toW) => {
  const rng = new Rng(7, 1);
  const values = Array.from({ length: 2 * h * w }, () => Math.fround(rng.nextFloat()));
  const options = { fit, padding: -1 };
  const size = { height: toH, width: toW, channels: 1 };
  const found = numbersIn(
    resized(bytesOf(values), "float32", { height: h, width: w, channels: 1 }, size, options),
  );
  const [inH, inW] = fit === "fill" ? [toH, toW] : [3, 6];
  const wanted = await resizedByOnnx(values, [1, 2, h, w], [1, 2, inH, inW]);
  for (let image = 0; image < 2; image++) {
    for (let y = 0; y < toH; y++) {
      for (let x = 0; x < toW; x++) {
        const isIn = y < inH && x < inW;
        const expected = isIn ? wanted[(image * inH + y) * inW + x] : -1;
        expect(found[(image * toH + y) * toW + x]).toBeCloseTo(expected ?? Number.NaN, 5);
      }
    }
  }
});

test("tells classes, probabilities and text instead of numbers", async () => {
  const rows = [
    [
      [0, 9, 1],
      [0, 9, 1],
      [8, 0, 0],
      [0, 0, 7],
    ],
    [
      [9, 0, 0],
      [0, 1, 0],
      [9, 0, 0],
      [0, 3, 0],
    ],
  ];
  const tensor = new Tensor("float32", Float32Array.from(rows.flat(2)), [2, 4, 3]);
  const formed = (as: ModelAdapter["outputs"][number]["as"], more = {}) => {
    const output = { ...PLAIN, name: "y", batchAxis: 0, as, ...more };
    const model = adapted({ maxRows: null, inputs: [], outputs: [output] }, []);
    const [first] = model.outputs(2, { y: tensor }, false);
    return first ?? { shape: [], bytes: new Uint8Array() };
  };
  const ctc = { labels: ["a", "b"], blank: 0 };
  const text = formed("ctc", ctc);
  expect(text.shape).toEqual([2]);
  expect(decodeStrings(text.bytes, stringOf)).toEqual(["ab", "aa"]);
  expect(numbersIn(formed("ctc-confidence", ctc).bytes)).toEqual([8, 2]);
  const best = formed("argmax");
  expect(best.shape).toEqual([2, 4]);
  expect([...new BigInt64Array(best.bytes.buffer)]).toEqual([1n, 1n, 0n, 2n, 0n, 1n, 0n, 1n]);
  const top = formed("top-k", { k: 2, labels: ["x", "y", "z"] });
  expect(top.shape).toEqual([2, 4, 2]);
  expect(decodeStrings(top.bytes, stringOf).slice(0, 2)).toEqual(["9.000000:1:y", "1.000000:2:z"]);
  const soft = numbersIn(formed("softmax").bytes);
  expect(soft.slice(0, 3).reduce((sum, value) => sum + value, 0)).toBeCloseTo(1, 6);
  expect(soft[1]).toBeCloseTo(Math.exp(9) / (Math.exp(9) + Math.exp(1) + 1), 6);
  expect(() => formed("ctc", { labels: ["a"], blank: 0 })).toThrow(
    'output "y" has 3 classes, expected 2: 1 labels and a blank',
  );
});

function input(
  name: string,
  shape: readonly number[],
  batchAxis: number | null,
  from: number | null,
) {
  return { name, dtype: "float32", shape, batchAxis, from, constant: null, resize: null };
}

test.each(["fill", "pad"] as const)("resizes images with channels last (%s)", (fit) => {
  const rng = new Rng(7, 1);
  const planes = Array.from({ length: 2 * 3 * 5 * 7 }, () => Math.fround(rng.nextFloat()));
  const feedsOf = (own: number[], row: number[], values: number[]) => {
    const resize = { fit, padding: -1 };
    const resized = { ...input("image", [-1, ...own], 0, 0), resize };
    const inputs = [{ name: "x", dtype: "float32", shape: [-1, ...row] }];
    const adapter = { maxRows: null, inputs: [resized], outputs: [] };
    return adapted(adapter, inputs).feeds(2, [bytesOf(values)], 0)["image"];
  };
  const first = feedsOf([3, 6, 9], [3, 5, 7], planes);
  const interleaved = channelsLast(planes, 5 * 7);
  const last = feedsOf([6, 9, 3], [5, 7, 3], interleaved);
  expect(last?.dims).toEqual([2, 6, 9, 3]);
  const numbers = (tensor: Tensor | undefined) => Array.from(tensor?.data ?? [], Number);
  expect(numbers(last)).toEqual(channelsLast(numbers(first), 6 * 9));
});

/** Moves the three channels of images behind their pixels. */
function channelsLast(planes: readonly number[], pixels: number): number[] {
  return planes.map((_, at) => {
    const [image, inImage] = [Math.floor(at / (3 * pixels)), at % (3 * pixels)];
    const place = image * 3 * pixels + (inImage % 3) * pixels + Math.floor(inImage / 3);
    return planes[place] ?? Number.NaN;
  });
}

async function resizedByOnnx(values: number[], from: number[], to: number[]): Promise<number[]> {
  const model = onnxModel({
    nodes: [
      { op: "Resize", inputs: ["x", "", "", "sizes"], output: "y", attributes: {}, texts: LINEAR },
    ],
    constants: [{ name: "sizes", type: "int64", shape: [4], values: to }],
    inputs: [{ name: "x", type: "float32", shape: from }],
    outputs: [{ name: "y", type: "float32", shape: to }],
  });
  const session = await InferenceSession.create(model);
  const feeds = { x: new Tensor("float32", Float32Array.from(values), from) };
  const data = (await session.run(feeds))["y"]?.data;
  if (!(data instanceof Float32Array)) throw new TypeError("expected float32");
  return [...data];
}

const LINEAR = { mode: "linear", coordinate_transformation_mode: "half_pixel" };
