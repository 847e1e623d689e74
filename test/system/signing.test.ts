/** Servers that require signatures: what they refuse, what they remember, and other tools' view. */
import { spawn, spawnSync } from "node:child_process";
import { createPublicKey } from "node:crypto";
import { once } from "node:events";
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, expect, test } from "vitest";
import { SerialMemory } from "../../runtime/bundles/trust/serial-memory.ts";
import type { StartedServer } from "../../runtime/host/start-server.ts";
import { compileEcho } from "../support/echo-bundle.ts";
import { writeKeyPair } from "../support/p256-pair.ts";
import { stratagem, stratagemRuntime } from "../support/run-cli.ts";
import { signatureFolder } from "../support/signatures.ts";
import { testWith } from "./needs.ts";

const MEMORY = resolve("runtime/dist/bundles/trust/serial-memory.js");
const folder = signatureFolder();
const key = join(folder, "ci");
const other = join(folder, "other");
const state = join(folder, "state");
const SITE = "site=berlin,tier=edge";
/** The bundle as the server finds it. */
let policy: string;
/** Another for the same models, unsigned. */
let next: string;

function signed(path: string, ...flags: readonly string[]): void {
  const { status, stderr } = stratagem("sign", path, "--key", `${key}.key`, ...flags);
  expect([status, stderr]).toEqual([0, ""]);
}

/** Puts a bundle and its signature in the place of those that the server reads. */
function place(from: string): void {
  copyFileSync(from, policy);
  copyFileSync(`${from}.dsse.json`, `${policy}.dsse.json`);
}

beforeAll(() => {
  for (const name of [key, other]) expect(stratagem("keygen", "-o", name).status).toBe(0);
  policy = compileEcho(folder);
  const home = join(folder, "next");
  mkdirSync(home);
  next = compileEcho(home);
  const spec = JSON.parse(readFileSync(join(home, "app.json"), "utf8"));
  const changed = { ...spec, workload: { ...spec.workload, loads: [10, 20] } };
  writeFileSync(join(home, "app.json"), JSON.stringify(changed));
  expect(stratagem("compile", join(home, "app.json"), "-o", next).stderr).toBe("");
});

afterAll(() => rmSync(folder, { recursive: true }));

/** How a start ends that is refused. */
function refusedStart(): string {
  const flags = ["--require-signature", `${key}.pub`, "--labels", SITE, "--http", "127.0.0.1:0"];
  const env = { ...process.env, STATE_DIRECTORY: state };
  const args = ["runtime/dist/cli.js", "serve", "--policy", policy, ...flags];
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: "utf8", env });
  return `${status} ${stderr.split(" ")[0]}`;
}

test("a start is refused, each time with the error of what is wrong", () => {
  const found = [refusedStart()];
  expect(stratagem("sign", policy, "--key", `${other}.key`).status).toBe(0);
  found.push(refusedStart());
  signed(policy, "--scope", "site=paris");
  found.push(refusedStart());
  signed(policy, "--expires", "2020-01-01");
  found.push(refusedStart());
  signed(policy);
  const bytes = readFileSync(policy);
  const changed = Uint8Array.from(bytes);
  changed[100] = (changed[100] ?? 0) ^ 1;
  writeFileSync(policy, changed);
  found.push(refusedStart());
  writeFileSync(policy, bytes);
  expect(found).toEqual([
    "3 RUNTIME_UNSIGNED",
    "3 RUNTIME_WRONG_KEY",
    "3 RUNTIME_SCOPE",
    "3 RUNTIME_EXPIRED",
    "3 RUNTIME_SIGNATURE",
  ]);
});

async function startedServer(): Promise<StartedServer> {
  // Workers are compiled files.
  const built: typeof import("../../runtime/host/start-server.ts") = await import(
    resolve("runtime/dist/host/start-server.js")
  );
  const labels = { site: "berlin", tier: "edge" };
  const trust = { keyFiles: [`${key}.pub`], labels, memory: join(state, "serials") };
  const server = await built.startServer({ policy, standby: 0, meansCheck: false, trust });
  await server.started;
  return server;
}

