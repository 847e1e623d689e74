/** What bundles say of tasks that are no ONNX files. */
import { expect, test } from "vitest";
import { modelFile } from "../../../runtime/bundle/common-fields.ts";
import { checkModel } from "../../../runtime/bundle/table-semantics.ts";

const tensor = { name: "x", dtype: "float32", shape: [-1] };
const FILE = { file: "a.mjs", sha256: "0".repeat(64), inputs: [tensor], outputs: [tensor] };
const module = { specifier: null, options: "{}" };
const remote = { url: "http://gpu:8000/base", model: "m" };

test.each([
  FILE,
  { ...FILE, module },
  { ...FILE, module: { specifier: "@scope/kit/decode-image", options: '{"a":[1]}' } },
  { ...FILE, remote },
])("is read as it stands: %#", (file) => {
  expect(modelFile.read(file, "model")).toEqual(file);
});

test.each([
  [{ ...FILE, module: { ...module, specifier: "../../etc/x.mjs" } }, /model\.module\.specifier: /],
  [{ ...FILE, module: { ...module, specifier: "kit/../x" } }, /model\.module\.specifier: /],
  [{ ...FILE, module: { ...module, specifier: "/etc/x.mjs" } }, /model\.module\.specifier: /],
  [{ ...FILE, module: { ...module, specifier: "node:fs" } }, /expected what a package has/],
  [{ ...FILE, module: { ...module, options: "{" } }, /options: expected JSON of at most 65536/],
  [{ ...FILE, module: { ...module, options: `"${"x".repeat(65_536)}"` } }, /expected JSON of at/],
  [{ ...FILE, module: { ...module, more: 1 } }, /only the keys options, specifier/],
  [{ ...FILE, remote: { ...remote, url: "file:///etc" } }, /remote\.url: expected the URL of a/],
  [{ ...FILE, remote: { ...remote, url: "http://me:pw@gpu" } }, /remote\.url: /],
  [{ ...FILE, remote: { url: remote.url } }, /the key "model"/],
])("is refused: %#", (file, message) => {
  expect(() => modelFile.read(file, "model")).toThrow(message);
});

test("is not both of a module and of another server", () => {
  const file = modelFile.read({ ...FILE, module, remote }, "model");
  expect(() => checkModel(file, "model")).toThrow("model.remote: expected one of the two");
});
