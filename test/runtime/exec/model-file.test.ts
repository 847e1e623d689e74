import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { describeModel } from "../../../runtime/exec/model-file.ts";
import { identityModel } from "../../support/onnx-model.ts";

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