async function answer(server: StartedServer): Promise<unknown> {
  const inputs = [{ name: "x", datatype: "FP32", shape: [1, 3], data: [1, 2, 3] }];
  const reply = await fetch(`${server.url}/v2/models/echo/infer`, {
    method: "POST",
    body: JSON.stringify({ inputs }),
  });
  return ((await reply.json()) as { outputs: { data: unknown }[] }).outputs[0]?.data;
}

test("a server follows what is signed and newer, refuses the rest, and remembers it", async () => {
  const [first, second] = [join(folder, "first"), join(folder, "second")];
  copyFileSync(policy, first);
  copyFileSync(next, second);
  signed(first, "--serial", "1", "--scope", "site=berlin");
  signed(second, "--serial", "2", "--expires", "2099-02-01");
  place(first);
  const server = await startedServer();
  try {
    const before = server.served[0]?.sha256;
    copyFileSync(second, policy);
    const tampered = await server.reload();
    expect(tampered).toMatchObject({ isFollowed: false });
    expect(tampered.notice).toMatch(/not followed.*expected that of this bundle/);
    expect(server.served[0]?.sha256).toBe(before);
    place(second);
    expect(await server.reload()).toMatchObject({
      isFollowed: true,
      notice: expect.stringContaining("serial 2, signed by key"),
    });
    place(first);
    const older = await server.reload();
    expect([older.isFollowed, older.notice]).toEqual([
      false,
      expect.stringContaining("expected a serial of echo above 2, got 1"),
    ]);
    const reload = await fetch(`${server.adminUrl}/admin/reload`, { method: "POST" });
    expect([reload.status, ((await reload.json()) as { error: string }).error]).toEqual([
      409,
      expect.stringContaining("expected a serial of echo above 2, got 1"),
    ]);
    expect(server.served[0]?.sha256).not.toBe(before);
    const metrics = await (await fetch(`${server.url}/metrics`)).text();
    const until = 'stratagem_expiry_timestamp_seconds{model="echo",what="signature"}';
    expect(metrics).toContain(`${until} 4073587200\n`);
    const told = await (await fetch(`${server.adminUrl}/admin/state`)).json();
    expect(told).toMatchObject({ applications: [{ signature: { serial: 2, scope: {} } }] });
    expect(await answer(server)).toEqual([1, 2, 3]);
  } finally {
    await server.close();
  }
  expect(refusedStart()).toBe("3 RUNTIME_ROLLBACK");
  place(second);
  await (await startedServer()).close();
});

test("both command lines verify it alike", () => {
  place(join(folder, "second"));
  for (const run of [stratagem, stratagemRuntime]) {
    const { status, stdout } = run("verify", policy, "--key", `${key}.pub`, "--labels", SITE);
    expect([status, stdout]).toEqual([0, expect.stringContaining("files ok: 1 of 1")]);
    expect(run("verify", policy, "--key", `${other}.pub`).status).toBe(3);
  }
});

test("the digest of a package in the provenance is what sha256sum prints", () => {
  signed(next, "--provenance", join(folder, "next", "app.json"));
  const { payload } = JSON.parse(readFileSync(`${next}.intoto.json`, "utf8"));
  const { predicate } = JSON.parse(Buffer.from(payload, "base64").toString());
  const { resolvedDependencies } = predicate.buildDefinition;
  const digests = ["stratagem", "stratagem-runtime"].map((name) => {
    return resolvedDependencies.find((one: { name: string }) => one.name === name).digest.dirHash;
  });
  // As docs/ship.md has it.
  const files = `$(node -p 'require("./package.json").files.join(" ")')`;
  const command = `find package.json ${files} -type f \
    | LC_ALL=C sort | xargs sha256sum | sha256sum`;
  const printed = ["compiler", "runtime"].map((cwd) => {
    return spawnSync("sh", ["-c", command], { cwd, encoding: "utf8" }).stdout.split(" ")[0];
  });
  expect(digests).toEqual(printed);
});

