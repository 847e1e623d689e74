/** Policies in a real registry, Debian's docker-registry, by the commands as processes. */
import { execFile, execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect } from "vitest";
import { CuttingProxy } from "../support/cutting-proxy.ts";
import { DockerRegistry, HAS_DOCKER_REGISTRY } from "../support/docker-registry.ts";
import type { CliRun } from "../support/run-cli.ts";
import { TokenServer } from "../support/token-server.ts";
import { testWith } from "./needs.ts";

const HAS_SKOPEO = spawnSync("skopeo", ["--version"]).status === 0;
const test = testWith("docker-registry", HAS_DOCKER_REGISTRY);
const testMirrors = testWith("docker-registry and skopeo", HAS_DOCKER_REGISTRY && HAS_SKOPEO);
const folder = mkdtempSync(join(tmpdir(), "stratagem-docker-registry-"));
const CUT = "policies/malleable/bundle.msgpack";
const CUT_FILES = readdirSync("policies/malleable").filter((name) => name !== "app.yaml");
const CUT_BYTES = CUT_FILES.map((name) => statSync(join("policies/malleable", name)).size);
const ACCOUNT = { username: "ci", password: "hush" };
/** That of the password above, by bcrypt, which is all that the registry takes. */
const HTPASSWD = "ci:$2b$05$abcdefghijklmnopqrstuulzd.YqjLDl8lvpSmVj3De/fioSBHnUa";

/** Nobody, whoever runs the tests. */
const EMPTY = join(folder, "empty.json");
writeFileSync(EMPTY, "{}");

const running: { stop(): Promise<void> }[] = [];
const closing: { close(): void }[] = [];
let homes = 0;
afterAll(async () => {
  for (const one of closing) one.close();
  await Promise.all(running.map((one) => one.stop()));
  rmSync(folder, { recursive: true });
});

function newHome(): string {
  const home = join(folder, `home-${homes++}`);
  mkdirSync(home);
  return home;
}

async function registryIn(...options: Parameters<typeof DockerRegistry.start>) {
  const registry = await DockerRegistry.start(...options);
  running.push(registry);
  return registry;
}

type Environment = Readonly<Record<string, string>>;

/** A command as a process, while this one serves. */
function run(program: "compiler" | "runtime", args: string[], more: Environment = {}) {
  const env = { ...process.env, REGISTRY_AUTH_FILE: EMPTY, ...more };
  return new Promise<CliRun>((resolve) => {
    execFile(
      process.execPath,
      [`${program}/dist/cli.js`, ...args],
      { env },
      (error, stdout, stderr) => {
        resolve({ status: error === null ? 0 : Number(error.code), stdout, stderr });
      },
    );
  });
}

async function pushed(reference: string, more?: Environment) {
  const { stdout, stderr } = await run("compiler", ["push", CUT, reference, "--json"], more);
  if (stderr !== "") throw new Error(stderr);
  return JSON.parse(stdout);
}

function pull(reference: string, out: string, more?: Environment) {
  return run("runtime", ["pull", reference, "-o", out, "--json"], more);
}

function expectPulled(out: string): void {
  expect(readdirSync(out).sort()).toEqual([...CUT_FILES].sort());
  for (const name of CUT_FILES) {
    const original = readFileSync(join("policies/malleable", name));
    expect(readFileSync(join(out, name)).equals(original), name).toBe(true);
  }
}

