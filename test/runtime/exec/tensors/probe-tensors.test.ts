import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import {
  TensorProto_DataType as DataType,
  ValueInfoProtoSchema,
} from "../../../../compiler/onnx/onnx-pb.ts";
import { type ProbeRun, probeTensors } from "../../../../runtime/exec/tensors/probe-tensors.ts";
import { GraphBuilder, modelOf, tensorOf } from "../../../support/onnx-graphs.ts";

const DTYPES = new Set(["float32", "int64"]);

/** A model of `x` float32 [1, 3] whose outputs have no types of their own. */
function modelOfNodes(g: GraphBuilder, outputs: readonly string[], opset = 21n): Uint8Array {
  const untyped = outputs.map((name) => create(ValueInfoProtoSchema, { name }));
  const opsetImport = [{ domain: "", version: opset }];
  return modelOf(g.graph([tensorOf("x", [1, 3])], untyped), { opsetImport, irVersion: 10n });
}

function runOf(values: readonly number[], mayBeRefused = false, shape = [1, 3]): ProbeRun {
  const bytes = new Uint8Array(Float32Array.from(values).buffer);
  return { inputs: [{ name: "x", dtype: "float32", shape, bytes }], mayBeRefused };
}

test("tells element type, shape of every run, and what is inferred without one", async () => {
  const g = new GraphBuilder();
  const found = g.node("NonZero", ["x"]);
  const sum = g.node("ReduceSum", ["x"], { keepdims: 0 });
  const runs = [runOf([1, 2, 3]), runOf([0, 2, 0])];
  const probed = await probeTensors(modelOfNodes(g, [found, sum]), { runs, dtypes: DTYPES });
  const ranMs = expect.any(Number);
  const found1 = { dtype: "int64", shape: [2, 3], inferredShape: [2, -1], ranMs };
  const scalar = { dtype: "float32", shape: [], inferredShape: [], ranMs };
  expect(probed?.map((tensors) => [...tensors])).toEqual([
    [
      [found, found1],
      [sum, scalar],
    ],
    [
      [found, { ...found1, shape: [2, 1] }],
      [sum, scalar],
    ],
  ]);
});

test("looks only at dense tensors of the wanted types", async () => {
  const g = new GraphBuilder();
  const sequence = g.node("SequenceConstruct", ["x"]);
  const optional = g.node("Optional", ["x"]);
  const text = g.node("Cast", ["x"], { to: DataType.STRING });
  const small = g.node("Cast", ["x"], { to: DataType.INT4 });
  const model = modelOfNodes(g, [sequence, optional, text, small]);
  const probed = await probeTensors(model, { runs: [runOf([1, 2, 3])], dtypes: DTYPES });
  expect(probed).toEqual([new Map()]);
});

test("gives null for an output of a type that the binding cannot name", async () => {
  const g = new GraphBuilder();
  const model = modelOfNodes(g, [g.node("Cast", ["x"], { to: DataType.BFLOAT16 })]);
  expect(await probeTensors(model, { runs: [runOf([1, 2, 3])], dtypes: DTYPES })).toBeNull();
});

test("leaves out a run that may be refused, and tells why another one is", async () => {
  const g = new GraphBuilder();
  const index = g.node("Cast", ["x"], { to: DataType.INT64 });
  const model = modelOfNodes(g, [g.node("Gather", [g.weight([2, 1]), index])]);
  const inside = runOf([0, 1, 0]);
  const probed = await probeTensors(model, {
    runs: [inside, runOf([9, 9, 9], true), inside],
    dtypes: DTYPES,
  });
  expect(probed).toHaveLength(2);
  const refused = probeTensors(model, { runs: [runOf([9, 9, 9])], dtypes: DTYPES });
  await expect(refused).rejects.toThrow(/^[^\n]*out of (data )?bounds[^\n]*$/);
});

test("refuses a model in the words of onnxruntime, without the place in its source", async () => {
  const g = new GraphBuilder();
  const model = modelOfNodes(g, [g.relu("x")], 99n);
  const refused = probeTensors(model, { runs: [], dtypes: DTYPES });
  await expect(refused).rejects.toThrow(/^ONNX Runtime only [^\n]* is till opset \d+\.$/);
});
