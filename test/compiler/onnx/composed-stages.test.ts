import { expect, test } from "vitest";
import {
  chainModel,
  inceptionModel,
  residualModel,
  transformerModel,
} from "../../support/onnx-graphs.ts";
import {
  cutAt,
  layersOf,
  randomTensor,
  relativeDifference,
  runStages,
  runWhole,
} from "../../support/onnx-stages.ts";

const IMAGE = [1, 3, 6, 6];
/** `wide`: cuts that several tensors cross, counted by hand. */
const NETS = [
  { net: "a chain", model: chainModel(), shape: IMAGE, layers: 9, wide: 0 },
  { net: "a residual net", model: residualModel(), shape: IMAGE, layers: 21, wide: 10 },
  { net: "a branching net", model: inceptionModel(), shape: IMAGE, layers: 31, wide: 24 },
  { net: "a transformer", model: transformerModel(), shape: [1, 5, 8], layers: 31, wide: 26 },
];

test.each(NETS)("stages of $net agree with the whole, wherever it is cut", async (one) => {
  const { model, shape, layers, wide } = one;
  const layered = await layersOf(model);
  expect(layered.layerCount).toBe(layers);
  const feeds = new Map([["x", randomTensor(shape, 5)]]);
  const whole = (await runWhole(model, feeds)).get("y");
  const cuts = Array.from({ length: layers - 1 }, (_, at) => [at + 1]);
  const third = Math.floor(layers / 3);
  const many = [[third, 2 * third], [1, 2, layers - 1], cuts.flat()];
  let wideCuts = 0;
  for (const ends of [[], ...cuts, ...many]) {
    const stages = cutAt(layered, ends);
    if (ends.length === 1 && (stages[0]?.outputs.length ?? 0) > 1) wideCuts++;
    const values = await runStages(stages, feeds);
    expect(relativeDifference(values.get("y"), whole), `cut at ${ends}`).toBeLessThan(1e-5);
  }
  expect(wideCuts).toBe(wide);
});

test("the same layers are the same bytes, whenever they are asked for", async () => {
  const [first, second] = [await layersOf(residualModel()), await layersOf(residualModel())];
  const bytes = first.stage(3, 9).bytes;
  first.stage(0, 21);
  expect(first.stage(3, 9).bytes).toEqual(bytes);
  expect(second.stage(3, 9).bytes).toEqual(bytes);
});

test("a stage holds only the weights it needs, and shared ones where each is", async () => {
  const layered = await layersOf(residualModel());
  const convolutions = layered.layerNames.flatMap((name, at) => (name === "Conv" ? [at] : []));
  const [, first, , second] = convolutions;
  const sharedBytes = 4 * (4 * 4 * 9 + 4);
  for (const at of [first ?? 0, second ?? 0]) {
    const { length } = layered.stage(at, at + 1).bytes;
    expect(length).toBeGreaterThan(sharedBytes);
    expect(length).toBeLessThan(sharedBytes + 400);
  }
  const relu = layered.layerNames.indexOf("Relu");
  expect(layered.stage(relu, relu + 1).bytes.length).toBeLessThan(200);
});

test("names layers by their operators, and describes tensors of one instance", async () => {
  const layered = await layersOf(chainModel());
  expect(layered.layerNames.join(" ")).toBe(
    "Conv Relu Conv Relu MaxPool GlobalAveragePool Flatten Gemm Softmax",
  );
  const { inputs, outputs } = layered.stage(0, 5);
  expect(inputs).toEqual([{ name: "x", dtype: "float32", shape: [1, 3, 6, 6] }]);
  expect(outputs).toMatchObject([{ dtype: "float32", shape: [1, 6, 3, 3] }]);
});

test("refuses layers that there are not", async () => {
  const layered = await layersOf(chainModel());
  for (const [from, to] of [
    [-1, 2],
    [2, 2],
    [3, 2],
    [0, 10],
  ] as const) {
    expect(() => layered.stage(from, to)).toThrow(RangeError);
  }
});
