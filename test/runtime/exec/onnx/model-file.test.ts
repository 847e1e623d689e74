import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { MODEL_GRAPH, onnxModel } from "../../../../lab/models/onnx-graph.ts";
import { bytes, string } from "../../../../lab/models/onnx-protobuf.ts";
import { describeModel } from "../../../../runtime/exec/onnx/model-file.ts";
import { identityModel } from "../../../support/onnx-model.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-model-"));
afterAll(() => rmSync(folder, { recursive: true }));

test("records digest and tensors, with -1 for a dynamic dimension", async () => {
  const model = identityModel(7);
  writeFileSync(join(folder, "identity.onnx"), model);
  const tensor = { dtype: "float32", shape: [-1, 7] };
  expect((await describeModel(join(folder, "identity.onnx"))).model).toEqual({
    file: "identity.onnx",
    sha256: createHash("sha256").update(model).digest("hex"),
    inputs: [{ name: "x", ...tensor }],
    outputs: [{ name: "y", ...tensor }],
  });
});

test("refuses bytes that are no model", async () => {
  writeFileSync(join(folder, "broken.onnx"), "not a model");
  await expect(describeModel(join(folder, "broken.onnx"))).rejects.toThrow(/protobuf|parse/i);
});

test("outputs that are no tensors are left out", async () => {
  const nodes = [
    { op: "Identity", inputs: ["x"], output: "y" },
    { op: "SplitToSequence", inputs: ["x"], output: "rows" },
  ];
  const x = { name: "x", type: "float32", shape: ["n", 3] } as const;
  const y = { name: "y", type: "float32", shape: ["n", 3] } as const;
  const graph = { inputs: [{ ...x, shape: [...x.shape] }], nodes };
  // Messages of protobuf that come twice are one: an output whose type is inferred.
  const sequence = bytes(MODEL_GRAPH, bytes(12, string(1, "rows")));
  const path = join(folder, "sequence.onnx");
  const both = onnxModel({ ...graph, outputs: [{ ...y, shape: [...y.shape] }] });
  writeFileSync(path, Uint8Array.from([...both, ...sequence]));
  const { model, others } = await describeModel(path);
  expect([model.outputs.map(({ name }) => name), others]).toEqual([["y"], ["rows"]]);
  writeFileSync(path, Uint8Array.from([...onnxModel({ ...graph, outputs: [] }), ...sequence]));
  await expect(describeModel(path)).rejects.toThrow(/"rows" is a sequence.*zipmap=False/);
});
