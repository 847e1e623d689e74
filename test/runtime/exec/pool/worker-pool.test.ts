import { writeFileSync } from "node:fs";
import { afterEach, describe, expect, test } from "vitest";
import {
  countingRows,
  InferenceError,
  identityVariant,
  isAlive,
  type StartedExecutor,
  startedExecutor,
  WIDTH,
  WorkerLostError,
} from "../built-executor.ts";

let executor: StartedExecutor;

afterEach(() => executor?.close());

const oneRow = { variant: 0, rows: 1, inputs: [[countingRows(7, 1)]] };

describe("running batches", () => {
  test("several requests make one batch, and their rows come back in order", async () => {
    executor = await startedExecutor({});
    const parts = [countingRows(0, 1), countingRows(100, 2), countingRows(200, 1)];
    const result = await executor.run(0, { variant: 0, rows: 4, inputs: [parts] });
    expect(result.outputs.map(({ shape }) => shape)).toEqual([[4, WIDTH]]);
    expect(result.outputs.map(({ bytes }) => [...bytes])).toEqual([[...Buffer.concat(parts)]]);
    expect(result.wallMs).toBeGreaterThan(0);
    expect(result.cpuMs).toBeGreaterThanOrEqual(0);
  });

  test("every place is announced once, after the executor is there", async () => {
    executor = await startedExecutor({ workerCount: 2, standbyCount: 1 });
    expect([await executor.nextEvent(), await executor.nextEvent()]).toEqual([
      "ready 0",
      "ready 1",
    ]);
    expect(executor.pids().standbys).toHaveLength(1);
  });

  test("batches of two variants interleave over two workers unmixed", async () => {
    const variants = [identityVariant("narrow", 3), identityVariant("wide", 5)];
    executor = await startedExecutor({ variants, workerCount: 2 });
    const runAll = async (worker: number) => {
      const results: Uint8Array[] = [];
      for (let round = 0; round < 50; round++) {
        const variant = round % 2;
        const rows = 1 + (round % 3);
        const sent = countingRows(1000 * worker + round, rows, variant === 0 ? 3 : 5);
        const { outputs } = await executor.run(worker, { variant, rows, inputs: [[sent]] });
        results.push(...outputs.map(({ bytes }) => bytes));
        expect(results.at(-1)).toEqual(sent);
      }
      // A result keeps its memory while later batches run.
      expect(results[0]).toEqual(countingRows(1000 * worker, 1, 3));
    };
    await Promise.all([runAll(0), runAll(1)]);
  });

  test("a batch far larger than what a socket holds comes back whole", async () => {
    executor = await startedExecutor({});
    const rows = 500_000;
    const sent = countingRows(0, rows);
    const { outputs } = await executor.run(0, { variant: 0, rows, inputs: [[sent]] });
    expect(outputs.map(({ bytes }) => Buffer.compare(bytes, sent))).toEqual([0]);
  });
});

describe("refusals", () => {
  test("a batch of the wrong length is refused, and the worker lives on", async () => {
    executor = await startedExecutor({});
    const pid = executor.pidOf(0);
    const refused = executor.run(0, { variant: 0, rows: 2, inputs: [[countingRows(0, 1)]] });
    await expect(refused).rejects.toThrow(InferenceError);
    await expect(refused).rejects.toThrow(
      'identity: input "x": 2 rows of float32 [-1, 4] take 32 bytes, got 16',
    );
    await expect(executor.run(0, { variant: 0, rows: 1, inputs: [] })).rejects.toThrow(
      "expected 1 inputs, got 0",
    );
    await executor.run(0, oneRow);
    expect(executor.pidOf(0)).toBe(pid);
  });

  test("a batch that the model refuses harms no other", async () => {
    const identity = identityVariant("refusing");
    const inputs = [{ name: "x", dtype: "float32", shape: [-1, 5] }];
    executor = await startedExecutor({ variants: [{ ...identity, inputs, warmBatches: [] }] });
    const wide = { variant: 0, rows: 1, inputs: [[countingRows(0, 1, 5)]] };
    await expect(executor.run(0, wide)).rejects.toThrow(/^refusing: .*Expected: 4/);
    await expect(executor.run(0, wide)).rejects.toThrow(InferenceError);
  });

  test("a file that is no model is named, with the device and the reason", async () => {
    const variant = identityVariant("broken");
    writeFileSync(variant.path, "no model");
    const start = startedExecutor({ variants: [variant], workerCount: 2 });
    await expect(start).rejects.toThrow(
      /^broken \(.*broken\.onnx\) on cpu: expected an ONNX model/,
    );
  });

  test("a model with other tensors than promised is refused", async () => {
    const variant = {
      ...identityVariant("other"),
      outputs: [{ name: "scores", dtype: "int64", shape: [-1] }],
    };
    await expect(startedExecutor({ variants: [variant] })).rejects.toThrow(
      "expected the outputs scores int64; has y float32",
    );
  });
});

