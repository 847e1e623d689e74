/** The settings of `serve`: where each may be written, what comes first, what is refused. */
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { printedSettings } from "../../../runtime/commands/print-settings.ts";
import { servedSettings } from "../../../runtime/commands/serve.ts";
import { flagOf, variableOf } from "../../../runtime/settings/setting.ts";
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
    const file = fileOf("maxBody: 3MiB\nmaxRows: 7\nthreads: 2\n");
    const variables = { STRATAGEM_MAX_ROWS: "8", STRATAGEM_MAX_BODY: "4MiB" };
    const { values, sources } = await servedSettings({ maxBody: "5MiB" }, variables, file);
    expect(values).toMatchObject({ maxBody: 5 * 2 ** 20, maxRows: 8, threads: 2, standby: 1 });
    expect(sources).toMatchObject({
      maxBody: "--max-body",
      maxRows: "STRATAGEM_MAX_ROWS",
      threads: file,
      standby: "default",
    });
  });

  test.each([
    ["drainTimeout", "250ms", 250],
    ["drainTimeout", "1.5 s", 1500],
    ["drainTimeout", 40, 40],
    ["maxBody", "8GiB", 8 * 2 ** 30],
    ["deviceIds", "0,3", [0, 3]],
    ["deviceIds", [0, 3], [0, 3]],
    ["poolDevice", "a=b=cuda:0,1;c=cpu", ["a=b=cuda:0,1", "c=cpu"]],
    ["providerOptions", "preferredLayout=NHWC", "preferredLayout=NHWC"],
    ["policy", "a,b", ["a", "b"]],
    ["meansCheck", "false", false],
    ["http", "[::1]:80", { host: "::1", port: 80 }],
  ])("%s: %j is %j", async (key, written, read) => {
    const { values } = await servedSettings({ [key]: written }, {}, undefined);
    expect(values).toMatchObject({ [key]: read });
  });

  test("that is printed is read back as it was", async () => {
    const flags = { policy: ["a.msgpack", "b.msgpack"], maxBody: "3MiB", drainTimeout: "0ms" };
    const before = await servedSettings(flags, {}, undefined);
    const { text } = printedSettings(before);
    const after = await servedSettings({}, {}, fileOf(text));
    expect(after.values).toEqual(before.values);
    expect(text).toContain("maxBody: 3MiB                           # --max-body\n");
  });
});

describe("what is not allowed is refused with its place", () => {
  test.each([
    [{ maxRows: "0" }, {}, "RUNTIME_USAGE --max-rows: expected a whole number, at least 1"],
    [{ drainTimeout: "5 days" }, {}, "RUNTIME_USAGE --drain-timeout: expected a time such as"],
    [{ http: "8000" }, {}, "RUNTIME_USAGE --http: expected HOST:PORT such as 127.0.0.1:8000"],
    [
      { device: "tpu" },
      {},
      "RUNTIME_USAGE --device: expected auto, or cpu, cuda, tensorrt or webgpu",
    ],
    [{}, { STRATAGEM_THREADS: "many" }, "RUNTIME_USAGE STRATAGEM_THREADS: expected a whole"],
    [{ maxBody: "1e999" }, {}, "RUNTIME_USAGE --max-body: expected bytes such as 64KiB"],
  ])("%j %j", async (flags, environment, message) => {
    expect(await refusal(flags, environment)).toContain(message);
  });

  test.each([
    ["maxBody: 3x", "/serve.yaml:1:10: maxBody: expected bytes such as 64KiB, 512MiB or 8GiB"],
    [
      "\nmaxBodi: 3",
      '/serve.yaml:2:10: expected a setting, got "maxBodi"; did you mean "maxBody"?',
    ],
    ["- a", "/serve.yaml:1:1: expected settings by their names"],
    ["maxBody: [", "/serve.yaml:1:11: "],
    ["a: &a [1]\nmaxBody: *a", "/serve.yaml"],
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
