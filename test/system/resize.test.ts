/** Workers that get more or fewer cores while they serve. */
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { VariantModel } from "../../runtime/exec/models/executor.ts";
import type { AssignedProcessExecutor } from "../../runtime/exec/pool/assigned-pool.ts";
import { gone, type StartedAssigned, startedAssigned } from "../runtime/exec/built-assigned.ts";
import { countingRows, identityVariant, WorkerLostError } from "../runtime/exec/built-executor.ts";
import { meanModel } from "../support/onnx-model.ts";

const batchOf = (first: number) => ({ variant: 0, rows: 1, inputs: [[countingRows(first, 1)]] });
const warmVariant = (name: string) => ({ ...identityVariant(name), warmCores: [1, 2, 3] });

/** An executor whose only worker holds the variant, on one core. */
async function holding(variant: VariantModel = warmVariant("warm")): Promise<StartedAssigned> {
  const started = await startedAssigned({ variants: [variant] });
  expect(await started.next()).toBe("ready 0");
  started.executor.assign(0, [0]);
  expect(await started.next()).toBe("model 0: 1 loads");
  return started;
}

/** Cores of a batch, of which the output is checked. */
async function coresOf(executor: AssignedProcessExecutor, first = 7): Promise<number> {
  const { outputs, cores } = await executor.run(0, batchOf(first));
  expect(outputs.map(({ bytes }) => bytes)).toEqual([countingRows(first, 1)]);
  return cores;
}

describe("the cores of a batch", () => {
  test("are those of the assignment, by default the threads of the executor", async () => {
    const variants = [warmVariant("assigned")];
    const { executor, next } = await startedAssigned({ variants, threadsPerWorker: 2 });
    expect(await next()).toBe("ready 0");
    for (const [asked, given] of [
      [undefined, 2],
      [3, 3],
      [undefined, 2],
      [5, 5],
    ]) {
      executor.assign(0, [0], asked);
      expect(await next()).toMatch(/^model 0: [01] loads$/);
      expect(await coresOf(executor)).toBe(given);
    }
  });

  test("are those that were asked for last, and every batch is answered", async () => {
    const { executor, next } = await holding();
    const counts = fc.array(fc.integer({ min: 1, max: 3 }), { maxLength: 3 });
    const steps = fc.array(fc.record({ idle: counts, running: counts }), { maxLength: 12 });
    let inForce = 1;
    const resizeAll = (asked: readonly number[]) => {
      for (const cores of asked) executor.resize(0, cores);
      return asked.at(-1);
    };
    await fc.assert(
      fc.asyncProperty(steps, async (drawn) => {
        for (const [first, { idle, running }] of drawn.entries()) {
          const before = resizeAll(idle);
          if (before !== undefined) expect(await next()).toBe(`resized 0: ${before}`);
          inForce = before ?? inForce;
          const run = coresOf(executor, first);
          const during = resizeAll(running);
          expect(await run).toBe(inForce);
          if (during !== undefined) expect(await next()).toBe(`resized 0: ${during}`);
          inForce = during ?? inForce;
        }
      }),
      { numRuns: 30 },
    );
  });

  test("change under batches that follow one another without a gap", async () => {
    const { executor, next, pidOf } = await holding();
    const pid = pidOf(0);
    const seen: number[] = [];
    for (let batch = 0; batch < 300; batch++) {
      const run = coresOf(executor, batch);
      if (batch % 10 === 4) executor.resize(0, (((batch / 10) % 3) | 0) + 1);
      seen.push(await run);
    }
    const expected = Array.from({ length: 300 }, (_, batch) =>
      batch < 5 ? 1 : (Math.floor((batch - 5) / 10) % 3) + 1,
    );
    expect(seen).toEqual(expected);
    for (let resize = 0; resize < 30; resize++) {
      expect(await next()).toBe(`resized 0: ${(resize % 3) + 1}`);
    }
    expect(pidOf(0)).toBe(pid);
  });

  test.skipIf(process.platform !== "linux")(
    "are the threads that run it (skipped where /proc does not tell of threads)",
    async () => {
      const width = 512;
      const variant = { ...identityVariant("threads", width), warmBatches: [] };
      writeFileSync(variant.path, meanModel(width, width));
      const { executor, next, pidOf } = await holding(variant);
      const batch = { variant: 0, rows: 64, inputs: [[countingRows(0, 64, width)]] };
      const before = threadsOf(pidOf(0));
      executor.resize(0, 2);
      expect(await next()).toBe("resized 0: 2");
      const added = [...threadsOf(pidOf(0)).keys()].filter((thread) => !before.has(thread));
      expect(added).toHaveLength(1);
      const wakeups = () => threadsOf(pidOf(0)).get(added[0] ?? "") ?? Number.NaN;
      executor.resize(0, 1);
      expect(await next()).toBe("resized 0: 1");
      const atRest = wakeups();
      for (let run = 0; run < 20; run++) await executor.run(0, batch);
      const settled = wakeups();
      // On a busy machine it may fall asleep once more after the change; none of the batches wakes
      // it.
      expect(settled - atRest).toBeLessThanOrEqual(1);
      executor.resize(0, 2);
      expect(await next()).toBe("resized 0: 2");
      for (let run = 0; run < 20; run++) await executor.run(0, batch);
      expect(wakeups()).toBeGreaterThan(settled);
    },
  );
});

