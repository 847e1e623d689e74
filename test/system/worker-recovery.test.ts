/** Workers that hang, that end again and again, and that a standby follows. */
import { execFileSync } from "node:child_process";
import { rmSync } from "node:fs";
import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, describe, expect, test, vi } from "vitest";
import {
  countingRows,
  identityVariant,
  isAlive,
  type StartedExecutor,
  startedExecutor,
  WorkerLostError,
} from "../runtime/exec/built-executor.ts";

let executor: StartedExecutor;

afterEach(() => executor?.close());

const oneRow = { variant: 0, rows: 1, inputs: [[countingRows(7, 1)]] };
/** Longer than a test: what waits for it would not come. */
const NEVER_MS = 2 ** 31 - 1;

describe("a worker that hangs", () => {
  test("is killed when its batch takes too long; then the slot is refilled", async () => {
    executor = await startedExecutor({}, { batchTimeoutMs: 5, healthyAfterMs: 0 });
    expect(await executor.nextEvent()).toBe("ready 0");
    const pid = executor.pidOf(0);
    process.kill(pid, "SIGSTOP");
    const run = executor.run(0, oneRow);
    await expect(run).rejects.toThrow(WorkerLostError);
    await expect(run).rejects.toThrow("worker 0 ended during the batch: no answer within 5 ms");
    expect(await executor.nextEvent()).toBe("lost 0: no answer within 5 ms");
    expect(await executor.nextEvent()).toBe("ready 0");
    expect(isAlive(pid)).toBe(false);
  });

  test("is followed by its standby", async () => {
    executor = await startedExecutor({ standbyCount: 1 }, { batchTimeoutMs: 5, healthyAfterMs: 0 });
    await executor.nextEvent();
    const { slots, standbys } = executor.pids();
    process.kill(Number(slots[0]), "SIGSTOP");
    await expect(executor.run(0, oneRow)).rejects.toThrow("no answer within 5 ms");
    expect(await executor.nextEvent()).toBe("lost 0: no answer within 5 ms");
    expect(executor.pids().slots).toEqual(standbys);
  });

  test("is not taken for one that was given nothing to do", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    try {
      executor = await startedExecutor({}, { batchTimeoutMs: 1000 });
      const pid = executor.pidOf(0);
      vi.advanceTimersByTime(5000);
      await executor.run(0, oneRow);
      // The limit counts from the start of each batch.
      const run = executor.run(0, oneRow);
      vi.advanceTimersByTime(999);
      await run;
      vi.advanceTimersByTime(5000);
      await nextTurn();
      process.kill(pid, "SIGSTOP");
      const hung = executor.run(0, oneRow);
      vi.advanceTimersByTime(1000);
      await expect(hung).rejects.toThrow("no answer within 1000 ms");
    } finally {
      vi.useRealTimers();
    }
  });

  test("is not taken for one whose answer waits while its server is stopped", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const deferred: (() => void)[] = [];
    try {
      executor = await startedExecutor({}, { batchTimeoutMs: 1000 });
      const defer = vi.spyOn(globalThis, "setImmediate");
      defer.mockImplementation((act) => {
        deferred.push(act);
        return {} as NodeJS.Immediate;
      });
      const run = executor.run(0, oneRow);
      vi.advanceTimersByTime(1000);
      // What runs after reading is held back until the answer was read.
      await run;
      expect(deferred).toHaveLength(1);
      for (const act of deferred) act();
      await executor.run(0, oneRow);
    } finally {
      vi.restoreAllMocks();
      vi.useRealTimers();
    }
  });

  test("while it starts fails the start", async () => {
    const variant = identityVariant("endless");
    rmSync(variant.path);
    // Nobody writes, so whoever opens it to read waits.
    execFileSync("mkfifo", [variant.path]);
    const start = startedExecutor({ variants: [variant] }, { startTimeoutMs: 5 });
    await expect(start).rejects.toThrow("not ready within 5 ms");
  });
});