describe("lost workers", () => {
  test("a batch under way is rejected, then the slot is lost, then filled again", async () => {
    executor = await startedExecutor({});
    await executor.run(0, oneRow);
    const pid = executor.pidOf(0);
    const order: string[] = [await executor.nextEvent()];
    // A process that is stopped before the batch reaches it cannot answer before it is killed.
    process.kill(pid, "SIGSTOP");
    const run = executor.run(0, oneRow);
    process.kill(pid, "SIGKILL");
    const rejected = expect(run).rejects.toThrow(WorkerLostError);
    await run.catch((error: Error) => order.push(error.message));
    await rejected;
    order.push(await executor.nextEvent(), await executor.nextEvent());
    expect(order).toEqual([
      "ready 0",
      "worker 0 ended during the batch: signal SIGKILL",
      "lost 0: signal SIGKILL",
      "ready 0",
    ]);
    expect(executor.pidOf(0)).not.toBe(pid);
    await executor.run(0, oneRow);
  });

  test("an idle worker that is lost is replaced, and the other runs on", async () => {
    executor = await startedExecutor({ workerCount: 2 });
    expect([await executor.nextEvent(), await executor.nextEvent()]).toHaveLength(2);
    await executor.run(1, oneRow);
    process.kill(executor.pidOf(1), "SIGKILL");
    expect(await executor.nextEvent()).toBe("lost 1: signal SIGKILL");
    await expect(executor.run(1, oneRow)).rejects.toThrow(WorkerLostError);
    await executor.run(0, oneRow);
    expect(await executor.nextEvent()).toBe("ready 1");
    await executor.run(1, oneRow);
  });

  test("a standby takes the place at once, and a new standby follows", async () => {
    executor = await startedExecutor({ standbyCount: 1 });
    await executor.nextEvent();
    await executor.run(0, oneRow);
    for (let round = 0; round < 3; round++) {
      const [standby] = executor.pids().standbys;
      process.kill(executor.pidOf(0), "SIGKILL");
      expect(await executor.nextEvent()).toBe("lost 0: signal SIGKILL");
      // Told in the same turn: what is left of the old standbys is the worker of the place.
      expect(executor.pids()).toEqual({ slots: [standby], standbys: [] });
      expect(await executor.nextEvent()).toBe("ready 0");
      await executor.run(0, oneRow);
      await untilStandby(executor);
    }
  });

  test("a worker outlives the signals that tell the whole group to end", async () => {
    executor = await startedExecutor({});
    const pid = executor.pidOf(0);
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.kill(pid, signal);
    await executor.run(0, oneRow);
    expect(executor.pidOf(0)).toBe(pid);
  });
});

describe("closing", () => {
  test("no process is left, and a batch under way is rejected", async () => {
    executor = await startedExecutor({ workerCount: 2, standbyCount: 1 });
    const { slots, standbys } = executor.pids();
    const pids = [...slots, ...standbys].filter((pid) => pid !== undefined);
    expect(pids.filter(isAlive)).toHaveLength(3);
    const rejected = expect(executor.run(1, oneRow)).rejects.toThrow(WorkerLostError);
    await Promise.all([executor.close(), executor.close(), rejected]);
    expect(pids.filter(isAlive)).toEqual([]);
    await expect(executor.run(0, oneRow)).rejects.toThrow("the executor was closed");
  });

  test("a worker that is stopped is ended by force", async () => {
    executor = await startedExecutor({});
    const pid = executor.pidOf(0);
    process.kill(pid, "SIGSTOP");
    await executor.close();
    expect(isAlive(pid)).toBe(false);
  });

  test("replacements that are just starting are ended too, and nothing more is told", async () => {
    executor = await startedExecutor({});
    await executor.nextEvent();
    await executor.run(0, oneRow);
    process.kill(executor.pidOf(0), "SIGKILL");
    await executor.nextEvent();
    await executor.close();
    const silent = await Promise.race([executor.nextEvent(), Promise.resolve("nothing")]);
    expect(silent).toBe("nothing");
  });
});

/** Batches are the clock: a standby starts while they run. */
async function untilStandby({ run, pids }: StartedExecutor): Promise<void> {
  while (pids().standbys.length === 0) await run(0, oneRow);
}
