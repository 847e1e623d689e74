/** `push` and `pull` of both command lines, with a registry in memory. */
import { createHash } from "node:crypto";
import {
  copyFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { stratagemHere, stratagemRuntimeHere } from "../support/cli-here.ts";
import { SmallRegistry } from "../support/small-registry.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-cli-registry-"));
const CUT = "policies/malleable/bundle.msgpack";
const CUT_FILES = readdirSync("policies/malleable").filter((name) => name !== "app.yaml");
const ACCOUNT = { username: "ci", password: "hush-hush" };
const config = join(folder, "config.json");
let small: SmallRegistry;

beforeAll(async () => {
  small = await SmallRegistry.start({ account: ACCOUNT });
  const auth = Buffer.from(`${ACCOUNT.username}:${ACCOUNT.password}`).toString("base64");
  writeFileSync(config, JSON.stringify({ auths: { [small.host]: { auth } } }));
});
afterEach(() => {
  vi.unstubAllEnvs();
  small.blobs.clear();
  small.manifests.clear();
});
afterAll(async () => {
  await small.close();
  rmSync(folder, { recursive: true });
});

/** Runs with who asks, in a file. */
const asKnown = (file: string) => vi.stubEnv("REGISTRY_AUTH_FILE", file);
beforeEach(() => asKnown(config));

test("a policy goes into a registry and comes out of it as it was", async () => {
  const reference = `${small.host}/team/policy:1`;
  const pushed = await stratagemHere("push", CUT, reference, "--json");
  expect(pushed.stderr).toBe("");
  const told = JSON.parse(pushed.stdout);
  expect(told).toMatchObject({ reference: `oci://${reference}`, isSigned: false, referrers: null });
  expect(told.pinned).toBe(`oci://${reference}@${told.digest}`);
  expect(told.layers.map(({ file }: { file: string }) => file).sort()).toEqual(CUT_FILES.sort());
  const out = join(folder, "out");
  const pulled = await stratagemRuntimeHere("pull", told.pinned, "-o", out, "--json");
  expect(JSON.parse(pulled.stdout)).toMatchObject({
    digest: told.digest,
    path: join(out, "bundle.msgpack"),
    application: "malleable",
    method: "accordion",
    isSigned: false,
  });
  expect((await stratagemHere("gate", CUT, join(out, "bundle.msgpack"), "--show")).status).toBe(0);
  expect(readdirSync(out).sort()).toEqual(CUT_FILES.sort());
});

test("push and pull report each file as transferred or existing", async () => {
  const reference = `oci://${small.host}/team/policy:1`;
  const first = await stratagemHere("push", CUT, reference);
  expect(first.stdout).toMatch(/^pushed oci:\/\/127\.0\.0\.1:\d+\/team\/policy:1@sha256:/);
  expect(first.stdout).toMatch(/bundle\.msgpack +\d+ +[0-9a-f]{12}… +sent\n/);
  expect(first.stdout).toContain("the bundle has no signature");
  const again = await stratagemHere("push", CUT, reference);
  expect(again.stdout).toMatch(/bundle\.msgpack +\d+ +[0-9a-f]{12}… +existed\n/);
  const out = join(folder, "pulled");
  const pulled = await stratagemHere("pull", reference, "-o", out);
  expect(pulled.stdout).toContain('accordion for "malleable", 7 files fetched\n');
  const kept = await stratagemHere("pull", reference, "-o", out);
  expect(kept.stdout).toContain('accordion for "malleable", 0 files fetched\n');
});

test("a signature goes along, unless it is of another bundle", async () => {
  const signed = mkdtempSync(join(folder, "signed-"));
  for (const name of CUT_FILES) {
    copyFileSync(join("policies/malleable", name), join(signed, name));
  }
  const bundle = join(signed, "bundle.msgpack");
  const sha256 = createHash("sha256").update(readFileSync(CUT)).digest("hex");
  const sign = (about: string) => {
    const payload = Buffer.from(JSON.stringify({ version: 1, sha256: about })).toString("base64");
    writeFileSync(`${bundle}.dsse.json`, JSON.stringify({ payload, signatures: [] }));
  };
  const reference = `oci://${small.host}/team/signed:1`;
  sign("0".repeat(64));
  const refused = await stratagemHere("push", bundle, reference);
  expect(refused.status).toBe(3);
  expect(refused.stderr).toMatch(
    /^RUNTIME_SIGNATURE .*bundle\.msgpack\.dsse\.json: expected it to be about the.*, got 0{64}/,
  );
  expect(small.manifests.size).toBe(0);
  sign(sha256);
  const subject = [{ name: "bundle.msgpack", digest: { sha256 } }];
  writeFileSync(`${bundle}.intoto.json`, JSON.stringify({ subject }));
  const pushed = JSON.parse((await stratagemHere("push", bundle, reference, "--json")).stdout);
  expect(pushed).toMatchObject({ isSigned: true, referrers: "tag" });
  const out = join(folder, "signed-out");
  const pulled = await stratagemHere("pull", reference, "-o", out);
  expect(pulled.stdout).toContain("signature not checked: pass --key");
  const beside = ["bundle.msgpack.dsse.json", "bundle.msgpack.intoto.json"];
  expect(readdirSync(out).sort()).toEqual([...CUT_FILES, ...beside].sort());
});

