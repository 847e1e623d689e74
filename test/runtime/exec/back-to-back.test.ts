/** Workers that have their next batch before the answer of the last is read. */
import { describe, expect, onTestFinished, test } from "vitest";
import type { WorkerLimits } from "../../../runtime/exec/limits/worker-limits.ts";
import { signatureOf } from "../../../runtime/server/tensors/signature.ts";
import { servedBundle } from "../server/harness.ts";
import { gone, startedAssigned } from "./built-assigned.ts";
import {
  countingRows,
  identityVariant,
  type StartedExecutor,
  startedExecutor,
  WorkerLostError,
} from "./built-executor.ts";

type SchedulerModule = typeof import("../../../runtime/methods/ramsis/serve/scheduler.ts");
/** Knows the errors of the compiled executor. */
const { Scheduler }: SchedulerModule = await import(
  new URL("../../../runtime/dist/methods/ramsis/serve/scheduler.js", import.meta.url).href
);

/** Numbers in a row: 1 MB; four of them are far more than what a socket holds. */
const WIDTH = 1 << 18;
const VARIANTS = [{ ...identityVariant("wide", WIDTH), warmBatches: [1] }, identityVariant("thin")];
const WIDE_ROW = countingRows(1, 1, WIDTH);
const WIDE = { variant: 0, rows: 4, inputs: [Array.from({ length: 4 }, () => WIDE_ROW)] };
const THIN = { variant: 1, rows: 1, inputs: [[countingRows(7, 1)]] };
/** Longer than a test. */
const NEVER_MS = 2 ** 31 - 1;

async function started(limits: Partial<WorkerLimits> = {}): Promise<StartedExecutor> {
  const executor = await startedExecutor({ variants: VARIANTS }, { healthyAfterMs: 0, ...limits });
  onTestFinished(() => executor.close());
  expect(await executor.nextEvent()).toBe("ready 0");
  return executor;
}

/** The worker has computed the batch; most of its answer is not written. */
function computed(executor: Pick<StartedExecutor, "run">) {
  return new Promise<{ readonly answer: ReturnType<StartedExecutor["run"]> }>((resolve) => {
    const answer = executor.run(0, WIDE, () => resolve({ answer }));
    // Whoever waits for it sees it.
    answer.catch(() => {});
  });
}

async function expectWide(answer: ReturnType<StartedExecutor["run"]>): Promise<void> {
  const [output] = (await answer).outputs;
  expect(output?.shape).toEqual([4, WIDTH]);
  expect(Buffer.compare(output?.bytes ?? WIDE_ROW, Buffer.concat(WIDE.inputs[0] ?? []))).toBe(0);
}

test("a worker takes batches while its answers are on their way, in any mix of sizes", async () => {
  const executor = await started();
  const answers: ReturnType<StartedExecutor["run"]>[] = [];
  await new Promise<void>((resolve) => {
    const next = (): void => {
      const count = answers.length;
      if (count === 8) resolve();
      else answers.push(executor.run(0, count % 3 === 0 ? WIDE : THIN, next));
    };
    next();
  });
  for (const [index, answer] of answers.entries()) {
    if (index % 3 === 0) await expectWide(answer);
    else expect((await answer).outputs[0]?.bytes).toEqual(countingRows(7, 1));
  }
});