/** Remembers serial after serial, and says each once it is on the disk. */
const REMEMBERING = `
  import { SerialMemory } from ${JSON.stringify(MEMORY)};
  const memory = await SerialMemory.open(process.argv[1]);
  for (let serial = Number(process.argv[2]); ; serial++) {
    await memory.remember({ application: "echo", serial, sha256: "0" });
    process.stdout.write(serial + "\\n");
  }`;

test("what is remembered never falls, wherever the process is killed", async () => {
  const memory = join(folder, "killed");
  let told = 0;
  for (let time = 0; time < 25; time++) {
    const flags = ["--input-type=module", "-e", REMEMBERING, memory, String(told + 1)];
    const child = spawn(process.execPath, flags, { stdio: ["ignore", "pipe", "inherit"] });
    const ended = once(child, "exit");
    const wanted = told + 1 + (time % 7);
    for await (const line of createInterface(child.stdout)) {
      told = Number(line);
      // It goes on while the signal is on its way, so it is hit anywhere.
      if (told >= wanted) child.kill("SIGKILL");
    }
    expect((await ended)[1]).toBe("SIGKILL");
    const highest = await (await SerialMemory.open(memory)).highest("echo");
    expect(highest?.serial).toBeGreaterThanOrEqual(told);
    told = highest?.serial ?? 0;
  }
});

const hasOpenssl = spawnSync("openssl", ["version"]).status === 0;

/** sigstore's own verifier, as npm brings it. */
const SIGSTORE = join(
  spawnSync("npm", ["root", "-g"], { encoding: "utf8" }).stdout.trim(),
  "npm/node_modules/@sigstore",
);

testWith("npm with sigstore's verifier", existsSync(SIGSTORE))(
  "sigstore verifies what sign --cosign-key writes, and openssl too",
  () => {
    const own = join(folder, "cosign");
    writeKeyPair(own);
    signed(policy, "--cosign-key", `${own}.key`);
    const require = createRequire(import.meta.url);
    const { bundleFromJSON } = require(join(SIGSTORE, "bundle"));
    const { Verifier, toSignedEntity } = require(join(SIGSTORE, "verify"));
    const publicKey = createPublicKey(readFileSync(`${own}.pub`));
    const trusted = { publicKey: () => ({ publicKey, validFor: () => true }) };
    const none = { ctlogThreshold: 0, tlogThreshold: 0, timestampThreshold: 0 };
    const said = bundleFromJSON(JSON.parse(readFileSync(`${policy}.sigstore.json`, "utf8")));
    const verifyBlob = (path: string) =>
      new Verifier(trusted, none).verify(toSignedEntity(said, readFileSync(path)));
    expect(verifyBlob(policy)).toBeDefined();
    expect(() => verifyBlob(join(folder, "first"))).toThrow("signature verification failed");
    const raw = join(folder, "cosign.sig");
    writeFileSync(raw, Buffer.from(readFileSync(`${policy}.sig`, "utf8"), "base64"));
    const flags = ["-sha256", "-verify", `${own}.pub`, "-signature", raw, policy];
    if (hasOpenssl) expect(spawnSync("openssl", ["dgst", ...flags]).status).toBe(0);
  },
);

testWith("openssl", hasOpenssl)(
  "openssl verifies what sign --cosign-key writes with the same key",
  () => {
    signed(policy, "--cosign-key", `${key}.key`);
    const raw = join(folder, "raw.sig");
    writeFileSync(raw, Buffer.from(readFileSync(`${policy}.sig`, "utf8"), "base64"));
    const verify = (file: string) => {
      const flags = ["-verify", "-pubin", "-inkey", `${key}.pub`, "-rawin", "-sigfile", raw];
      return spawnSync("openssl", ["pkeyutl", ...flags, "-in", file], { encoding: "utf8" });
    };
    expect(verify(policy).stdout).toContain("Signature Verified Successfully");
    expect(verify(join(folder, "first")).status).not.toBe(0);
  },
);
