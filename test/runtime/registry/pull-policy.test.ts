/** Pulling a policy from a registry into a folder. */
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, afterEach, expect, test } from "vitest";
import type { ModelFile } from "../../../runtime/bundle/schema.ts";
import { encodeBundle } from "../../../runtime/bundles/checked-bundle.ts";
import { loadBundle } from "../../../runtime/bundles/load-bundle.ts";
import { checkedParts } from "../../../runtime/bundles/shipping/part-files.ts";
import { partsOf } from "../../../runtime/bundles/shipping/parts.ts";
import { type Descriptor, descriptorOf } from "../../../runtime/registry/manifest.ts";
import {
  MANIFEST,
  MODEL,
  POLICY,
  SIGNATURE,
  TITLE,
} from "../../../runtime/registry/media-types.ts";
import { policyLayers, type ShippedPolicy } from "../../../runtime/registry/policy-layers.ts";
import { pullPolicy } from "../../../runtime/registry/pull-policy.ts";
import { openRegistry } from "../../../runtime/registry/registry.ts";
import type { Sent } from "../../../runtime/registry/upload.ts";
import { digestOf, SmallRegistry } from "../../support/small-registry.ts";
import { tinyBundle } from "../../support/tiny-bundle.ts";

const scratch = mkdtempSync(join(tmpdir(), "stratagem-pull-"));
afterAll(() => rmSync(scratch, { recursive: true }));
const open: SmallRegistry[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((one) => one.close()));
});

const CUT = "policies/malleable/bundle.msgpack";
let folders = 0;
const newFolder = () => join(scratch, `folder-${folders++}`);

async function started() {
  const small = await SmallRegistry.start();
  open.push(small);
  const at = (name = "team/policy:1") => openRegistry(`${small.host}/${name}`, { retryMs: 0 });
  return { small, at };
}

async function shipped(path: string, sidecars: ShippedPolicy["sidecars"] = {}): Promise<Sent[]> {
  const bundle = await loadBundle(path);
  const parts = await checkedParts(partsOf(bundle.bundle), dirname(path));
  return policyLayers({ bundle, parts, sidecars });
}

/** Of a bundle made here, with a model for its first variant. */
function layersOf(model: Partial<ModelFile>, title = "tiny.msgpack"): Sent[] {
  const bytes = Buffer.from("a model");
  const tensors = [{ name: "x", dtype: "float32", shape: [-1, 3] }];
  const sha256 = digestOf(bytes).slice(7);
  const whole = { file: "m.onnx", sha256, inputs: tensors, outputs: tensors, ...model };
  const bundle = tinyBundle();
  const tasks = bundle.tasks.map((task) => ({
    ...task,
    variants: task.variants.map((variant, at) => ({ ...variant, model: at === 0 ? whole : null })),
  }));
  const encoded = encodeBundle({ ...bundle, tasks });
  return [
    { descriptor: descriptorOf(POLICY, encoded, { [TITLE]: title }), body: encoded },
    { descriptor: descriptorOf(MODEL, bytes, { [TITLE]: "../../evil.onnx" }), body: bytes },
  ];
}

test("pulls the bundle and every file that it names", async () => {
  const { at } = await started();
  const { digest } = await at().push(POLICY, await shipped(CUT));
  const folder = newFolder();
  const pulled = await pullPolicy(at(), folder);
  expect(pulled).toMatchObject({ digest, path: join(folder, "bundle.msgpack") });
  expect(pulled.files.at(-1)?.file).toBe("bundle.msgpack");
  expect(pulled.files.every(({ wasFetched }) => wasFetched)).toBe(true);
  const names = readdirSync("policies/malleable").filter((name) => name !== "app.yaml");
  expect(readdirSync(folder).sort()).toEqual(names.sort());
  for (const name of names) {
    const [found, wanted] = [folder, "policies/malleable"].map((one) => join(one, name));
    expect(readFileSync(found ?? "").equals(readFileSync(wanted ?? ""))).toBe(true);
  }
  expect(partsOf((await loadBundle(pulled.path)).bundle).length).toBe(6);
});