describe("a worker whose answer is on its way", () => {
  test("is killed: it and the next batch are lost, and another worker comes", async () => {
    const executor = await started();
    const { answer } = await computed(executor);
    process.kill(executor.pidOf(0), "SIGSTOP");
    const next = executor.run(0, THIN);
    process.kill(executor.pidOf(0), "SIGKILL");
    await expect(answer).rejects.toThrow(WorkerLostError);
    await expect(next).rejects.toThrow(WorkerLostError);
    expect(await executor.nextEvent()).toBe("lost 0: signal SIGKILL");
    expect(await executor.nextEvent()).toBe("ready 0");
    await executor.run(0, THIN);
  });

  test("is stopped: it hangs by the time of that batch, whatever the next may take", async () => {
    const executor = await started({ hungFloorMs: 300, batchTimeoutMs: NEVER_MS });
    const stopped = new Promise<void>((resolve) => {
      const answer = executor.run(0, { ...WIDE, p99Ms: 1 }, () => {
        process.kill(executor.pidOf(0), "SIGSTOP");
        const both = [answer, executor.run(0, THIN)].map((run) =>
          expect(run).rejects.toThrow(/no answer within \d+ ms$/),
        );
        resolve(Promise.all(both).then(() => {}));
      });
    });
    await stopped;
    expect(await executor.nextEvent()).toMatch(/^lost 0: no answer within \d+ ms$/);
  });

  test("goes on after a pause, and both answers are right", async () => {
    const executor = await started();
    const { answer } = await computed(executor);
    process.kill(executor.pidOf(0), "SIGSTOP");
    const next = executor.run(0, THIN);
    process.kill(executor.pidOf(0), "SIGCONT");
    await expectWide(answer);
    expect((await next).outputs[0]?.bytes).toEqual(countingRows(7, 1));
  });

  test("gets other cores for its next batch, and ends after its last answer", async () => {
    const variants = VARIANTS.map((variant) => ({ ...variant, warmCores: [1, 2] }));
    const { executor, next, pidOf } = await startedAssigned({ variants });
    expect(await next()).toBe("ready 0");
    executor.assign(0, [0, 1]);
    expect(await next()).toBe("model 0: 2 loads");
    const { answer } = await computed(executor);
    process.kill(pidOf(0), "SIGSTOP");
    executor.resize(0, 2);
    expect(await next()).toBe("resized 0: 2");
    const last = executor.run(0, THIN);
    executor.release(0);
    const pid = pidOf(0);
    process.kill(pid, "SIGCONT");
    await expectWide(answer);
    expect(await last).toMatchObject({ cores: 2 });
    await gone(pid);
  });
});

test("kill -9 between a batch and its answer: a server's clients are answered", async () => {
  const [{ inputs, outputs } = identityVariant("wide", WIDTH)] = VARIANTS;
  const bundle = servedBundle({ workers: 1 }, inputs, outputs);
  const variants = bundle.tasks[0]?.variants.map(({ name }) => identityVariant(name, WIDTH)) ?? [];
  const retries: unknown[] = [];
  const scheduler = new Scheduler({
    ...{ bundle, signature: signatureOf(bundle), nowMs: () => 0, maxPending: 8 },
    recorder: (entry) => {
      if (entry.kind === "retry") retries.push(entry);
    },
  });
  const executor = await startedExecutor({ variants, standbyCount: 1 }, undefined, {
    onReady: (worker) => scheduler.onWorkerReady(worker),
    onReplaced: (worker, reason) => scheduler.onWorkerReplaced(worker, reason),
  });
  onTestFinished(() => executor.close());
  let isKilled = false;
  scheduler.attach({
    close: () => executor.close(),
    run: (worker, batch, onComputed) =>
      executor.run(worker, batch, () => {
        if (!isKilled) process.kill(executor.pidOf(worker), "SIGSTOP");
        onComputed?.();
        if (!isKilled) process.kill(executor.pidOf(worker), "SIGKILL");
        isKilled = true;
      }),
  });
  while (scheduler.readyWorkerCount === 0) await new Promise(setImmediate);
  const requests = [1, 2, 3].map((first) => {
    const bytes = countingRows(first, 2, WIDTH);
    return { bytes, ...scheduler.submit({ rows: 2, inputs: [bytes] }, 100) };
  });
  for (const { outcome, bytes } of requests) {
    const answer = await outcome;
    if (answer.kind === "failed") throw new Error(answer.message);
    expect(Buffer.concat([...(answer.outputs[0]?.parts ?? [])]).equals(bytes)).toBe(true);
  }
  expect(isKilled).toBe(true);
  expect(retries.length).toBeGreaterThan(1);
  expect(scheduler.pendingCount).toBe(0);
});
