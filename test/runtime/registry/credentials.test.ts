/** Sources of credentials for a registry: given ones, variables, and login files. */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { credentialsFor } from "../../../runtime/registry/credentials.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-credentials-"));
afterAll(() => rmSync(folder, { recursive: true }));

const R = { host: "r.example:5000", repository: "team/policy" };
const auth = (text: string) => Buffer.from(text).toString("base64");
const password = (username: string, secret: string) => {
  return { kind: "password", username, password: secret };
};
let files = 0;

function fileOf(config: unknown): string {
  const path = join(folder, `config-${files++}.json`);
  writeFileSync(path, typeof config === "string" ? config : JSON.stringify(config));
  return path;
}

async function foundIn(config: unknown, reference = R) {
  return (await credentialsFor(reference, { file: fileOf(config) }))?.credentials ?? null;
}

test("given credentials take precedence over variables, and those over files", async () => {
  const file = fileOf({ auths: { "r.example:5000": { auth: auth("filed:f") } } });
  const given = { kind: "bearer", token: "t" } as const;
  const environment = {
    STRATAGEM_REGISTRY_USERNAME: "named",
    STRATAGEM_REGISTRY_PASSWORD: "n",
  };
  const all = { given, environment, file };
  expect((await credentialsFor(R, all))?.credentials).toEqual(given);
  expect(await credentialsFor(R, { environment, file })).toEqual({
    credentials: password("named", "n"),
    from: "STRATAGEM_REGISTRY_USERNAME",
  });
  expect(await credentialsFor(R, { file })).toEqual({
    credentials: password("filed", "f"),
    from: file,
  });
  const token = { STRATAGEM_REGISTRY_TOKEN: "abc" };
  expect((await credentialsFor(R, { environment: token }))?.credentials).toEqual({
    kind: "bearer",
    token: "abc",
  });
});

test("a name without a password in variables is rejected without showing it", async () => {
  const environment = { STRATAGEM_REGISTRY_PASSWORD: "hush" };
  await expect(credentialsFor(R, { environment })).rejects.toMatchObject({
    code: "RUNTIME_CREDENTIALS",
    message: expect.not.stringContaining("hush"),
  });
});

test.each<[string, Record<string, unknown>, object | null]>([
  ["host and port", { "r.example:5000": { auth: auth("a:b:c") } }, password("a", "b:c")],
  ["a URL", { "https://r.example:5000/v2/": { auth: auth("a:b") } }, password("a", "b")],
  [
    "the nearest folder",
    {
      "r.example:5000": { auth: auth("all:x") },
      "r.example:5000/team": { auth: auth("team:x") },
      "r.example:5000/other": { auth: auth("other:x") },
    },
    password("team", "x"),
  ],
  [
    "a token of identity",
    { "r.example:5000": { auth: auth("a:b"), identitytoken: "i" } },
    {
      kind: "identity",
      token: "i",
    },
  ],
  [
    "a token of the registry",
    { "r.example:5000": { registrytoken: "r" } },
    {
      kind: "bearer",
      token: "r",
    },
  ],
  ["names apart", { "r.example:5000": { username: "a", password: "b" } }, password("a", "b")],
  ["another host", { "r.example": { auth: auth("a:b") } }, null],
  ["an empty entry", { "r.example:5000": {} }, null],
])("finds an account by %s", async (_, auths, expected) => {
  expect(await foundIn({ auths })).toEqual(expected);
});

test("Docker Hub has a key of its own", async () => {
  const config = { auths: { "https://index.docker.io/v1/": { auth: auth("hub:h") } } };
  const reference = { host: "docker.io", repository: "team/policy" };
  expect(await foundIn(config, reference)).toEqual(password("hub", "h"));
  expect(await foundIn(config)).toBe(null);
});

test("searches the files of docker and podman in their order", async () => {
  const home = join(folder, "home");
  const run = join(folder, "run");
  mkdirSync(join(home, ".docker"), { recursive: true });
  mkdirSync(join(run, "containers"), { recursive: true });
  const environment = { HOME: home, XDG_RUNTIME_DIR: run };
  expect(await credentialsFor(R, { environment })).toBe(null);
  const podman = join(run, "containers/auth.json");
  writeFileSync(podman, JSON.stringify({ auths: { "r.example:5000": { auth: auth("p:p") } } }));
  expect((await credentialsFor(R, { environment }))?.from).toBe(podman);
  const docker = join(home, ".docker/config.json");
  writeFileSync(docker, JSON.stringify({ auths: { "r.example:5000": { auth: auth("d:d") } } }));
  expect((await credentialsFor(R, { environment }))?.from).toBe(docker);
  const named = fileOf({ auths: { "r.example:5000": { auth: auth("n:n") } } });
  const REGISTRY_AUTH_FILE = named;
  expect(
    (await credentialsFor(R, { environment: { ...environment, REGISTRY_AUTH_FILE } }))?.from,
  ).toBe(named);
});

test.each([
  ["a file that is missing", join(folder, "gone.json"), "got: no such file"],
  ["no JSON", "{ password: hush", "expected JSON"],
  ["a list", "[]", "expected JSON"],
  ["no account", { auths: { "r.example:5000": { auth: auth("hush") } } }, "name:password"],
])("rejects %s without showing its content", async (_, config, message) => {
  const isPath = typeof config === "string" && config.startsWith(folder);
  const file = isPath ? config : fileOf(config);
  const refusal = credentialsFor(R, { file });
  await expect(refusal).rejects.toMatchObject({ code: "RUNTIME_CREDENTIALS" });
  await expect(refusal).rejects.toThrow(message);
  await expect(refusal).rejects.not.toThrow(/hush/);
});

test.skipIf(process.platform === "win32")("asks the helper that keeps them", async () => {
  const bin = join(folder, "bin");
  mkdirSync(bin);
  const helper = (name: string, script: string) => {
    const path = join(bin, `docker-credential-${name}`);
    writeFileSync(path, `#!/bin/sh\nread server\n${script}\n`);
    chmodSync(path, 0o755);
  };
  const environment = { PATH: `${bin}${delimiter}${process.env["PATH"] ?? ""}` };
  const ask = async (config: object) => {
    const found = await credentialsFor(R, { file: fileOf(config), environment });
    return found?.credentials ?? null;
  };
  helper("keeps", `printf '{"Username":"%s","Secret":"s"}' "$1 $server"`);
  helper("token", `printf '{"Username":"<token>","Secret":"t"}'`);
  helper("knows-nobody", `echo "credentials not found in native keychain"; exit 1`);
  helper("fails", `echo hush; exit 3`);
  helper("babbles", `echo hush`);
  const of = (name: string) => ask({ credHelpers: { "r.example:5000": name } });
  expect(await of("keeps")).toEqual(password("get r.example:5000", "s"));
  expect(await of("token")).toEqual({ kind: "identity", token: "t" });
  expect(await of("knows-nobody")).toBe(null);
  expect(await ask({ credsStore: "keeps", auths: { "r.example:5000": {} } })).toEqual(
    password("get r.example:5000", "s"),
  );
  await expect(of("fails")).rejects.toThrow(/^docker-credential-fails: .* exited with code 3$/);
  await expect(of("babbles")).rejects.toThrow(/^docker-credential-babbles: expected JSON/);
  await expect(of("gone")).rejects.toThrow("got: no such program");
  await expect(of("../evil")).rejects.toThrow("expected the name of a helper");
});
