import { copyFileSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { WorkerLimits } from "../../../../runtime/exec/limits/worker-limits.ts";
import type { VariantModel } from "../../../../runtime/exec/models/executor.ts";
import type { AssignedProcessExecutor } from "../../../../runtime/exec/pool/assigned-pool.ts";
import { gone, startedAssigned } from "../built-assigned.ts";
import { countingRows, identityVariant, WorkerLostError } from "../built-executor.ts";

let executor: AssignedProcessExecutor;

async function started(
  variants: readonly VariantModel[],
  workerCount = 1,
  limits: Partial<WorkerLimits> = {},
) {
  const all = await startedAssigned({ variants, workerCount }, limits);
  executor = all.executor;
  return all;
}

const batchOf = (variant: number) => ({ variant, rows: 1, inputs: [[countingRows(7, 1)]] });
const pidOf = (worker: number) => executor.pids().slots[worker] ?? Number.NaN;

describe("assignments", () => {
  test("a slot has no process until it is assigned a model, nor after its release", async () => {
    const { next } = await started([identityVariant("a"), identityVariant("b")], 2);
    expect([await next(), await next()]).toEqual(["ready 0", "ready 1"]);
    expect(executor.pids().slots).toEqual([undefined, undefined]);
    executor.assign(1, [1]);
    expect(await next()).toBe("model 1: 1 loads");
    const result = await executor.run(1, batchOf(1));
    expect(result.outputs.map(({ bytes }) => bytes)).toEqual([countingRows(7, 1)]);
    const pid = pidOf(1);
    executor.release(1);
    expect(executor.pids().slots).toEqual([undefined, undefined]);
    await gone(pid);
    executor.assign(1, [0, 1]);
    expect(await next()).toBe("model 1: 2 loads");
  });

  test("a worker goes back to a model it has kept without loading it again", async () => {
    const variants = ["a", "b", "c", "d", "e"].map((name) => identityVariant(name));
    const { next } = await started(variants);
    expect(await next()).toBe("ready 0");
    const assigned = async (...indices: number[]) => {
      executor.assign(0, indices);
      const told = await next();
      await executor.run(0, batchOf(indices[0] ?? 0));
      return told;
    };
    expect(await assigned(0)).toBe("model 0: 1 loads");
    const pid = pidOf(0);
    expect(await assigned(1)).toBe("model 0: 1 loads");
    expect(await assigned(0)).toBe("model 0: 0 loads");
    expect(await assigned(2)).toBe("model 0: 1 loads");
    expect(await assigned(3)).toBe("model 0: 1 loads");
    // Four are kept: the one used longest ago goes.
    expect(await assigned(4)).toBe("model 0: 1 loads");
    expect(await assigned(0)).toBe("model 0: 0 loads");
    expect(await assigned(1)).toBe("model 0: 1 loads");
    expect(await assigned(0, 1, 2, 3, 4)).toBe("model 0: 1 loads");
    expect(pidOf(0)).toBe(pid);
  });

  test("of several in a row only the last is told of", async () => {
    const { next } = await started([identityVariant("a"), identityVariant("b")]);
    await next();
    executor.assign(0, [0]);
    executor.assign(0, [1]);
    expect(await next()).toBe("model 0: 1 loads");
    executor.assign(0, [0]);
    executor.assign(0, [1]);
    expect(await next()).toBe("model 0: 0 loads");
    executor.assign(0, [0]);
    executor.release(0);
    executor.assign(0, [1]);
    expect(await next()).toBe("model 0: 1 loads");
  });

  test("a release lets the batch end", async () => {
    const { next } = await started([identityVariant("a")]);
    await next();
    executor.assign(0, [0]);
    await next();
    const pid = pidOf(0);
    const run = executor.run(0, batchOf(0));
    executor.release(0);
    expect((await run).outputs).toHaveLength(1);
    await gone(pid);
  });

  test("outputs may have another number of rows than the batch where that is said", async () => {
    const variant = { ...identityVariant("free"), outputsAreRows: false };
    const { next } = await started([variant]);
    await next();
    executor.assign(0, [0]);
    await next();
    expect((await executor.run(0, batchOf(0))).outputs[0]?.shape).toEqual([1, 4]);
  });
});

describe("losses", () => {
  test("a worker that ends takes its batch along; its slot is ready again, empty", async () => {
    const { next } = await started([identityVariant("a")]);
    expect(await next()).toBe("ready 0");
    executor.assign(0, [0]);
    await next();
    await executor.run(0, batchOf(0));
    const pid = pidOf(0);
    process.kill(pid, "SIGSTOP");
    const run = executor.run(0, batchOf(0));
    process.kill(pid, "SIGKILL");
    await expect(run).rejects.toThrow(WorkerLostError);
    expect(await next()).toBe("lost 0: signal SIGKILL");
    expect(await next()).toBe("ready 0");
    expect(executor.pids().slots).toEqual([undefined]);
    await expect(executor.run(0, batchOf(0))).rejects.toThrow(WorkerLostError);
    executor.assign(0, [0]);
    expect(await next()).toBe("model 0: 1 loads");
    await executor.run(0, batchOf(0));
  });

  test("a model that cannot be loaded any more is tried again after a wait", async () => {
    const variant = identityVariant("gone");
    const { next } = await started([variant], 1, { backoffMs: 1 });
    expect(await next()).toBe("ready 0");
    const model = identityVariant("spare");
    writeFileSync(variant.path, "no model");
    executor.assign(0, [0]);
    expect(await next()).toMatch(/^lost 0: gone \(.*gone\.onnx\) on cpu: expected an ONNX model/);
    expect(await next()).toMatch(/^failed: gone/);
    expect(await next()).toBe("ready 0");
    copyFileSync(model.path, variant.path);
    executor.assign(0, [0]);
    expect(await next()).toBe("model 0: 1 loads");
  });

  test("a model that is none is refused at the start, by name", async () => {
    const variant = identityVariant("broken");
    writeFileSync(variant.path, "no model");
    await expect(started([identityVariant("good"), variant])).rejects.toThrow(
      /^broken \(.*broken\.onnx\) on cpu: expected an ONNX model/,
    );
  });
});
