/** Models are read in a process of its own: what they ask for is told, and costs only it. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ModelLimits } from "stratagem-runtime/internal/exec/process/model-reader";
import { afterEach, expect, test } from "vitest";
import { longModel } from "../../../support/hostile-onnx.ts";
import { identityModel } from "../../../support/onnx-model.ts";

type ReaderModule = typeof import("stratagem-runtime/internal/exec/process/model-reader");

const URL_OF_BUILT = new URL(
  "../../../../runtime/dist/exec/process/model-reader.js",
  import.meta.url,
).href;
const { ModelReader }: ReaderModule = await import(URL_OF_BUILT);
const folder = mkdtempSync(join(tmpdir(), "stratagem-reader-"));
const abort = new AbortController();
let reader: InstanceType<typeof ModelReader> | undefined;

afterEach(() => reader?.close());

function opened(limits: Partial<ModelLimits> = {}, { signal } = abort) {
  reader = new ModelReader(signal, limits);
  return reader;
}

function fileOf(name: string, bytes: Uint8Array): string {
  const path = join(folder, name);
  writeFileSync(path, bytes);
  return path;
}

test("reads a model after one that is none", async () => {
  const models = opened();
  const broken = fileOf("broken.onnx", Uint8Array.of(1, 2, 3));
  await expect(models.describe(broken)).rejects.toThrow(/expected an ONNX model|protobuf/i);
  const { file, inputs } = (await models.describe(fileOf("good.onnx", identityModel(3)))).model;
  expect({ file, inputs }).toEqual({
    file: "good.onnx",
    inputs: [{ name: "x", dtype: "float32", shape: [-1, 3] }],
  });
});

test("gives up a model that takes too long, and reads the next one", async () => {
  const models = opened({ timeoutMs: 1000 });
  const long = fileOf("long.onnx", longModel(4, 200_000));
  await expect(models.describe(long)).rejects.toThrow(
    /^loading it took more than \d+ ms, the limit for a file of its size$/,
  );
  const slower = opened();
  expect((await slower.describe(fileOf("good.onnx", identityModel(3)))).model.file).toBe(
    "good.onnx",
  );
});

test.runIf(process.platform === "linux")(
  "states a limit of memory and what it follows from",
  async () => {
    const models = opened({ memoryBytes: 2 ** 28 });
    const large = fileOf("large.onnx", longModel(4, 60_000));
    await expect(models.describe(large)).rejects.toThrow(
      /the memory limit of a worker is 0\.3 GiB, a quarter of the machine, 4 GiB or what the file/,
    );
  },
);

test.runIf(process.platform !== "win32")("refuses a pipe at once, and a device", async () => {
  const pipe = join(folder, "pipe.onnx");
  execFileSync("mkfifo", [pipe]);
  for (const path of [pipe, "/dev/zero", folder]) {
    await expect(opened().describe(path)).rejects.toThrow(/not a file|EISDIR/);
  }
});

test("ends with the reason of its signal", async () => {
  const own = new AbortController();
  const models = opened({}, own);
  const reading = models.describe(fileOf("long.onnx", longModel(4, 100_000)));
  const refused = expect(reading).rejects.toThrow("enough");
  own.abort(new Error("enough"));
  await refused;
});
