/** Models that take memory or time without end are refused by name; the others are served on. */
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import type { VariantModel } from "../../../runtime/exec/models/executor.ts";
import { endlessModel, greedyModel, longModel, nanModel } from "../../support/hostile-onnx.ts";
import {
  countingRows,
  InferenceError,
  identityVariant,
  type StartedExecutor,
  startedExecutor,
  WIDTH,
} from "./built-executor.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-hostile-"));
const onLinux = test.runIf(process.platform === "linux");
const GIB = 2 ** 30;
let executor: StartedExecutor | undefined;

afterEach(async () => {
  await executor?.close();
  executor = undefined;
});

function variantOf(name: string, model: Uint8Array, warmBatches = [1]): VariantModel {
  const path = join(folder, `${name}.onnx`);
  writeFileSync(path, model);
  return { ...identityVariant(name), path, warmBatches };
}

const batchOf = (variant: number) => ({ variant, rows: 1, inputs: [[countingRows(1, 1)]] });

describe("a model that asks for 16 GiB", () => {
  onLinux("is refused at the start by name, with the limit", async () => {
    const variants = [identityVariant("good"), variantOf("greedy", greedyModel(WIDTH))];
    const start = startedExecutor({ variants }, { memoryBytes: GIB });
    await expect(start).rejects.toThrow(
      /^greedy \(.*greedy\.onnx\) on cpu: .*; the memory limit of a worker is 1\.0 GiB$/,
    );
  });

  onLinux("costs its batch only, where it asks later", async () => {
    const variants = [identityVariant("good"), variantOf("greedy", greedyModel(WIDTH), [])];
    executor = await startedExecutor({ variants }, { memoryBytes: GIB });
    await executor.nextEvent();
    const pid = executor.pidOf(0);
    const refused = executor.run(0, batchOf(1));
    await expect(refused).rejects.toThrow(InferenceError);
    await expect(refused).rejects.toThrow(/^greedy: .*; the memory limit of a worker is 1\.0 GiB$/);
    await executor.run(0, batchOf(0));
    expect(executor.pidOf(0)).toBe(pid);
  });

  onLinux("is refused under the limit that nobody stated", async () => {
    const start = startedExecutor({ variants: [variantOf("greedy", greedyModel(WIDTH))] });
    await expect(start).rejects.toThrow(/the memory limit of a worker is \d+\.\d GiB$/);
  });
});

describe("a model that does not end", () => {
  test("is refused at the start by name, with the step and its limit", async () => {
    const variants = [identityVariant("good"), variantOf("endless", endlessModel(WIDTH))];
    const start = startedExecutor({ variants }, { modelTimeoutMs: 3000 });
    await expect(start).rejects.toThrow(
      /^endless: its first runs with 1 row took more than 3000 ms$/,
    );
  });

  test("costs its worker where it does so later", async () => {
    const variants = [identityVariant("good"), variantOf("endless", endlessModel(WIDTH), [])];
    executor = await startedExecutor({ variants }, { batchTimeoutMs: 50, healthyAfterMs: 0 });
    await executor.nextEvent();
    await expect(executor.run(0, batchOf(1))).rejects.toThrow("no answer within 50 ms");
    expect(await executor.nextEvent()).toBe("lost 0: no answer within 50 ms");
    expect(await executor.nextEvent()).toBe("ready 0");
    await executor.run(0, batchOf(0));
  });
});

test("a chain of nodes as long as a book is loaded, or refused by name", async () => {
  const variants = [variantOf("long", longModel(WIDTH, 2000))];
  executor = await startedExecutor({ variants });
  const { outputs } = await executor.run(0, batchOf(0));
  expect([...(outputs[0]?.bytes ?? [])]).toEqual([...countingRows(1, 1)]);
  await executor.close();
  const start = startedExecutor(
    { variants: [variantOf("longer", longModel(WIDTH, 50_000))] },
    {
      modelTimeoutMs: 100,
    },
  );
  await expect(start).rejects.toThrow(/^longer: loading it for 1 core took more than 100 ms$/);
});

test("numbers that are none go out as the bytes they are", async () => {
  executor = await startedExecutor({ variants: [variantOf("nan", nanModel(WIDTH))] });
  const { outputs } = await executor.run(0, batchOf(0));
  const floats = new Float32Array(outputs[0]?.bytes.slice().buffer ?? new ArrayBuffer());
  expect([...floats]).toEqual([Number.NaN, Number.NaN, Number.NaN, Number.NaN]);
});