test("downloads only missing and changed files", async () => {
  const { small, at } = await started();
  await at().push(POLICY, await shipped(CUT));
  const folder = newFolder();
  const { files } = await pullPolicy(at(), folder);
  const [first] = files;
  writeFileSync(join(folder, first?.file ?? ""), "changed");
  writeFileSync(join(folder, "mine.txt"), "mine");
  small.asked();
  const again = await pullPolicy(at(), folder);
  expect(again.files.filter(({ wasFetched }) => wasFetched)).toEqual([first]);
  expect(small.asked().filter((line) => line.includes("/blobs/")).length).toBe(1);
  expect(readFileSync(join(folder, "mine.txt"), "utf8")).toBe("mine");
});

test("resumes an interrupted pull", async () => {
  const { small, at } = await started();
  await at().push(POLICY, await shipped(CUT));
  const folder = newFolder();
  small.intercept = ({ method, url = "" }, response) => {
    const bytes = small.blobs.get(url.slice(url.lastIndexOf("/") + 1));
    if (method !== "GET" || bytes === undefined || bytes.length < 50_000) return false;
    small.intercept = (_, later) => {
      later.destroy();
      return true;
    };
    response.writeHead(200, { "content-length": bytes.length });
    response.write(bytes.subarray(0, 20_000), () => response.destroy());
    return true;
  };
  await expect(pullPolicy(at(), folder)).rejects.toMatchObject({ code: "RUNTIME_REGISTRY" });
  const left = readdirSync(folder);
  expect(left.length).toBeGreaterThan(0);
  expect(left.every((name) => name.startsWith(".stratagem-partial-"))).toBe(true);
  small.intercept = () => false;
  small.asked();
  await pullPolicy(at(), folder);
  expect(small.seen.some(({ headers }) => headers.range === "bytes=20000-")).toBe(true);
  expect(readdirSync(folder).some((name) => name.startsWith("."))).toBe(false);
});

test("writes only names from the bundle, whatever the manifest states", async () => {
  const { at } = await started();
  const more = Buffer.from("#!/bin/sh");
  const evil = { descriptor: descriptorOf("text/x-sh", more, { [TITLE]: "run.sh" }), body: more };
  await at().push(POLICY, [...layersOf({}), evil]);
  const folder = newFolder();
  mkdirSync(folder);
  await pullPolicy(at(), join(folder, "in"));
  expect(readdirSync(join(folder, "in")).sort()).toEqual(["m.onnx", "tiny.msgpack"]);
  expect(readdirSync(folder)).toEqual(["in"]);
});

test.each<[string, Sent[], RegExp]>([
  ["a bundle with directories in its name", layersOf({}, "../tiny.msgpack"), /without directories/],
  ["a bundle called ..", layersOf({}, ".."), /without directories/],
  ["no bundle", layersOf({}).slice(1), /with one bundle, got 1 layers/],
  ["two bundles", [...layersOf({}), ...layersOf({}, "b")], /with one bundle, got 4 layers/],
  ["a model that is not among the layers", layersOf({}).slice(0, 1), /a layer with m\.onnx/],
  ["another model", layersOf({ sha256: "0".repeat(64) }), /a layer with m\.onnx, SHA-256 0{64}/],
  [
    "a model in the bundle's place",
    layersOf({ file: "TINY.msgpack" }),
    /expected model names other than/,
  ],
  [
    "a model in the signature's place",
    layersOf({ file: "tiny.msgpack.dsse.json" }),
    /names other than those of the bundle and its sidecars, got "tiny\.msgpack\.dsse\.json"/,
  ],
])("rejects %s and writes nothing", async (_, layers, message) => {
  const { at } = await started();
  await at().push(POLICY, layers);
  const folder = newFolder();
  await expect(pullPolicy(at(), folder)).rejects.toThrow(message);
  const written = existsSync(folder) ? readdirSync(folder) : [];
  expect(written.filter((name) => !name.startsWith(".stratagem-partial-"))).toEqual([]);
});

test("rejects other artifacts and invalid bundles, naming the reference", async () => {
  const { at } = await started();
  await at("team/other:1").push("application/vnd.cncf.helm.config.v1+json", layersOf({}));
  await expect(pullPolicy(at("team/other:1"), newFolder())).rejects.toThrow(
    /team\/other:1: expected an artifact of application\/vnd\.stratagem.*, got ".*helm.*"$/,
  );
  const bytes = Buffer.from("no bundle");
  const folder = newFolder();
  await at("team/bad:1").push(POLICY, [{ descriptor: descriptorOf(POLICY, bytes), body: bytes }]);
  await expect(pullPolicy(at("team/bad:1"), folder)).rejects.toMatchObject({
    code: "BUNDLE_MAGIC",
    message: expect.stringMatching(/^oci:\/\/127.*\/team\/bad:1: /),
  });
  expect(readdirSync(folder)).toEqual([]);
});

