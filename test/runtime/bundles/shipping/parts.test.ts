/** Which files a bundle names, and whether those of a folder are they. */
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import type { ModelFile, RamsisBundle } from "../../../../runtime/bundle/schema.ts";
import { loadBundle } from "../../../../runtime/bundles/load-bundle.ts";
import { digestOfFile } from "../../../../runtime/bundles/shipping/file-digest.ts";
import { checkedParts, isFileOf } from "../../../../runtime/bundles/shipping/part-files.ts";
import { partsOf } from "../../../../runtime/bundles/shipping/parts.ts";
import { sidecarOf } from "../../../../runtime/bundles/shipping/sidecars.ts";
import { wholeModel } from "../../../../runtime/exec/files/whole-model.ts";
import { splitModel, weightsOf } from "../../../support/split-model.ts";
import { tinyBundle } from "../../../support/tiny-bundle.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-parts-"));
afterAll(() => rmSync(folder, { recursive: true }));

const digest = (bytes: string) => createHash("sha256").update(bytes).digest("hex");
const tensors = [{ name: "x", dtype: "float32", shape: [-1, 3] }];
const model = (file: string, more: Partial<ModelFile> = {}): ModelFile => ({
  file,
  sha256: digest(file),
  inputs: tensors,
  outputs: tensors,
  ...more,
});

/** With two variants. */
function bundleOf(...models: readonly (ModelFile | null)[]): RamsisBundle {
  const bundle = tinyBundle();
  const tasks = bundle.tasks.map((task) => ({
    ...task,
    variants: task.variants.map((variant, at) => ({ ...variant, model: models[at] ?? null })),
  }));
  return { ...bundle, tasks };
}

test("names the file of each model once, and nothing without models", () => {
  const [a, b] = [model("a.onnx"), model("b.onnx")];
  expect(partsOf(bundleOf(a, b))).toEqual([
    { file: "a.onnx", sha256: digest("a.onnx"), kind: "model" },
    { file: "b.onnx", sha256: digest("b.onnx"), kind: "model" },
  ]);
  expect(partsOf(bundleOf(a, a)).map(({ file }) => file)).toEqual(["a.onnx"]);
  expect(partsOf(bundleOf(null, null))).toEqual([]);
});

test("names the further files of a model that are run in a row", () => {
  const part = { file: "tail.onnx", sha256: digest("tail.onnx"), inputs: tensors };
  const chained = model("head.onnx", { parts: [{ ...part, outputs: tensors }] });
  expect(partsOf(bundleOf(chained)).map(({ file, kind }) => [file, kind])).toEqual([
    ["head.onnx", "model"],
    ["tail.onnx", "part"],
  ]);
});

test("names a module of the models folder, and neither a package's nor another server's", () => {
  const own = model("crop.mjs", { module: { specifier: null, options: "{}" } });
  const packaged = model("images.js", { module: { specifier: "kit/images", options: "{}" } });
  const remote = model("far", { remote: { url: "http://127.0.0.1:1", model: "far" } });
  expect(partsOf(bundleOf(own, packaged)).map(({ file, kind }) => [file, kind])).toEqual([
    ["crop.mjs", "module"],
  ]);
  expect(partsOf(bundleOf(remote, null))).toEqual([]);
});

test("names the stages of models that are cut, each with the digest in its name", async () => {
  const { bundle } = await loadBundle("policies/malleable/bundle.msgpack");
  const parts = partsOf(bundle);
  expect(parts.length).toBe(6);
  for (const { file, sha256, kind } of parts) {
    expect(file).toContain(sha256.slice(0, 12));
    expect(kind).toBe("model");
  }
  const found = await checkedParts(parts, "policies/malleable");
  expect(found.map(({ path }) => path)).toEqual(
    parts.map(({ file }) => join("policies/malleable", file)),
  );
});

