import { defaultDevice } from "stratagem-runtime/internal/exec/models/worker-device";
import { expect, test } from "vitest";
import type { TensorInfo } from "../../../../runtime/bundle/schema.ts";
import type { VariantModel } from "../../../../runtime/exec/models/executor.ts";
import { OnnxModel } from "../../../../runtime/exec/onnx/onnx-session.ts";
import { GraphBuilder, modelOf, tensorOf } from "../../../support/onnx-graphs.ts";
import { modelFile } from "../../../support/onnx-stages.ts";

const INT64 = 7;

/** y = x + bias with these shapes. */
function load(shapes: { x: number[]; bias: number[]; y: number[] }): Promise<OnnxModel> {
  const g = new GraphBuilder();
  g.node("Add", ["x", "bias"], {}, { output: ["y"] });
  const tensor = (name: "x" | "bias" | "y") =>
    tensorOf(
      name,
      shapes[name].map((size) => (size < 0 ? "batch" : size)),
    );
  const info = (name: "x" | "bias" | "y"): TensorInfo => ({
    name,
    dtype: "float32",
    shape: shapes[name],
  });
  const variant = {
    name: "sum",
    path: modelFile(modelOf(g.graph([tensor("x"), tensor("bias")], [tensor("y")]))),
    inputs: [info("x"), info("bias")],
    outputs: [info("y")],
    outputsAreRows: false,
    warmBatches: [1, 2],
  };
  const setup = { on: defaultDevice("cpu"), threads: 1, trying: false } as const;
  return OnnxModel.load(variant, 1, { ...setup, variants: [variant], keptModels: null });
}

const bytesOf = (...values: number[]) => new Uint8Array(Float32Array.from(values).buffer);
const floatsOf = (bytes: Uint8Array) => [...new Float32Array(bytes.slice().buffer)];

test("a tensor of a fixed shape has that shape, whether or not rows lead it", async () => {
  const model = await load({ x: [2, 1, 2], bias: [], y: [2, 1, 2] });
  const { outputs } = await model.run(1, [bytesOf(1, 2, 3, 4), bytesOf(10)]);
  expect(outputs[0]?.shape).toEqual([2, 1, 2]);
  expect(floatsOf(outputs[0]?.bytes ?? new Uint8Array())).toEqual([11, 12, 13, 14]);
  const short = model.run(1, [bytesOf(1, 2, 3, 4), new Uint8Array(8)]);
  await expect(short).rejects.toThrow('input "bias": float32 [] takes 4 bytes, got 8');
  await model.release();
});

test("an open first dimension is the number of rows, beside fixed shapes", async () => {
  const model = await load({ x: [-1, 2], bias: [2], y: [-1, 2] });
  const { outputs } = await model.run(2, [bytesOf(1, 2, 3, 4), bytesOf(10, 20)]);
  expect(outputs[0]?.shape).toEqual([2, 2]);
  expect(floatsOf(outputs[0]?.bytes ?? new Uint8Array())).toEqual([11, 22, 13, 24]);
  const short = model.run(2, [bytesOf(1, 2), bytesOf(10, 20)]);
  await expect(short).rejects.toThrow("2 rows of float32 [-1, 2] take 16 bytes, got 8");
  await model.release();
});

test("a stage that refuses zeros is loaded where it may, and else by name not", async () => {
  const g = new GraphBuilder();
  g.node("Reshape", ["x", "to"], { allowzero: 1 }, { output: ["y"] });
  const tensors = [tensorOf("x", ["batch", 2]), tensorOf("to", [2], INT64)];
  const graph = g.graph(tensors, [tensorOf("y", ["batch", 2])]);
  const variant = {
    name: "stage",
    path: modelFile(modelOf(graph)),
    inputs: [
      { name: "x", dtype: "float32", shape: [-1, 2] },
      { name: "to", dtype: "int64", shape: [2] },
    ],
    outputs: [{ name: "y", dtype: "float32", shape: [-1, 2] }],
    warmBatches: [1],
  };
  const setup = { on: defaultDevice("cpu"), threads: 1, trying: false } as const;
  const loaded = (one: VariantModel) =>
    OnnxModel.load(one, 1, { ...setup, variants: [one], keptModels: null });
  await expect(loaded(variant)).rejects.toThrow(/^stage .* on cpu: /);
  const model = await loaded({ ...variant, mayRefuseZeros: true });
  expect(model.facts).toMatchObject({ nodes: null, cpuNodes: [], hasFallback: false });
  expect(model.facts.warmMs).toBeGreaterThan(0);
  await model.release();
});
