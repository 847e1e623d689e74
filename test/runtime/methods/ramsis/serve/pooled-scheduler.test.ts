import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type {
  RecordedCommand,
  RecordedEvent,
} from "../../../../../runtime/methods/ramsis/serve/recorded-dispatcher.ts";
import { Scheduler } from "../../../../../runtime/methods/ramsis/serve/scheduler.ts";
import { signatureOf } from "../../../../../runtime/server/tensors/signature.ts";
import { waitingBundle } from "../../../../support/pooled-bundle.ts";
import { FakeExecutor, servedBundle } from "../../../server/harness.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
});

afterEach(() => {
  vi.useRealTimers();
});

function pooledScheduler() {
  const bundle = waitingBundle(servedBundle({ workers: 2, maxQueue: 3, sloMs: 100 }));
  const log: (RecordedEvent | RecordedCommand)[] = [];
  const scheduler = new Scheduler({
    bundle,
    signature: signatureOf(bundle),
    nowMs: () => performance.now(),
    maxPending: 10,
    recorder: (entry) => log.push(entry),
  });
  const executor = new FakeExecutor({
    onReady: (worker) => scheduler.onWorkerReady(worker),
    onLost: (worker, reason) => scheduler.onWorkerLost(worker, reason),
  });
  scheduler.attach(executor);
  scheduler.onWorkerReady(0);
  scheduler.onWorkerReady(1);
  return { scheduler, executor, log };
}

const row = () => ({ rows: 1, inputs: [new Uint8Array(8)] });

test("a query that waits for another one is run when the policy gives up waiting", async () => {
  const { scheduler, executor, log } = pooledScheduler();
  const { outcome } = scheduler.submit(row(), performance.now() + 100);
  vi.advanceTimersByTime(49);
  expect(executor.batches).toHaveLength(0);
  vi.advanceTimersByTime(2);
  expect(executor.batches.map(({ rows }) => rows)).toEqual([1]);
  expect((await outcome).kind).toBe("answered");
  expect(log.map(({ kind }) => kind)).toContain("wake");
});

test("a second query ends the wait, and both share a batch", async () => {
  const { scheduler, executor } = pooledScheduler();
  const first = scheduler.submit(row(), performance.now() + 100);
  vi.advanceTimersByTime(10);
  const second = scheduler.submit(row(), performance.now() + 100);
  expect(executor.batches.map(({ rows }) => rows)).toEqual([2]);
  expect((await first.outcome).kind).toBe("answered");
  expect((await second.outcome).kind).toBe("answered");
  vi.advanceTimersByTime(200);
  expect(executor.batches).toHaveLength(1);
});
