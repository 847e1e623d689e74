/** The settings of `serve`: where each may be written, what comes first, what is refused. */
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { printedSettings } from "../../../runtime/commands/print-settings.ts";
import { servedSettings } from "../../../runtime/commands/serve.ts";
import { flagOf, variableOf } from "../../../runtime/kinds/setting.ts";
import { SETTINGS } from "../../../runtime/settings/table.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-settings-"));

function fileOf(text: string): string {
  const path = join(folder, "serve.yaml");
  writeFileSync(path, text);
  return path;
}

async function refusal(flags: object, environment: object = {}, file?: string): Promise<string> {
  const path = file === undefined ? undefined : fileOf(file);
  return servedSettings({ ...flags }, { ...environment }, path).then(
    () => "accepted",
    ({ code, message }) => `${code} ${message.replace(folder, "")}`,
  );
}

describe("a setting", () => {
  test("is that of its flag, else of its variable, else of the file", async () => {
    const file = fileOf("limits: { maxBody: 3MiB, maxRows: 7 }\nthreads: 2\n");
    const variables = { STRATAGEM_LIMIT: "maxRows=8,maxBody=4MiB" };
    const { values, sources } = await servedSettings({ limit: ["maxBody=5MiB"] }, variables, file);
    expect(values).toMatchObject({ maxBody: 5 * 2 ** 20, maxRows: 8, threads: 2, standby: 1 });
    expect(sources).toMatchObject({
      maxBody: "--limit maxBody",
      maxRows: "STRATAGEM_LIMIT maxRows",
      threads: file,
      standby: "default",
    });
  });

  test.each([
    ["memory", "8GiB", 8 * 2 ** 30],
    ["device", "cuda:0,3", ["cuda:0,3"]],
    ["device", "webgpu;a=b=cuda:0,1;c=cpu", ["webgpu", "a=b=cuda:0,1", "c=cpu"]],
    ["providerOptions", "preferredLayout=NHWC", "preferredLayout=NHWC"],
    ["policy", "a,b", ["a", "b"]],
    ["meansCheck", "false", false],
    ["http", "[::1]:80", { host: "::1", port: 80 }],
    ["tls", "cert=a.pem,key=b.pem", { cert: "a.pem", key: "b.pem" }],
    ["tls", "cert=a,key=b,client-ca=c", { cert: "a", key: "b", clientCa: "c" }],
    ["log", "json", { level: "info", format: "json" }],
    ["log", "json,debug", { level: "debug", format: "json" }],
  ])("%s: %j is %j", async (key, written, read) => {
    const { values } = await servedSettings({ [key]: written }, {}, undefined);
    expect(values).toMatchObject({ [key]: read });
  });

  test.each([
    ["drainTimeout", "250ms", 250],
    ["drainTimeout", "1.5 s", 1500],
    ["drainTimeout", 40, 40],
    ["maxBody", "8GiB", 8 * 2 ** 30],
  ])("%s of the limits: %j is %j", async (key, written, read) => {
    const file = fileOf(`limits: { ${key}: ${written} }`);
    expect((await servedSettings({}, {}, file)).values).toMatchObject({ [key]: read });
    const flags = { limit: [`${key}=${written}`] };
    expect((await servedSettings(flags, {}, undefined)).values).toMatchObject({ [key]: read });
  });

  test("that is printed is read back as it was", async () => {
    const flags = {
      policy: ["a.msgpack", "b.msgpack"],
      limit: ["maxBody=3MiB", "drainTimeout=0ms"],
    };
    const before = await servedSettings(flags, {}, undefined);
    const { text } = printedSettings(before);
    const after = await servedSettings({}, {}, fileOf(text));
    expect(after.values).toEqual(before.values);
    expect(text).toContain("  maxBody: 3MiB                         # --limit maxBody\n");
  });
});

describe("what is not allowed is refused with its place", () => {
  test.each([
    [{ limit: ["maxRows=0"] }, {}, "RUNTIME_USAGE --limit maxRows: expected a whole number, at"],
    [{ limit: ["drainTimeout=5 days"] }, {}, "--limit drainTimeout: expected a time such as"],
    [{ http: "8000" }, {}, "RUNTIME_USAGE --http: expected HOST:PORT such as 127.0.0.1:8000"],
    [{ tls: "cert=a,client-ca=c" }, {}, "--tls: expected cert=FILE,key=FILE or"],
    [{ log: "loud" }, {}, "RUNTIME_USAGE --log: expected error, warn, info, debug, text, json, or"],
    [{ log: "info,warn" }, {}, "RUNTIME_USAGE --log: expected error"],
    [{}, { STRATAGEM_TLS_KEY: "a" }, "STRATAGEM_TLS_KEY was removed: use --tls cert=FILE,key=FILE"],
    [
      { device: "tpu" },
      {},
      "RUNTIME_USAGE --device: expected auto, or cpu, cuda, tensorrt or webgpu",
    ],
    [{}, { STRATAGEM_THREADS: "many" }, "RUNTIME_USAGE STRATAGEM_THREADS: expected a whole"],
    [{ limit: ["maxBody=1e999"] }, {}, "RUNTIME_USAGE --limit maxBody: expected bytes such"],
    [{ limit: ["maxBodi=1"] }, {}, 'name of a limit, got "maxBodi=1"; did you mean "maxBody"?'],
    [{ device: "cpu;cuda" }, {}, "once per pool"],
    [{}, { STRATAGEM_LIMIT: "maxRows" }, "STRATAGEM_LIMIT: expected NAME=VALUE"],
  ])("%j %j", async (flags, environment, message) => {
    expect(await refusal(flags, environment)).toContain(message);
  });

  test.each([
    [
      "limits: { maxBody: 3x }",
      "/serve.yaml:1:20: maxBody: expected bytes such as 64KiB, 512MiB or 8GiB",
    ],
    ["\nthread: 3", '/serve.yaml:2:9: expected a setting, got "thread"; did you mean "threads"?'],
    [
      "limits:\n  maxBodi: 3",
      '/serve.yaml:2:12: expected the name of a limit, got "maxBodi"; did you mean "maxBody"?',
    ],
    [
      "maxBody: 3",
      "/serve.yaml:1:10: serve --max-body was removed: use --limit maxBody=VALUE, or maxBody under",
    ],
    ["- a", "/serve.yaml:1:1: expected a map of settings"],
    ["limits: [", "/serve.yaml:1:10: "],
    ["a: &a [1]\npolicy: *a", "/serve.yaml"],
    ["x".repeat(70_000), "/serve.yaml: expected at most 65536 bytes"],
  ])("of a file: %.20s", async (file, message) => {
    expect(await refusal({}, {}, file)).toContain(`RUNTIME_CONFIG ${message}`);
  });

  test("a file that is missing, or a folder", async () => {
    for (const path of [join(folder, "none"), folder]) {
      await expect(servedSettings({}, {}, path)).rejects.toMatchObject({
        code: "RUNTIME_UNREADABLE",
      });
    }
  });
});

test("flags and variables are spelt alike", () => {
  expect(flagOf("maxUnsentPerConnection")).toBe("--max-unsent-per-connection");
  expect(variableOf("maxUnsentPerConnection")).toBe("STRATAGEM_MAX_UNSENT_PER_CONNECTION");
  for (const [key, { kind, fallback }] of Object.entries(SETTINGS)) {
    if (fallback === null) continue;
    expect(kind.read(kind.write(fallback)), key).toEqual(fallback);
  }
});