test("with a key nothing is pulled whose signature does not hold", async () => {
  const signed = mkdtempSync(join(folder, "trusted-"));
  const bundle = join(signed, "bundle.msgpack");
  copyFileSync(CUT, bundle);
  const [ours, theirs] = ["ours", "theirs"].map((name) => join(signed, name));
  for (const key of [ours, theirs]) await stratagemHere("keygen", "-o", key ?? "");
  const reference = `oci://${small.host}/team/trusted:1`;
  const push = () => {
    return stratagemHere("push", bundle, reference, "--models", "policies/malleable");
  };
  const pull = async (key: string | undefined, ...more: string[]) => {
    const out = mkdtempSync(join(folder, "trusting-"));
    const args = ["-o", out, "--key", `${key}.pub`, ...more];
    const { status, stdout, stderr } = await stratagemRuntimeHere("pull", reference, ...args);
    const files = readdirSync(out).filter((name) => !name.startsWith("."));
    return { status, stdout, code: stderr.split(" ")[0], files: files.length };
  };
  const refused = (code: string) => ({ status: 3, stdout: "", code, files: 0 });
  expect((await push()).status).toBe(0);
  expect(await pull(ours)).toEqual(refused("RUNTIME_UNSIGNED"));
  const sign = ["sign", bundle, "--key", `${ours}.key`, "--scope", "site=berlin", "--serial", "7"];
  expect((await stratagemHere(...sign)).stderr).toBe("");
  expect((await push()).status).toBe(0);
  small.asked();
  expect(await pull(theirs)).toEqual(refused("RUNTIME_WRONG_KEY"));
  // The manifest, the bundle and its signature are asked for; of its models nothing is.
  expect(small.asked().filter((line) => line.includes("/blobs/")).length).toBe(2);
  expect(await pull(ours, "--labels", "site=paris")).toEqual(refused("RUNTIME_SCOPE"));
  const good = await pull(ours, "--labels", "site=berlin");
  expect(good).toMatchObject({ status: 0, files: CUT_FILES.length + 1 });
  expect(good.stdout).toMatch(/\nvalid signature: key [0-9a-f]{16}, serial 7, issued 20/);
});

test("a model that is missing, or another, is refused before anything is sent", async () => {
  const alone = mkdtempSync(join(folder, "alone-"));
  copyFileSync(CUT, join(alone, "bundle.msgpack"));
  const push = (...more: string[]) => {
    const reference = `oci://${small.host}/team/policy:1`;
    return stratagemHere("push", join(alone, "bundle.msgpack"), reference, ...more);
  };
  small.asked();
  const { status, stderr } = await push();
  expect(status).toBe(65);
  expect(stderr).toMatch(/^RUNTIME_MODEL .*\.onnx: expected a file that the bundle names, got: no/);
  expect(small.asked()).toEqual([]);
  expect((await push("--models", "policies/malleable")).stderr).toBe("");
});

test("never shows credentials in messages", async () => {
  const reference = `oci://${small.host}/team/policy:1`;
  const empty = join(folder, "empty.json");
  writeFileSync(empty, "{}");
  const asNobody = ["-o", join(folder, "nobody"), "--json"];
  asKnown(empty);
  const nobody = await stratagemHere("pull", reference, ...asNobody);
  expect(nobody.status).toBe(65);
  expect(JSON.parse(nobody.stdout).error.code).toBe("RUNTIME_CREDENTIALS");
  const wrong = join(folder, "wrong.json");
  const auth = Buffer.from("ci:not-the-password").toString("base64");
  writeFileSync(wrong, JSON.stringify({ auths: { [small.host]: { auth } } }));
  asKnown(wrong);
  const refused = await stratagemHere("push", CUT, reference);
  expect(refused.stderr).toContain(`rejects the credentials from ${wrong}`);
  for (const { stdout, stderr } of [nobody, refused]) {
    expect(stdout + stderr).not.toMatch(/not-the-password|hush/);
    expect(stdout + stderr).not.toContain(auth);
  }
});

test.each([
  ["no reference", ["policy"], "RUNTIME_USAGE policy: expected a reference such as oci://"],
  ["labels alone", ["oci://r.example/p", "--labels", "a=b"], "--key NAME.pub beside --labels"],
])("%s is a mistake of usage", async (_, args, message) => {
  const { status, stderr } = await stratagemRuntimeHere("pull", "-o", folder, ...args);
  expect(status).toBe(64);
  expect(stderr).toContain(message);
});
