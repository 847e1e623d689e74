/** `keygen`, `sign` and `verify --key`: what they write, what they say, how they end. */
import { createPublicKey, verify } from "node:crypto";
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { signedBytes } from "../../runtime/bundles/trust/envelope.ts";
import { stratagemHere, stratagemRuntimeHere } from "../support/cli-here.ts";
import { writeKeyPair } from "../support/p256-pair.ts";
import type { CliRun } from "../support/run-cli.ts";
import { signatureFolder } from "../support/signatures.ts";

/** A bundle with the stages of its models beside it. */
const POLICY = "policies/malleable";

const folder = signatureFolder();
const key = join(folder, "ci");
afterAll(() => rmSync(folder, { recursive: true }));
beforeAll(async () => {
  // Specs name what they are compiled from by paths of their own.
  for (const name of ["models", "profiles"]) symlinkSync(resolve(name), join(folder, name));
  expect(await stratagemHere("keygen", "-o", key)).toMatchObject({ status: 0, stderr: "" });
});

let copies = 0;

/** @returns path of a bundle of its own, whose files lie beside it. */
function copied(): string {
  const home = join(folder, "policies", `copy-${copies++}`);
  cpSync(POLICY, home, { recursive: true });
  return join(home, "bundle.msgpack");
}

async function signed(bundle: string, ...flags: readonly string[]): Promise<CliRun> {
  const run = await stratagemHere("sign", bundle, "--key", `${key}.key`, ...flags);
  expect(run).toMatchObject({ status: 0, stderr: "" });
  return run;
}

function verified(bundle: string, ...flags: readonly string[]): Promise<CliRun> {
  return stratagemRuntimeHere("verify", bundle, "--key", `${key}.pub`, ...flags);
}

interface EnvelopeFile {
  readonly payloadType: string;
  readonly payload: string;
  readonly signatures: readonly { readonly keyid: string; readonly sig: string }[];
}

/** What an envelope holds, if its first signature is that of a key. */
function openedBy(pub: string, path: string) {
  const { payloadType, payload, signatures } = JSON.parse(
    readFileSync(path, "utf8"),
  ) as EnvelopeFile;
  const content = Buffer.from(payload, "base64");
  const [first] = signatures;
  const own = Buffer.from(first?.sig ?? "", "base64");
  const isOwn = verify(null, signedBytes(payloadType, content), readFileSync(pub, "utf8"), own);
  expect(isOwn).toBe(true);
  return JSON.parse(content.toString());
}

describe("keygen", () => {
  test("writes a key that only its owner reads, and one to give away", () => {
    expect(statSync(`${key}.key`).mode & 0o777).toBe(0o600);
    expect(statSync(`${key}.pub`).mode & 0o777).toBe(0o644);
    expect(createPublicKey(readFileSync(`${key}.pub`)).asymmetricKeyType).toBe("ed25519");
  });

  test.each([
    ["key", "pub"],
    ["pub", "key"],
  ])("replaces no .%s that is there, and leaves no .%s", async (there, other) => {
    const name = join(folder, `half-${there}`);
    writeFileSync(`${name}.${there}`, "precious");
    const run = await stratagemHere("keygen", "-o", name);
    expect(run).toMatchObject({ status: 65, stdout: "" });
    expect(run.stderr).toMatch(/^COMPILER_UNWRITABLE .*keys are never replaced\n$/);
    expect(readFileSync(`${name}.${there}`, "utf8")).toBe("precious");
    expect(existsSync(`${name}.${other}`)).toBe(false);
  });

  test("encrypts a key with the passphrase, without which it does not sign", async () => {
    const name = join(folder, "secret");
    process.env["STRATAGEM_KEY_PASSPHRASE"] = "open sesame";
    try {
      await stratagemHere("keygen", "-o", name);
      expect(readFileSync(`${name}.key`, "utf8")).toContain("BEGIN ENCRYPTED PRIVATE KEY");
      const run = await stratagemHere("sign", copied(), "--key", `${name}.key`);
      expect(run).toMatchObject({ status: 0, stderr: "" });
    } finally {
      delete process.env["STRATAGEM_KEY_PASSPHRASE"];
    }
    const { status, stderr } = await stratagemHere("sign", copied(), "--key", `${name}.key`);
    expect([status, stderr]).toEqual([65, expect.stringMatching(/^RUNTIME_KEY .*is not set\n$/)]);
  });
});