describe("a registry for everybody", () => {
  test("keeps a policy by tag and by digest, and sends it once", async () => {
    const home = newHome();
    const { host } = await registryIn(home);
    const first = await pushed(`oci://${host}/team/policy:1`);
    const again = await pushed(`oci://${host}/team/policy:2`);
    expect(again.digest).toBe(first.digest);
    expect(again.layers.some(({ wasSent }: { wasSent: boolean }) => wasSent)).toBe(false);
    for (const reference of [first.pinned, `${host}/team/policy:2`]) {
      const out = join(home, `out-${reference.length}`);
      expect((await pull(reference, out)).stderr).toBe("");
      expectPulled(out);
    }
    const answer = await fetch(`http://${host}/v2/team/policy/tags/list`);
    const { tags } = (await answer.json()) as { readonly tags: string[] };
    expect(tags.sort()).toEqual(["1", "2"]);
  });

  test("lists a signature by the tag that stands for a list, and gives it back", async () => {
    const home = newHome();
    const { host } = await registryIn(home);
    const bundle = join(home, "bundle.msgpack");
    writeFileSync(bundle, readFileSync(CUT));
    const key = join(home, "ci");
    expect((await run("compiler", ["keygen", "-o", key])).stderr).toBe("");
    const made = ["--provenance", "policies/malleable/app.yaml"];
    const sign = ["sign", bundle, "--key", `${key}.key`, "--serial", "1", ...made];
    expect((await run("compiler", sign)).stderr).toBe("");
    const reference = `oci://${host}/team/policy:signed`;
    const push = ["push", bundle, reference, "--models", "policies/malleable", "--json"];
    const { stdout, stderr } = await run("compiler", push);
    expect(stderr).toBe("");
    const { digest, referrers, isSigned } = JSON.parse(stdout);
    expect({ referrers, isSigned }).toEqual({ referrers: "tag", isSigned: true });
    const tag = digest.replace(":", "-");
    const answer = await fetch(`http://${host}/v2/team/policy/manifests/${tag}`, {
      headers: { accept: "application/vnd.oci.image.index.v1+json" },
    });
    expect(await answer.json()).toMatchObject({
      manifests: [
        { artifactType: "application/vnd.dsse.envelope.v1+json" },
        { artifactType: "application/vnd.in-toto+json" },
      ],
    });
    const out = join(home, "out");
    expect((await pull(reference, out)).stderr).toBe("");
    const beside = ["bundle.msgpack.dsse.json", "bundle.msgpack.intoto.json"];
    expect(readdirSync(out).sort()).toEqual([...CUT_FILES, ...beside].sort());
    const verify = ["verify", join(out, "bundle.msgpack"), "--key", `${key}.pub`];
    expect(await run("runtime", verify)).toMatchObject({ status: 0, stderr: "" });
    const trusted = ["--key", `${key}.pub`, "--json"];
    const again = await run("runtime", ["pull", reference, "-o", join(home, "again"), ...trusted]);
    expect(JSON.parse(again.stdout)).toMatchObject({ isSigned: true, signature: { serial: 1 } });
  });

  testMirrors("another client carries it to where there is no network", async () => {
    const [home, farHome] = [newHome(), newHome()];
    const { host } = await registryIn(home);
    const far = await registryIn(farHome);
    const { digest } = await pushed(`oci://${host}/team/policy:1`);
    const stick = `dir:${join(home, "stick")}`;
    const copy = ["copy", "--insecure-policy", "--src-tls-verify=false", "--dest-tls-verify=false"];
    for (const [from, to] of [
      [`docker://${host}/team/policy:1`, stick],
      [stick, `docker://${far.host}/mirror/policy:1`],
    ]) {
      execFileSync("skopeo", [...copy, from ?? "", to ?? ""], { stdio: "pipe" });
    }
    const out = join(home, "out");
    expect((await pull(`oci://${far.host}/mirror/policy@${digest}`, out)).stderr).toBe("");
    expectPulled(out);
  });

  test("a line that dies again and again costs no byte twice", async () => {
    const home = newHome();
    const { host } = await registryIn(home);
    await pushed(`oci://${host}/team/policy:1`);
    const proxy = await CuttingProxy.start(host, { cuts: 8, lineBytes: 500_000 });
    closing.push(proxy);
    const out = join(home, "out");
    expect((await pull(`oci://${proxy.host}/team/policy:1`, out)).stderr).toBe("");
    expectPulled(out);
    expect(proxy.cuts).toBe(8);
    const content = CUT_BYTES.reduce((sum, bytes) => sum + bytes, 0);
    // Heads, a manifest, and what was on the way when a line died.
    expect(proxy.bytes).toBeLessThan(content + 8 * 100_000);
  });

  test("a pull that was killed goes on, and leaves no file of it before", async () => {
    const home = newHome();
    const { host } = await registryIn(home);
    await pushed(`oci://${host}/team/policy:1`);
    const slow = await CuttingProxy.start(host, { heldAfterBytes: 1_000_000 });
    closing.push(slow);
    const out = join(home, "out");
    const args = ["runtime/dist/cli.js", "pull", `oci://${slow.host}/team/policy:1`, "-o", out];
    const env = { ...process.env, REGISTRY_AUTH_FILE: EMPTY };
    const child = spawn(process.execPath, args, { env, stdio: "ignore" });
    const ended = once(child, "exit");
    await slow.held;
    child.kill("SIGKILL");
    await ended;
    const left = readdirSync(out);
    expect(left.length).toBeGreaterThan(0);
    expect(left.filter((name) => !name.startsWith(".stratagem-partial-"))).toEqual([]);
    expect((await pull(`oci://${host}/team/policy:1`, out)).stderr).toBe("");
    expectPulled(out);
  });

  test("content that was changed in its store is refused, and nothing is written", async () => {
    const home = newHome();
    const { host } = await registryIn(home);
    const { layers } = await pushed(`oci://${host}/team/policy:1`);
    const [, model] = layers;
    const hex = model.digest.replace("sha256:", "");
    const blobs = join(home, "content/docker/registry/v2/blobs/sha256");
    const data = join(blobs, hex.slice(0, 2), hex, "data");
    const bytes = readFileSync(data);
    bytes[1000] = (bytes[1000] ?? 0) ^ 1;
    writeFileSync(data, bytes);
    const out = join(home, "out");
    const { status, stderr } = await pull(`oci://${host}/team/policy:1`, out);
    expect(status).toBe(65);
    expect(stderr).toMatch(new RegExp(`^RUNTIME_DIGEST .*expected .*SHA-256 ${hex}, got`));
    expect(readdirSync(out).some((name) => !name.startsWith("."))).toBe(false);
  });

  test("that is away is told, and back again serves what it had", async () => {
    const home = newHome();
    const first = await registryIn(home);
    const reference = `oci://${first.host}/team/policy:1`;
    await pushed(reference);
    await first.stop();
    running.splice(running.indexOf(first), 1);
    const out = join(home, "out");
    const { status, stderr } = await pull(reference, out);
    expect(status).toBe(65);
    expect(stderr).toMatch(/^RUNTIME_REGISTRY .*ECONNREFUSED.*, after 4 attempts\n$/);
    await registryIn(home, undefined, Number(first.host.split(":")[1]));
    expect((await pull(reference, out)).stderr).toBe("");
    expectPulled(out);
  });
});

