/** Modules in workers: batches, and what becomes of those that misbehave. */

import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { devicesOn } from "stratagem-runtime/internal/exec/models/worker-device";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { VariantModel } from "../../../runtime/exec/models/executor.ts";
import { ModuleModel } from "../../../runtime/exec/modules/module-model.ts";
import { encodeStrings } from "../../../runtime/exec/tensors/string-data.ts";
import { NUMBERS_MODULE } from "../../support/host-modules.ts";
import {
  InferenceError,
  identityVariant,
  type StartedExecutor,
  startedExecutor,
  WorkerLostError,
} from "./built-executor.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-modules-"));
const INPUT = { name: "text", dtype: "string", shape: [-1] };
const OUTPUT = { name: "x", dtype: "float32", shape: [-1, 3] };

function moduleOf(name: string, source: string, more: Partial<VariantModel> = {}): VariantModel {
  const path = join(folder, `${name}.mjs`);
  writeFileSync(path, source);
  const tensors = { inputs: [INPUT], outputs: [OUTPUT], warmBatches: [1] };
  return { name, path, module: { options: "{}", folder }, ...tensors, ...more };
}

/** Loads it here, as a worker does. */
function loaded(variant: VariantModel): Promise<ModuleModel> {
  return ModuleModel.load(variant, { options: "{}", folder }, 1, () => {});
}

const batchOf = (...texts: string[]) => {
  return { variant: 0, rows: texts.length, inputs: [[encodeStrings(texts)]] };
};

function numbersIn({ outputs }: Awaited<ReturnType<StartedExecutor["run"]>>) {
  const [output] = outputs;
  return { shape: output?.shape, data: [...new Float32Array(output?.bytes.slice().buffer ?? [])] };
}

describe("a module that is well", () => {
  let executor: StartedExecutor;
  beforeAll(async () => {
    executor = await startedExecutor({ variants: [moduleOf("well", NUMBERS_MODULE)] });
    await executor.nextEvent();
  });
  afterAll(() => executor.close());

  test("answers a batch", async () => {
    const result = await executor.run(0, batchOf("1 2 3", "4 5 6"));
    expect(numbersIn(result)).toEqual({ shape: [2, 3], data: [1, 2, 3, 4, 5, 6] });
    expect(result.cores).toBe(1);
    expect(result.wallMs).toBeGreaterThan(0);
  });

  test("names the rows that it will not have", async () => {
    const run = executor.run(0, batchOf("1 2 3", "a cat", "4 5 6", "a dog"));
    await expect(run).rejects.toMatchObject({
      name: "RowsRefusedError",
      message: "well: expected three numbers",
      rows: [1, 3],
    });
  });

  const X = 'well: output "x": expected FP32 [2, 3], got';
  test.each([
    ["throw", "well: it is tired"],
    ["shape", `${X} the shape [2, 2]`],
    ["rows", `${X} the shape [1, 3]`],
    ["type", `${X} data of type Float64Array, not Float32Array`],
    ["short", `${X} 5 elements for the shape [2, 3]`],
    ["none", `${X} none`],
    ["nothing", "well: expected run() to return { x }, got undefined"],
  ])("%s: its batch fails, and the next is answered", async (word, message) => {
    const pid = executor.pidOf(0);
    const run = executor.run(0, batchOf("1 2 3", word));
    await expect(run).rejects.toThrow(InferenceError);
    await expect(run).rejects.toThrow(message);
    expect(numbersIn(await executor.run(0, batchOf("1 2 3"))).data).toEqual([1, 2, 3]);
    expect(executor.pidOf(0)).toBe(pid);
  });
});

describe("a module that takes its worker along", () => {
  let executor: StartedExecutor | undefined;
  afterEach(() => executor?.close());

  const limits = { batchTimeoutMs: 300, healthyAfterMs: 0 };
  test.each([
    ["hang", "no answer within 300 ms"],
    ["never", "a module never answers: nothing is left to settle what it waits for"],
    ["late", "a module threw by itself: a timer"],
    ["exit", "exit code 7"],
  ])("%s: costs its batch, and another worker goes on", async (word, reason) => {
    executor = await startedExecutor({ variants: [moduleOf(word, NUMBERS_MODULE)] }, limits);
    await executor.nextEvent();
    const run = executor.run(0, batchOf("1 2 3", word));
    await expect(run).rejects.toThrow(WorkerLostError);
    await expect(run).rejects.toThrow(reason);
    expect(await executor.nextEvent()).toBe(`lost 0: ${reason}`);
    expect(await executor.nextEvent()).toBe("ready 0");
    expect(numbersIn(await executor.run(0, batchOf("1 2 3"))).data).toEqual([1, 2, 3]);
  });

  test.runIf(process.platform === "linux")("leak: reported with the memory limit", async () => {
    const variants = [moduleOf("leak", NUMBERS_MODULE)];
    const most = { ...limits, batchTimeoutMs: 30_000, memoryBytes: 2 ** 30 };
    executor = await startedExecutor({ variants }, most);
    await executor.nextEvent();
    const run = executor.run(0, batchOf("leak"));
    await expect(run).rejects.toThrow(WorkerLostError);
    await expect(run).rejects.toThrow(/leak: .*; the memory limit of a worker is 1\.0 GiB$/);
    expect(await executor.nextEvent()).toMatch(/^lost 0/);
    expect(await executor.nextEvent()).toBe("ready 0");
  });
});

