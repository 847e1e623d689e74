/** Variants of several ONNX files, as specs have them. */
import { join } from "node:path";
import { expect, test } from "vitest";
import { loadApplication } from "../../../compiler/spec/load-application.ts";
import { edited, folderOf, mistakeOf, PROFILE, SPEC } from "./spec-folder.ts";

function folderWith(variant: string): string {
  const profile = "profile: profile.json#small";
  const app = edited(SPEC, profile, `${profile}, ${variant}`);
  return folderOf({ "app.yaml": app, "profile.json": PROFILE, "a.onnx": "a", "b.onnx": "b" });
}

test("files that run in a row are all what the bundle is made of", () => {
  const folder = folderWith("model: [a.onnx, b.onnx]");
  const { application, inputs } = loadApplication(join(folder, "app.yaml"));
  const chain = [join(folder, "a.onnx"), join(folder, "b.onnx")];
  expect(application.tasks[0]?.variants[0]).toMatchObject({ chain, model: chain.join(" + ") });
  expect(inputs.map(({ path }) => path)).toEqual(["a.onnx", "app.yaml", "b.onnx", "profile.json"]);
});

test.each([
  [
    "one file in a list",
    "model: [a.onnx]",
    "expected a list of at least two ONNX files, got a list",
  ],
  ["a file that is missing", "model: [a.onnx, c.onnx]", 'got "c.onnx" (no such file)'],
  [
    "a list of modules",
    "kind: module, model: [./a.mjs, ./b.mjs]",
    "expected one name for kind: module, got a list",
  ],
])("refuses %s", (_, variant, message) => {
  const folder = folderWith(variant);
  expect(mistakeOf(folder, () => loadApplication(join(folder, "app.yaml")))).toContain(message);
});