describe("sign", () => {
  test("says of the bundle what it was told, with every file that the bundle names", async () => {
    const bundle = copied();
    const flags = ["--serial", "41", "--expires", "2099-01-31", "--scope", "tier=edge,site=berlin"];
    const { stdout } = await signed(bundle, ...flags, "--json");
    const said = JSON.parse(stdout);
    const statement = openedBy(`${key}.pub`, `${bundle}.dsse.json`);
    expect(statement).toMatchObject({
      version: 1,
      application: "malleable",
      bytes: statSync(bundle).size,
      serial: 41,
      expiresAt: "2099-01-31T00:00:00.000Z",
      scope: { tier: "edge", site: "berlin" },
    });
    expect(statement.models).toHaveLength(6);
    expect(said).toMatchObject({ serial: 41, sha256: statement.sha256, models: statement.models });
  });

  test("has a serial that grows by itself", async () => {
    const bundle = copied();
    const serials = [];
    for (let time = 0; time < 2; time++) {
      const { stdout } = await signed(bundle, "--json");
      serials.push(JSON.parse(stdout).serial);
    }
    expect(serials[1]).toBeGreaterThan(serials[0]);
  });

  test("adds another key's signature to one that is there", async () => {
    const [bundle, next] = [copied(), join(folder, "next")];
    await stratagemHere("keygen", "-o", next);
    await signed(bundle, "--serial", "5");
    const run = await stratagemHere("sign", bundle, "--key", `${next}.key`, "--add", "--json");
    expect(JSON.parse(run.stdout)).toMatchObject({ serial: 5, keys: { length: 2 } });
    for (const pub of [`${key}.pub`, `${next}.pub`]) {
      const { status } = await stratagemRuntimeHere("verify", bundle, "--key", pub);
      expect(status).toBe(0);
    }
  });

  test.each([
    [["--serial", "-1"], 64, "expected a whole number"],
    [["--scope", "berlin"], 64, "expected labels such as site=berlin"],
    [["--expires", "tomorrow"], 64, "--expires: expected days from now such as 90d"],
    [["--add"], 3, "expected signatures to add to, got no file"],
    [["--add", "--serial", "5"], 64, "--add: expected no --serial"],
    [["--builder", "urn:x:y"], 64, "expected --provenance with --builder"],
  ])("%j is refused", async (flags, exitCode, message) => {
    const bundle = copied();
    const run = await stratagemHere("sign", bundle, "--key", `${key}.key`, ...flags);
    expect(run).toMatchObject({ status: exitCode, stdout: "" });
    expect(run.stderr).toContain(message);
    expect(existsSync(`${bundle}.dsse.json`)).toBe(false);
  });

  test("refuses a public key, and a bundle that a server would refuse", async () => {
    const bundle = copied();
    const { stderr } = await stratagemHere("sign", bundle, "--key", `${key}.pub`);
    expect(stderr).toMatch(/^RUNTIME_KEY .* got a public key\n$/);
    writeFileSync(bundle, readFileSync(bundle).subarray(0, -1));
    const run = await stratagemHere("sign", bundle, "--key", `${key}.key`);
    expect([run.status, run.stderr]).toEqual([65, expect.stringMatching(/^BUNDLE_LENGTH /)]);
  });
});

describe("verify --key", () => {
  test("ends with 0 where the signature holds, and says what it says", async () => {
    const bundle = copied();
    await signed(bundle, "--serial", "41", "--scope", "site=berlin");
    const { status, stdout } = await verified(bundle, "--labels", "site=berlin,tier=edge");
    expect(status).toBe(0);
    expect(stdout).toMatch(/^signature ok: key [0-9a-f]{16}, serial 41, .*for site=berlin\n/);
    expect(stdout).toContain("files ok: 6 of 6 match the signature\nintegrity ok: ");
  });

  test("finds it with each kind of fault", async () => {
    const bundle = copied();
    const codes: string[] = [];
    const look = async (...flags: readonly string[]) => {
      const { status, stdout } = await verified(bundle, ...flags, "--json");
      const { ok, error } = JSON.parse(stdout);
      expect([status, ok]).toEqual([3, false]);
      codes.push(error.code);
    };
    await look();
    const { stdout } = await signed(bundle, "--expires", "2020-01-01");
    expect(stdout).toContain("it has already expired");
    await look();
    await signed(bundle, "--scope", "site=berlin");
    await look("--labels", "site=paris");
    const other = join(folder, "other");
    await stratagemHere("keygen", "-o", other);
    await stratagemHere("sign", bundle, "--key", `${other}.key`);
    await look();
    await signed(bundle);
    const bytes = readFileSync(bundle);
    writeFileSync(bundle, Buffer.concat([bytes, bytes.subarray(0, 1)]));
    await look();
    writeFileSync(bundle, bytes);
    const stage = readStages(bundle)[0] ?? "";
    writeFileSync(join(bundle, "..", stage), "another model");
    await look();
    expect(codes).toEqual([
      "RUNTIME_UNSIGNED",
      "RUNTIME_EXPIRED",
      "RUNTIME_SCOPE",
      "RUNTIME_WRONG_KEY",
      "RUNTIME_SIGNATURE",
      "RUNTIME_SIGNATURE",
    ]);
  });

  test("says which files are not here, which is no fault", async () => {
    const bundle = copied();
    await signed(bundle);
    const [stage = ""] = readStages(bundle);
    rmSync(join(bundle, "..", stage));
    const { status, stdout } = await verified(bundle);
    expect([status, stdout]).toEqual([
      0,
      expect.stringContaining(`5 of 6 match the signature; missing`),
    ]);
    const elsewhere = join(folder, "elsewhere");
    mkdirSync(elsewhere, { recursive: true });
    const all = await verified(bundle, "--models", elsewhere, "--json");
    expect(JSON.parse(all.stdout).signature.files.absent).toHaveLength(6);
  });

  test("takes a key to ask for a site", async () => {
    const { status, stderr } = await stratagemRuntimeHere("verify", copied(), "--labels", "a=b");
    expect([status, stderr]).toEqual([
      64,
      "RUNTIME_USAGE expected --key NAME.pub beside --labels\n",
    ]);
  });
});

