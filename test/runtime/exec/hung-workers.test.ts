/** Workers that are stopped: while they run, while they wait, and in reserve. */
import { describe, expect, onTestFinished, test } from "vitest";
import type { LossCause } from "../../../runtime/exec/models/scaler.ts";
import { startedAssigned } from "./built-assigned.ts";
import {
  countingRows,
  identityVariant,
  type StartedExecutor,
  startedExecutor,
} from "./built-executor.ts";

const ONE_ROW = { variant: 0, rows: 1, inputs: [[countingRows(7, 1)]] };
/** Longer than a test. */
const NEVER_MS = 2 ** 31 - 1;
/** Batches whose p99 is known have the floor, all others for ever. */
const LIMITS = { hungFloorMs: 20, batchTimeoutMs: NEVER_MS, pingMs: NEVER_MS, healthyAfterMs: 0 };

async function started(...args: Parameters<typeof startedExecutor>): Promise<StartedExecutor> {
  const executor = await startedExecutor(...args);
  onTestFinished(() => executor.close());
  return executor;
}

describe("a stopped worker", () => {
  test("is ended by what its batch should have taken; its standby runs the next", async () => {
    const executor = await started({ standbyCount: 1 }, LIMITS);
    expect(await executor.nextEvent()).toBe("ready 0");
    const [standby] = executor.pids().standbys;
    process.kill(executor.pidOf(0), "SIGSTOP");
    const run = executor.run(0, { ...ONE_ROW, p99Ms: 1 });
    await expect(run).rejects.toThrow(/^worker 0 ended during the batch: no answer within \d+ ms$/);
    expect(await executor.nextEvent()).toMatch(/^lost 0: no answer within \d+ ms$/);
    expect(await executor.nextEvent()).toBe("ready 0");
    expect(executor.pidOf(0)).toBe(standby);
    await executor.run(0, { ...ONE_ROW, p99Ms: 1000 });
  });

  test("is reported as hung, a killed one is not", async () => {
    const reported: (LossCause | undefined)[] = [];
    let tell = (): void => {};
    const onReplaced = (_slot: number, _reason: string, cause?: LossCause) => {
      reported.push(cause);
      tell();
    };
    const executor = await started({ standbyCount: 2 }, LIMITS, { onReplaced });
    expect(await executor.nextEvent()).toBe("ready 0");
    for (const signal of ["SIGSTOP", "SIGKILL"] as const) {
      const replaced = new Promise<void>((resolve) => {
        tell = resolve;
      });
      process.kill(executor.pidOf(0), signal);
      // However long the news of a kill take, it is not taken for hung.
      const p99Ms = signal === "SIGSTOP" ? 1 : undefined;
      await expect(executor.run(0, { ...ONE_ROW, p99Ms })).rejects.toThrow();
      await replaced;
    }
    expect(reported).toEqual(["hung", "ended"]);
  });

  test("that has nothing to do is found by pings", async () => {
    const executor = await started({}, { ...LIMITS, pingMs: 20 });
    expect(await executor.nextEvent()).toBe("ready 0");
    process.kill(executor.pidOf(0), "SIGSTOP");
    expect(await executor.nextEvent()).toBe("lost 0: no answer to 2 pings of 20 ms");
    expect(await executor.nextEvent()).toBe("ready 0");
    await executor.run(0, ONE_ROW);
  });

  test("in reserve is found by pings, and another stands by", async () => {
    const executor = await started({ standbyCount: 1 }, { ...LIMITS, pingMs: 20 });
    expect(await executor.nextEvent()).toBe("ready 0");
    const [stopped] = executor.pids().standbys;
    process.kill(Number(stopped), "SIGSTOP");
    const isThere = () => executor.pids().standbys.some((pid) => pid !== stopped);
    while (!isThere()) await executor.run(0, ONE_ROW);
    process.kill(executor.pidOf(0), "SIGKILL");
    expect(await executor.nextEvent()).toBe("lost 0: signal SIGKILL");
    expect(await executor.nextEvent()).toBe("ready 0");
    await executor.run(0, ONE_ROW);
  });

  test("that goes on in time is not taken for one that hung", async () => {
    const executor = await started({}, { ...LIMITS, hungFloorMs: NEVER_MS });
    expect(await executor.nextEvent()).toBe("ready 0");
    const pid = executor.pidOf(0);
    process.kill(pid, "SIGSTOP");
    const run = executor.run(0, { ...ONE_ROW, p99Ms: 1 });
    process.kill(pid, "SIGCONT");
    await run;
    expect(executor.pidOf(0)).toBe(pid);
  });

  test("while models are loaded is ended by what loads took before", async () => {
    const variants = [identityVariant("first-load"), identityVariant("second-load")];
    const limits = { ...LIMITS, startFloorMs: 50, startFactor: 0 };
    const { executor, next, pidOf } = await startedAssigned({ variants }, limits);
    expect(await next()).toBe("ready 0");
    executor.assign(0, [0]);
    expect(await next()).toBe("model 0: 1 loads");
    process.kill(pidOf(0), "SIGSTOP");
    executor.assign(0, [1]);
    expect(await next()).toBe("lost 0: models not loaded within 50 ms");
    expect(await next()).toBe("ready 0");
  });
});

describe("a spare", () => {
  const variants = [identityVariant("spare-a"), identityVariant("spare-b")];

  test("holds what was assigned to others, and takes the place of one that is lost", async () => {
    const { executor, next, pidOf } = await startedAssigned({ variants, standbyCount: 1 }, LIMITS);
    expect(await next()).toBe("ready 0");
    executor.assign(0, [1]);
    expect(await next()).toBe("model 0: 1 loads");
    while (executor.pids().standbys.length === 0) await executor.run(0, { ...ONE_ROW, variant: 1 });
    const [spare] = executor.pids().standbys;
    // It has been told to hold the model before it is told of its slot.
    let loads = "";
    while (loads !== "model 0: 0 loads") {
      process.kill(pidOf(0), "SIGSTOP");
      await expect(executor.run(0, { ...ONE_ROW, variant: 1, p99Ms: 1 })).rejects.toThrow();
      expect(await next()).toMatch(/^lost 0: no answer within/);
      expect(await next()).toBe("ready 0");
      executor.assign(0, [1]);
      loads = await next();
      expect(loads).toMatch(/^model 0: [01] loads$/);
      while (executor.pids().standbys.length === 0) {
        await executor.run(0, { ...ONE_ROW, variant: 1 });
      }
    }
    expect(spare).toBeGreaterThan(0);
    expect(pidOf(0)).toBeGreaterThan(0);
    await executor.run(0, { ...ONE_ROW, variant: 1 });
  });

  test("that ends is followed by another", async () => {
    const { executor, next } = await startedAssigned({ variants, standbyCount: 1 }, LIMITS);
    expect(await next()).toBe("ready 0");
    executor.assign(0, [0]);
    expect(await next()).toBe("model 0: 1 loads");
    while (executor.pids().standbys.length === 0) await executor.run(0, ONE_ROW);
    const [first] = executor.pids().standbys;
    process.kill(Number(first), "SIGKILL");
    const isOther = () => executor.pids().standbys.some((pid) => pid !== first);
    while (!isOther()) await executor.run(0, ONE_ROW);
  });
});