describe("workers that end again and again", () => {
  test("wait ever longer, but once one has answered its end counts as the first", async () => {
    const limits = { backoffMs: 1, maxBackoffMs: 4, healthyAfterMs: NEVER_MS };
    executor = await startedExecutor({}, limits);
    expect(await executor.nextEvent()).toBe("ready 0");
    const kill = async (expected: string[]) => {
      process.kill(executor.pidOf(0), "SIGKILL");
      for (const event of expected) expect(await executor.nextEvent()).toBe(event);
    };
    const failed = (retryMs: number) => [
      "lost 0: signal SIGKILL",
      `failed, next in ${retryMs} ms: ready, but ended without an answer: signal SIGKILL`,
      "ready 0",
    ];
    for (const retryMs of [1, 2, 4, 4]) await kill(failed(retryMs));
    await executor.run(0, oneRow);
    await kill(["lost 0: signal SIGKILL", "ready 0"]);
    await kill(failed(1));
  });

  test("count as healthy after a while even without a batch", async () => {
    executor = await startedExecutor({ standbyCount: 1 }, { healthyAfterMs: 0 });
    await executor.nextEvent();
    for (let round = 0; round < 2; round++) {
      process.kill(executor.pidOf(0), "SIGKILL");
      expect(await executor.nextEvent()).toBe("lost 0: signal SIGKILL");
      expect(await executor.nextEvent()).toBe("ready 0");
    }
  });

  test("do not hold up the replacement of others", async () => {
    const limits = { backoffMs: NEVER_MS, maxBackoffMs: NEVER_MS, healthyAfterMs: NEVER_MS };
    executor = await startedExecutor({ workerCount: 2 }, limits);
    expect([await executor.nextEvent(), await executor.nextEvent()]).toHaveLength(2);
    await executor.run(0, oneRow);
    process.kill(executor.pidOf(1), "SIGKILL");
    expect(await executor.nextEvent()).toBe("lost 1: signal SIGKILL");
    expect(await executor.nextEvent()).toContain(`failed, next in ${NEVER_MS} ms`);
    process.kill(executor.pidOf(0), "SIGKILL");
    expect(await executor.nextEvent()).toBe("lost 0: signal SIGKILL");
    expect(await executor.nextEvent()).toBe("ready 0");
  });

  test("standbys among them are reported too, and started again", async () => {
    executor = await startedExecutor(
      { standbyCount: 1 },
      { backoffMs: 1, healthyAfterMs: NEVER_MS },
    );
    await executor.nextEvent();
    process.kill(Number(executor.pids().standbys[0]), "SIGKILL");
    expect(await executor.nextEvent()).toContain("failed, next in 1 ms: ready, but ended");
    while (executor.pids().standbys.length === 0) await executor.run(0, oneRow);
  });

  test("are never given up: when the cause goes away, the place is filled", async () => {
    const variant = identityVariant("vanishing");
    const limits = { backoffMs: 1, maxBackoffMs: 4 };
    executor = await startedExecutor({ variants: [variant], workerCount: 2 }, limits);
    expect([await executor.nextEvent(), await executor.nextEvent()]).toHaveLength(2);
    await executor.run(0, oneRow);
    rmSync(variant.path);
    process.kill(executor.pidOf(0), "SIGKILL");
    expect(await executor.nextEvent()).toBe("lost 0: signal SIGKILL");
    for (const retryMs of [1, 2, 4, 4]) {
      expect(await executor.nextEvent()).toContain(`failed, next in ${retryMs} ms: vanishing`);
    }
    await executor.run(1, oneRow);
    await expect(executor.run(0, oneRow)).rejects.toThrow(WorkerLostError);
    identityVariant("vanishing");
    // One more may have looked for the file before.
    let event = "failed";
    while (event.startsWith("failed")) event = await executor.nextEvent();
    expect(event).toBe("ready 0");
    await executor.run(0, oneRow);
  });
});

describe("a standby", () => {
  test("is ready in the turn in which the worker is lost", async () => {
    const told: string[] = [];
    let onLost = (): void => {};
    const turnEnd = new Promise<void>((resolve) => {
      onLost = () => {
        told.push("lost");
        queueMicrotask(resolve);
      };
    });
    const onReady = () => told.push("ready");
    executor = await startedExecutor({ standbyCount: 1 }, {}, { onReady, onLost });
    await executor.run(0, oneRow);
    process.kill(executor.pidOf(0), "SIGKILL");
    await turnEnd;
    expect(told).toEqual(["ready", "lost", "ready"]);
  });

  test("replaces in one event, for who wants it so, and can run at once", async () => {
    let onReplaced = (_place: number, _reason: string): void => {};
    const replaced = new Promise<[number, string, Promise<unknown>]>((resolve) => {
      onReplaced = (place, reason) => resolve([place, reason, executor.run(place, oneRow)]);
    });
    executor = await startedExecutor({ standbyCount: 1 }, {}, { onReplaced });
    expect(await executor.nextEvent()).toBe("ready 0");
    await executor.run(0, oneRow);
    const [standby] = executor.pids().standbys;
    process.kill(executor.pidOf(0), "SIGKILL");
    const [place, reason, run] = await replaced;
    expect([place, reason]).toEqual([0, "signal SIGKILL"]);
    await run;
    expect(executor.pidOf(0)).toBe(standby);
  });
});
