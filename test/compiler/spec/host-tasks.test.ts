/** Variants that are no ONNX files, as specs have them. */
import { join } from "node:path";
import { expect, test } from "vitest";
import { loadApplication } from "../../../compiler/spec/load-application.ts";
import { edited, folderOf, mistakeOf, PROFILE, SPEC } from "./spec-folder.ts";

/** A folder with a spec whose first variant has this besides. */
function folderWith(variant: string): string {
  const app = edited(
    SPEC,
    "profile: profile.json#small",
    `profile: profile.json#small, ${variant}`,
  );
  return folderOf({ "app.yaml": app, "profile.json": PROFILE, "crop.mjs": "export default 1" });
}

function variantOf(folder: string) {
  const { application, inputs } = loadApplication(join(folder, "app.yaml"));
  return { variant: application.tasks[0]?.variants[0], inputs };
}

test("a module is a file beside the spec, which the bundle is made of", () => {
  const folder = folderWith(
    "kind: module, model: ./crop.mjs, options: { b: [2, { d: 1, c: 2 }], a: x }",
  );
  const { variant, inputs } = variantOf(folder);
  const path = join(folder, "crop.mjs");
  const options = '{"a":"x","b":[2,{"c":2,"d":1}]}';
  expect(variant).toMatchObject({
    model: `${path} ${options}`,
    host: { kind: "module", path, specifier: null, options, folder },
  });
  expect(inputs.map((input) => input.path)).toEqual(["app.yaml", "crop.mjs", "profile.json"]);
});

test("or what a package has", () => {
  const folder = folderWith("kind: module, model: stratagem-kit/decode-image");
  const specifier = "stratagem-kit/decode-image";
  const { variant, inputs } = variantOf(folder);
  expect(variant).toMatchObject({
    model: specifier,
    host: { kind: "module", path: null, specifier, options: "{}", folder },
  });
  expect(inputs).toHaveLength(2);
});

test("a model of another server has its URL", () => {
  const { variant } = variantOf(folderWith("kind: remote, url: http://gpu:8000/, model: resnet"));
  expect(variant).toMatchObject({
    model: "http://gpu:8000/v2/models/resnet",
    host: { kind: "remote", url: "http://gpu:8000", model: "resnet" },
  });
});

const LONG = "x".repeat(40_000);
const AT = "app.yaml:12 tasks[0].variants[0]";
const URL_FORM = "expected an http or https URL without credentials such as http://localhost:8000";
test.each([
  [
    "kind: modul, model: ./crop.mjs",
    `INPUT_INVALID_VALUE ${AT}.kind: expected one of "onnx", "module", "remote", got "modul"; ` +
      'did you mean "module"?',
  ],
  [
    "model: crop.onnx, options: { a: 1 }",
    `INPUT_CONFLICT ${AT}.options: expected none for kind: onnx; only kind: module has options`,
  ],
  [
    "kind: module, model: ./crop.mjs, url: http://gpu:8000",
    `INPUT_CONFLICT ${AT}.url: expected none for kind: module; only kind: remote has a url`,
  ],
  [
    "kind: remote, model: resnet",
    `INPUT_MISSING_KEY ${AT}.url: missing; expected the server, such as http://host:8000`,
  ],
  [
    "kind: remote, url: http://gpu:8000",
    `INPUT_MISSING_KEY ${AT}.model: missing; expected the name of a model of that server`,
  ],
  [
    "kind: module",
    `INPUT_MISSING_KEY ${AT}.model: missing; expected a path such as ./crop.mjs, or the ` +
      "specifier of a package",
  ],
  [
    "kind: module, model: node:fs",
    `INPUT_INVALID_VALUE ${AT}.model: expected a path such as ./crop.mjs, or the specifier of a ` +
      'package such as package/entry, got "node:fs"',
  ],
  [
    "model: ./crop.mjs",
    `INPUT_INVALID_VALUE ${AT}.model: expected an ONNX file, got "./crop.mjs"; code needs ` +
      "kind: module",
  ],
  [
    "kind: module, model: ./crap.mjs",
    `INPUT_UNREADABLE ${AT}.model: expected a readable file, got "./crap.mjs" (no such file)`,
  ],
  [
    "kind: module, model: ./crop.mjs, options: [1]",
    `INPUT_INVALID_VALUE ${AT}.options: expected a mapping of JSON values, got a list`,
  ],
  [
    "kind: module, model: ./crop.mjs, options: { a: .inf }",
    `INPUT_INVALID_VALUE ${AT}.options: expected a mapping of JSON values, ` + "got a mapping",
  ],
  [
    `kind: module, model: ./crop.mjs, options: { a: ${LONG}, b: ${LONG} }`,
    `INPUT_INVALID_VALUE ${AT}.options: expected at most 65536 characters as JSON, got 80015`,
  ],
  [
    "kind: remote, model: m, url: ftp://gpu",
    `INPUT_INVALID_VALUE ${AT}.url: ${URL_FORM}, got "ftp://gpu"`,
  ],
  [
    'kind: remote, model: m, url: "http://me:secret@gpu"',
    `INPUT_INVALID_VALUE ${AT}.url: ${URL_FORM}, got "http://me:secret@gpu"`,
  ],
])("refuses %#", (variant, message) => {
  const folder = folderWith(variant);
  expect(mistakeOf(folder, () => loadApplication(join(folder, "app.yaml")))).toBe(message);
});