function readStages(bundle: string): string[] {
  const { models } = openedBy(`${key}.pub`, `${bundle}.dsse.json`);
  return models.map(({ file }: { readonly file: string }) => file);
}

describe("sign --provenance", () => {
  test("says what went in, what made it and what came out, by digests", async () => {
    const bundle = copied();
    const builder = "https://ci.example/policies";
    const flags = ["--provenance", `${POLICY}/app.yaml`, "--builder", builder];
    await signed(bundle, ...flags);
    const statement = openedBy(`${key}.pub`, `${bundle}.intoto.json`);
    expect(statement).toMatchObject({
      _type: "https://in-toto.io/Statement/v1",
      predicateType: "https://slsa.dev/provenance/v1",
      predicate: {
        buildDefinition: { externalParameters: { spec: "app.yaml", application: "malleable" } },
        runDetails: { builder: { id: builder } },
      },
    });
    const names = statement.subject.map(({ name }: { readonly name: string }) => name);
    expect(names).toEqual([basename(bundle), ...readStages(bundle)]);
    const { resolvedDependencies } = statement.predicate.buildDefinition;
    const digestByName = Object.fromEntries(
      resolvedDependencies.map((one: { readonly name: string; readonly digest: object }) => {
        return [one.name, one.digest];
      }),
    );
    expect(Object.keys(digestByName)).toEqual([
      "../../models/image-classification/cnn-xl.onnx",
      "../../models/scaling/detector-l-clearest.onnx",
      "../../profiles/malleable/epyc-2vcpu.json",
      "app.yaml",
      "stratagem",
      "stratagem-runtime",
    ]);
    expect(digestByName["stratagem"]).toEqual({ dirHash: expect.stringMatching(/^[0-9a-f]{64}$/) });
    const { status, stdout } = await verified(bundle);
    expect([status, stdout]).toEqual([0, expect.stringContaining("provenance ok")]);
  });

  test("is refused with a spec that has changed since", async () => {
    const bundle = copied();
    const spec = join(bundle, "..", "app.yaml");
    writeFileSync(spec, `${readFileSync(spec, "utf8")}\n# another\n`);
    const flags = ["--key", `${key}.key`, "--provenance", spec];
    const { status, stderr } = await stratagemHere("sign", bundle, ...flags);
    expect([status, stderr]).toEqual([64, expect.stringContaining("from the bundle's compile")]);
  });

  test("is of its bundle: another's does not verify", async () => {
    const [bundle, other] = [copied(), copied()];
    copyFileSync("policies/letters/bundle.msgpack", other);
    await signed(bundle);
    await signed(other, "--provenance", "policies/letters/app.yaml");
    copyFileSync(`${other}.intoto.json`, `${bundle}.intoto.json`);
    const { status, stdout } = await verified(bundle);
    expect([status, stdout]).toEqual([3, expect.stringContaining("RUNTIME_SIGNATURE")]);
  });
});

test("sign --cosign-key takes the other key too, and signs the bytes alone", async () => {
  const bundle = copied();
  await signed(bundle, "--cosign-key", `${key}.key`);
  const sig = Buffer.from(readFileSync(`${bundle}.sig`, "utf8"), "base64");
  expect(verify(null, readFileSync(bundle), readFileSync(`${key}.pub`, "utf8"), sig)).toBe(true);
  expect(existsSync(`${bundle}.sigstore.json`)).toBe(false);
});

test("sign --cosign-key signs them with a key of cosign's kind, in both forms", async () => {
  const [bundle, own] = [copied(), join(folder, "cosign")];
  writeKeyPair(own);
  await signed(bundle, "--cosign-key", `${own}.key`);
  const sig = Buffer.from(readFileSync(`${bundle}.sig`, "utf8"), "base64");
  const pub = readFileSync(`${own}.pub`, "utf8");
  expect(verify("sha256", readFileSync(bundle), pub, sig)).toBe(true);
  const { messageSignature, mediaType } = JSON.parse(
    readFileSync(`${bundle}.sigstore.json`, "utf8"),
  );
  expect(mediaType).toBe("application/vnd.dev.sigstore.bundle.v0.3+json");
  expect(messageSignature.signature).toBe(sig.toString("base64"));
  const run = await stratagemHere("sign", bundle, "--key", `${own}.key`);
  expect([run.status, run.stderr]).toEqual([65, expect.stringContaining("got a key of kind ec")]);
});