const TWO_AT_ONCE = NUMBERS_MODULE.replace("return {", "return { batches: [1, 2],").replace(
  "const words",
  'if (rows > 2) throw new Error("too many"); const words',
);

test("a module that takes two rows at most gets larger batches in parts", async () => {
  const executor = await startedExecutor({ variants: [moduleOf("parts", TWO_AT_ONCE)] });
  await executor.nextEvent();
  const rows = ["1 2 3", "4 5 6", "7 8 9", "0 0 1", "0 0 2"];
  const data = [1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 0, 1, 0, 0, 2];
  expect(numbersIn(await executor.run(0, batchOf(...rows)))).toEqual({ shape: [5, 3], data });
  const bad = executor.run(0, batchOf(...rows.slice(0, 4), "a cat"));
  await expect(bad).rejects.toMatchObject({ rows: [4] });
  await executor.close();
});

describe("a module that is not what was promised is refused at the start", () => {
  const opened = "export default () => (";
  const WHOLE = `{
    inputs: [{ name: "text", datatype: "BYTES", shape: [] }],
    outputs: [{ name: "x", datatype: "FP32", shape: [3] }],
    run: () => { throw new Error("not this") },
  })`;
  const STARTED = /: zeros and empty strings failed: not this; add a sample\(\)/;
  test.each([
    ["no-function", "export default 1", "expected a function as its default export, got a number"],
    ["no-default", "export const x = 1", "as its default export, got nothing"],
    [
      "no-module",
      "export default () => 1",
      "expected the function to return { inputs, outputs, run }",
    ],
    ["no-code", "export default (", "Unexpected"],
    ["no-import", 'import "./nowhere.mjs"; export default 1', "nowhere.mjs"],
    ["no-opening", 'export default () => { throw new Error("keys.txt") }', "keys.txt"],
    ["no-run", `${opened}{ inputs: [], outputs: [] })`, "expected run to be a function"],
    ["no-inputs", `${opened}{ inputs: [], outputs: [], run() {} })`, "inputs to be a list of 1"],
    [
      "no-type",
      opened + WHOLE.replace('"FP32"', '"FP31"'),
      /outputs\[0\]\.datatype: expected one of BOOL, .*, BYTES, got "FP31"/,
    ],
    [
      "no-shape",
      opened + WHOLE.replace("[3]", "[0]"),
      "outputs[0].shape: expected the shape of one row, at most 15 sizes, each −1 or 1 to",
    ],
    [
      "other-shape",
      opened + WHOLE.replace("[3]", "[4]"),
      "expected the outputs x FP32 [rows, 3]; has x FP32 [rows, 4]",
    ],
    ["no-batch", opened + WHOLE.replace("{", "{ batches: [2],"), "includes 1, got [2]"],
    ["no-zeros", opened + WHOLE, STARTED],
  ])("%s", async (name, source, message) => {
    const variant = moduleOf(name, source);
    const start = loaded(variant);
    await expect(start).rejects.toThrow(message);
    await expect(start).rejects.toThrow(`${name} (${variant.path}): `);
  });

  test("a file that has changed since it was checked", async () => {
    const variant = moduleOf("changed", NUMBERS_MODULE);
    const opened = { fd: 0, bytes: 1, sha256: "0".repeat(64) };
    const start = loaded({ ...variant, opened });
    await expect(start).rejects.toThrow(/the file changed while it was served: expected SHA-256/);
  });
});

test("modules run on the processor beside models on another device", async () => {
  const variants = [moduleOf("beside", NUMBERS_MODULE)];
  const executor = await startedExecutor({ variants, devices: devicesOn("cuda", 1) });
  await executor.nextEvent();
  expect(numbersIn(await executor.run(0, batchOf("1 2 3"))).data).toEqual([1, 2, 3]);
  await executor.close();
});

test("a module beside a model says what it likes on standard output", async () => {
  const module = { options: '{"says":true}', folder };
  const variants = [identityVariant("model"), moduleOf("loud", NUMBERS_MODULE, { module })];
  const executor = await startedExecutor({ variants });
  await executor.nextEvent();
  const result = await executor.run(0, { ...batchOf("1 2 3"), variant: 1 });
  expect(numbersIn(result).data).toEqual([1, 2, 3]);
  await executor.close();
});