describe("counts that are kept warm", () => {
  test("are changed between without loading anything", async () => {
    const variant = warmVariant("unloadable");
    const { executor, next } = await holding(variant);
    rmSync(variant.path);
    for (const cores of [2, 3, 1]) {
      executor.resize(0, cores);
      expect(await next()).toBe(`resized 0: ${cores}`);
      expect(await coresOf(executor)).toBe(cores);
    }
    // The others are loaded, which cannot be done any more.
    executor.resize(0, 4);
    expect(await next()).toMatch(/^lost 0: unloadable .*no such file|doesn't exist/i);
  });

  test("are kept of every variant that a worker is assigned", async () => {
    const variants = [warmVariant("both-a"), { ...warmVariant("both-b"), warmCores: [1, 2] }];
    const { executor, next } = await startedAssigned({ variants });
    await next();
    executor.assign(0, [0, 1]);
    expect(await next()).toBe("model 0: 2 loads");
    for (const cores of [2, 3, 1]) {
      executor.resize(0, cores);
      expect(await next()).toBe(`resized 0: ${cores}`);
      for (const variant of [0, 1]) {
        expect((await executor.run(0, { ...batchOf(7), variant })).cores).toBe(cores);
      }
    }
  });
});

describe("counts that are not warm", () => {
  test("are loaded; batches meanwhile run on the cores of before", async () => {
    const { executor, next } = await holding(identityVariant("cold"));
    executor.resize(0, 2);
    expect(await coresOf(executor)).toBe(1);
    expect(await next()).toBe("resized 0: 2");
    expect(await coresOf(executor)).toBe(2);
    // From a count that is not warm to another: the first is held until the second is.
    executor.resize(0, 4);
    expect(await coresOf(executor)).toBe(2);
    expect(await next()).toBe("resized 0: 4");
    expect(await coresOf(executor)).toBe(4);
  });

  test("of several asked for in a row only the last is told of", async () => {
    const { executor, next } = await holding(identityVariant("several"));
    for (const cores of [2, 3, 4]) executor.resize(0, cores);
    expect(await next()).toBe("resized 0: 4");
    executor.resize(0, 5);
    executor.resize(0, 1);
    expect(await next()).toBe("resized 0: 1");
    expect(await coresOf(executor)).toBe(1);
  });

  test("are loaded after the batch during which they were asked for", async () => {
    const { executor, next } = await holding(identityVariant("after"));
    const run = coresOf(executor);
    executor.resize(0, 2);
    expect(await run).toBe(1);
    expect(await next()).toBe("resized 0: 2");
  });
});

describe("a resize", () => {
  test("of a worker that still loads its models is told of after them", async () => {
    const { executor, next } = await startedAssigned({ variants: [warmVariant("early")] });
    await next();
    executor.assign(0, [0]);
    executor.resize(0, 3);
    executor.resize(0, 2);
    expect(await next()).toBe("model 0: 1 loads");
    expect(await next()).toBe("resized 0: 2");
    expect(await coresOf(executor)).toBe(2);
  });

  test("is overtaken by an assignment", async () => {
    const { executor, next } = await holding();
    executor.resize(0, 4);
    executor.resize(0, 2);
    executor.assign(0, [0], 3);
    expect(await next()).toBe("model 0: 0 loads");
    expect(await coresOf(executor)).toBe(3);
    executor.resize(0, 1);
    expect(await next()).toBe("resized 0: 1");
  });

  test("of a place without an assignment does nothing", async () => {
    const { executor, next } = await startedAssigned({ variants: [warmVariant("none")] });
    await next();
    executor.resize(0, 3);
    executor.assign(0, [0]);
    expect(await next()).toBe("model 0: 1 loads");
    expect(await coresOf(executor)).toBe(1);
  });

  test("to what is no number of cores is refused", async () => {
    const { executor } = await holding();
    for (const cores of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(() => executor.resize(0, cores)).toThrow("a whole number of cores");
      expect(() => executor.assign(0, [0], cores)).toThrow("a whole number of cores");
    }
    await expect(
      startedAssigned({ variants: [{ ...identityVariant("zero"), warmCores: [0] }] }),
    ).rejects.toThrow("whole numbers of cores");
  });

  test("of a worker that is killed during the batch is told of no more", async () => {
    for (const asked of [2, 8]) {
      const { executor, next, pidOf } = await holding();
      process.kill(pidOf(0), "SIGSTOP");
      const run = executor.run(0, batchOf(7));
      executor.resize(0, asked);
      process.kill(pidOf(0), "SIGKILL");
      await expect(run).rejects.toThrow(WorkerLostError);
      expect(await next()).toBe("lost 0: signal SIGKILL");
      await executor.close();
    }
  });

  test("that a killed worker was loading is told of no more; the next has its cores", async () => {
    const { executor, next, pidOf } = await holding();
    // A worker that has answered is followed by the next at once.
    expect(await coresOf(executor)).toBe(1);
    process.kill(pidOf(0), "SIGSTOP");
    executor.resize(0, 8);
    process.kill(pidOf(0), "SIGKILL");
    expect(await next()).toBe("lost 0: signal SIGKILL");
    expect(await next()).toBe("ready 0");
    executor.resize(0, 2);
    executor.assign(0, [0], 3);
    expect(await next()).toBe("model 0: 1 loads");
    expect(await coresOf(executor)).toBe(3);
    executor.resize(0, 2);
    expect(await next()).toBe("resized 0: 2");
    expect(await coresOf(executor)).toBe(2);
  });

  test("is forgotten when the worker is released; its batch is answered", async () => {
    for (const asked of [2, 8]) {
      const { executor, next, pidOf } = await holding();
      const pid = pidOf(0);
      const run = coresOf(executor);
      executor.resize(0, asked);
      executor.release(0);
      expect(await run).toBe(1);
      await gone(pid);
      executor.resize(0, asked);
      executor.assign(0, [0]);
      expect(await next()).toBe("model 0: 1 loads");
      expect(await coresOf(executor)).toBe(1);
      await executor.close();
    }
  });

  test("is forgotten when the executor is closed", async () => {
    const { executor, next } = await holding();
    executor.resize(0, 2);
    await executor.close();
    executor.resize(0, 3);
    const silent = await Promise.race([next(), Promise.resolve("nothing")]);
    expect(silent).toBe("nothing");
  });
});

/**
 * Threads of a process, and how often each went to sleep: one that is never woken never does again.
 */
function threadsOf(pid: number): Map<string, number> {
  const threads = readdirSync(`/proc/${pid}/task`);
  return new Map(
    threads.map((thread) => {
      const status = readFileSync(`/proc/${pid}/task/${thread}/status`, "utf8");
      return [thread, Number(/^voluntary_ctxt_switches:\s*(\d+)$/m.exec(status)?.[1])];
    }),
  );
}