describe("a registry with TLS", () => {
  test("is believed where its certificate is trusted", async () => {
    const home = newHome();
    const [key, certificate] = [join(home, "tls.key"), join(home, "tls.crt")];
    const made = ["-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate];
    const names = ["-subj", "/CN=registry", "-addext", "subjectAltName=IP:127.0.0.1"];
    execFileSync("openssl", ["req", "-x509", ...made, ...names], { stdio: "pipe" });
    const { host } = await registryIn(home, undefined, 0, { certificate, key });
    const reference = `oci+https://${host}/team/policy:1`;
    const trusting = { NODE_EXTRA_CA_CERTS: certificate };
    await pushed(reference, trusting);
    const out = join(home, "out");
    expect((await pull(reference, out, trusting)).stderr).toBe("");
    expectPulled(out);
    const distrusting = await pull(reference, join(home, "none"));
    expect(distrusting.status).toBe(65);
    expect(distrusting.stderr).toMatch(/^RUNTIME_REGISTRY .*self-signed certificate/);
    // In the clear it does not answer, and nobody is sent there.
    const clear = await pull(`oci+http://${host}/team/policy:1`, join(home, "clear"), trusting);
    expect(clear.stderr).toMatch(/^RUNTIME_REGISTRY .*status 400: Client sent an HTTP request/);
  });
});

describe("a registry for accounts", () => {
  test("lets in who is known by a file, by variables or by a flag", async () => {
    const home = newHome();
    const path = join(home, "htpasswd");
    writeFileSync(path, `${HTPASSWD}\n`);
    const { host } = await registryIn(home, { htpasswd: { realm: "policies", path } });
    const reference = `oci://${host}/team/policy:1`;
    const config = join(home, "config.json");
    const auth = Buffer.from("ci:hush").toString("base64");
    writeFileSync(config, JSON.stringify({ auths: { [host]: { auth } } }));
    await pushed(reference, { REGISTRY_AUTH_FILE: config });
    const variables = {
      STRATAGEM_REGISTRY_USERNAME: ACCOUNT.username,
      STRATAGEM_REGISTRY_PASSWORD: ACCOUNT.password,
    };
    expect((await pull(reference, join(home, "variables"), variables)).stderr).toBe("");
    expectPulled(join(home, "variables"));
    const nobody = await pull(reference, join(home, "nobody"));
    expect(nobody.stderr).toMatch(/^RUNTIME_CREDENTIALS .*it requires credentials/);
    const wrong = { ...variables, STRATAGEM_REGISTRY_PASSWORD: "not-the-password" };
    const refused = await pull(reference, join(home, "wrong"), wrong);
    expect(refused.stderr).toMatch(/^RUNTIME_CREDENTIALS .*STRATAGEM_REGISTRY_USERNAME/);
    expect(refused.stderr + refused.stdout).not.toContain("not-the-password");
  });
});

describe("a registry for tokens", () => {
  test("takes those of a server that knows who may what", async () => {
    const home = newHome();
    const tokens = await TokenServer.start(home, { [ACCOUNT.username]: ACCOUNT.password });
    closing.push(tokens);
    const { host } = await registryIn(home, tokens.access);
    const reference = `oci://${host}/team/policy:1`;
    const known = {
      STRATAGEM_REGISTRY_USERNAME: ACCOUNT.username,
      STRATAGEM_REGISTRY_PASSWORD: ACCOUNT.password,
    };
    const nobody = await run("compiler", ["push", CUT, reference]);
    expect(nobody.status).toBe(65);
    expect(nobody.stderr).toMatch(/^RUNTIME_CREDENTIALS /);
    await pushed(reference, known);
    const before = tokens.given;
    expect((await pull(reference, join(home, "out"))).stderr).toBe("");
    expectPulled(join(home, "out"));
    expect(tokens.given).toBe(before + 1);
    const wrong = { ...known, STRATAGEM_REGISTRY_PASSWORD: "not-the-password" };
    const refused = await pull(reference, join(home, "wrong"), wrong);
    expect(refused.stderr).toMatch(/^RUNTIME_CREDENTIALS /);
    expect(refused.stderr).not.toContain("not-the-password");
    // A token that has ended is not asked for again and again.
    tokens.lifeSeconds = -3600;
    const late = await pull(reference, join(home, "late"), known);
    expect(late.stderr).toMatch(/^RUNTIME_CREDENTIALS /);
    expect(tokens.given).toBe(before + 2);
  });
});