test.each(["../evil.onnx", "/etc/passwd", "a\\b.onnx", "..", "."])(
  "refuses a file called %j",
  (file) => {
    expect(() => partsOf(bundleOf(model(file)))).toThrow(
      /^file of variant "small": expected a file name without directories, got /,
    );
  },
);

test("refuses two contents under one name", () => {
  const other = model("a.onnx", { sha256: digest("other") });
  expect(() => partsOf(bundleOf(model("a.onnx"), other))).toThrow(
    /variant "large": expected one content of the file "a\.onnx", got SHA-256 .* and /,
  );
});

test("finds the files of a folder, and refuses one that is missing or another", async () => {
  writeFileSync(join(folder, "a.onnx"), "a.onnx");
  writeFileSync(join(folder, "b.onnx"), "changed");
  const parts = partsOf(bundleOf(model("a.onnx"), model("b.onnx")));
  const [first] = parts;
  if (first === undefined) throw new Error("no parts");
  expect(await checkedParts([first], folder)).toEqual([
    { ...first, path: join(folder, "a.onnx"), bytes: 6 },
  ]);
  await expect(checkedParts(parts, folder)).rejects.toMatchObject({
    code: "RUNTIME_MODEL",
    message: expect.stringMatching(/b\.onnx: expected the file .* SHA-256 .*, got /),
  });
  await expect(checkedParts(partsOf(bundleOf(model("gone.onnx"))), folder)).rejects.toThrow(
    /gone\.onnx: .* got: no such file; --models names the folder/,
  );
  expect(await isFileOf(join(folder, "a.onnx"), digest("a.onnx"))).toBe(true);
  expect(await isFileOf(join(folder, "b.onnx"), digest("b.onnx"))).toBe(false);
  expect(await isFileOf(join(folder, "gone.onnx"), digest("b.onnx"))).toBe(false);
});

test("ships a model in several files as one, and refuses one that changed by name", async () => {
  writeFileSync(join(folder, "split.onnx"), splitModel(2));
  mkdirSync(join(folder, "more"));
  writeFileSync(join(folder, "split.onnx.data"), weightsOf([1, 1, 1, 1]));
  writeFileSync(join(folder, "more", "third.bin"), weightsOf([1, 1]));
  const content = await wholeModel(join(folder, "split.onnx"));
  const sha256 = createHash("sha256").update(content).digest("hex");
  const parts = partsOf(bundleOf(model("split.onnx", { sha256 })));
  const [found] = await checkedParts(parts, folder);
  expect(found).toMatchObject({ sha256, bytes: content.length, content });
  expect(await isFileOf(join(folder, "split.onnx"), sha256)).toBe(true);
  writeFileSync(join(folder, "more", "third.bin"), weightsOf([1, 2]));
  await expect(checkedParts(parts, folder)).rejects.toThrow(
    /split.onnx with split.onnx.data with more\/third.bin: expected the file the bundle/,
  );
  rmSync(join(folder, "split.onnx.data"));
  await expect(checkedParts(parts, folder)).rejects.toThrow(
    /split.onnx: .* got: tensor "first": external data at "split.onnx.data": .*ENOENT/,
  );
});

test("digests a file of several pieces, and no folder", async () => {
  const bytes = Buffer.alloc(2 ** 20 + 17, "stratagem");
  const path = join(folder, "large");
  writeFileSync(path, bytes);
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  expect(await digestOfFile(path)).toEqual({ bytes: bytes.length, sha256 });
  symlinkSync(path, join(folder, "link"));
  expect((await digestOfFile(join(folder, "link"))).sha256).toBe(sha256);
  mkdirSync(join(folder, "folder"));
  await expect(digestOfFile(join(folder, "folder"))).rejects.toThrow("not a file");
});

test("sidecars have the bundle's name", () => {
  expect(sidecarOf("edge/bundle.msgpack", "signature")).toBe("edge/bundle.msgpack.dsse.json");
  expect(sidecarOf("bundle.msgpack", "provenance")).toBe("bundle.msgpack.intoto.json");
});