test("rejects an oversized bundle", async () => {
  const { small, at } = await started();
  const [bundle, model] = layersOf({});
  if (bundle === undefined || model === undefined) throw new Error("no layers");
  const descriptor: Descriptor = { ...bundle.descriptor, size: 2 ** 30 };
  await at().push(POLICY, [bundle, model]);
  const manifest = { schemaVersion: 2, artifactType: POLICY, layers: [descriptor] };
  const bytes = Buffer.from(JSON.stringify(manifest));
  small.manifests.set("1", { bytes, type: MANIFEST });
  await expect(pullPolicy(at(), newFolder())).rejects.toThrow(
    /expected at most 67108864 bytes of tiny\.msgpack, got 1073741824/,
  );
});

test("pulls the signature, and removes one of another bundle", async () => {
  const { at } = await started();
  const signature = Buffer.from('{"payload":""}');
  await at().push(POLICY, await shipped(CUT, { signature }));
  const folder = newFolder();
  const { files } = await pullPolicy(at(), folder);
  expect(files.at(-2)?.file).toBe("bundle.msgpack.dsse.json");
  expect(readFileSync(join(folder, "bundle.msgpack.dsse.json"))).toEqual(signature);
  await at().push(POLICY, await shipped(CUT));
  await pullPolicy(at(), folder);
  expect(existsSync(join(folder, "bundle.msgpack.dsse.json"))).toBe(false);
});

test("pulls a signature that was pushed later", async () => {
  const { at } = await started();
  const { digest, bytes } = await at().push(POLICY, layersOf({}));
  for (const text of ["first", "second"]) {
    const body = Buffer.from(text);
    const layer = { descriptor: descriptorOf(SIGNATURE, body), body };
    await at().pushReferrer(SIGNATURE, [layer], { mediaType: MANIFEST, digest, size: bytes });
  }
  const folder = newFolder();
  await pullPolicy(at(`team/policy@${digest}`), folder);
  expect(readFileSync(join(folder, "tiny.msgpack.dsse.json"), "utf8")).toBe("second");
});

test("replaces a link instead of writing through it", async () => {
  const { at } = await started();
  await at().push(POLICY, layersOf({}));
  const folder = newFolder();
  mkdirSync(folder);
  const outside = join(scratch, "outside");
  writeFileSync(outside, "mine");
  symlinkSync(outside, join(folder, "m.onnx"));
  await pullPolicy(at(), folder);
  expect(readFileSync(outside, "utf8")).toBe("mine");
  expect(readFileSync(join(folder, "m.onnx"), "utf8")).toBe("a model");
});

test("keeps recent incomplete files and removes abandoned ones", async () => {
  const { at } = await started();
  await at().push(POLICY, layersOf({}));
  const folder = newFolder();
  mkdirSync(folder);
  const [fresh, old] = ["a", "b"].map((name) => join(folder, `.stratagem-partial-${name}`));
  if (fresh === undefined || old === undefined) throw new Error("no names");
  copyFileSync(CUT, fresh);
  copyFileSync(CUT, old);
  utimesSync(old, 1, 1);
  await pullPolicy(at(), folder);
  expect([existsSync(fresh), existsSync(old)]).toEqual([true, false]);
});

test("two concurrent pulls into one folder both succeed", async () => {
  const { at } = await started();
  await at().push(POLICY, await shipped(CUT));
  const folder = newFolder();
  const pulls = await Promise.all([pullPolicy(at(), folder), pullPolicy(at(), folder)]);
  expect(pulls.map(({ digest }) => digest)).toEqual([pulls[0]?.digest, pulls[0]?.digest]);
  expect(readdirSync(folder).some((name) => name.startsWith("."))).toBe(false);
  const { bundle } = await loadBundle(join(folder, "bundle.msgpack"));
  expect((await checkedParts(partsOf(bundle), folder)).length).toBe(6);
});

test("names a folder that cannot be written", async () => {
  const { at } = await started();
  await at().push(POLICY, layersOf({}));
  const file = join(scratch, "file");
  writeFileSync(file, "");
  await expect(pullPolicy(at(), join(file, "in"))).rejects.toMatchObject({
    code: "RUNTIME_UNWRITABLE",
    message: expect.stringContaining(`${join(file, "in")}: expected a writable folder`),
  });
});
