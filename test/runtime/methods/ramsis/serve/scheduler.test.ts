import fc from "fast-check";
import { expect, test } from "vitest";
import { WorkerLostError } from "../../../../../runtime/exec/models/executor.ts";
import type {
  RecordedCommand,
  RecordedEvent,
} from "../../../../../runtime/methods/ramsis/serve/recorded-dispatcher.ts";
import { Scheduler } from "../../../../../runtime/methods/ramsis/serve/scheduler.ts";
import type {
  Outcome,
  RowAnswer,
  Submission,
} from "../../../../../runtime/server/requests/request.ts";
import { signatureOf } from "../../../../../runtime/server/tensors/signature.ts";
import { FakeExecutor, servedBundle } from "../../../server/harness.ts";

const WORKERS = 3;
const MAX_PENDING = 12;

function scheduled(workers = WORKERS) {
  const bundle = servedBundle({ workers, maxQueue: 3 });
  const clock = { nowMs: 0 };
  const log: (RecordedEvent | RecordedCommand)[] = [];
  const scheduler = new Scheduler({
    bundle,
    signature: signatureOf(bundle),
    nowMs: () => clock.nowMs,
    maxPending: MAX_PENDING,
    recorder: (entry) => log.push(entry),
  });
  const executor = new FakeExecutor({
    onReady: (worker) => scheduler.onWorkerReady(worker),
    onLost: (worker, reason) => scheduler.onWorkerLost(worker, reason),
    onReplaced: (worker, reason) => scheduler.onWorkerReplaced(worker, reason),
  });
  executor.isHolding = true;
  scheduler.attach(executor);
  return { scheduler, executor, clock, log };
}

function rowsOf(request: number, rows: number): { rows: number; inputs: Uint8Array[] } {
  const values = Array.from({ length: rows }, (_, row) => [request, row]).flat();
  return { rows, inputs: [new Uint8Array(Float32Array.from(values).buffer)] };
}

const STEP = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant("submit"), n: fc.integer({ min: 1, max: 5 }) }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("finish"), n: fc.constant(0) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("compute"), n: fc.constant(0) }) },
  fc.record({
    kind: fc.constantFrom("refuse", "refuse rows", "lose", "replace", "cancel", "ready"),
    n: fc.integer({ min: 0, max: 9 }),
  }),
);

test("always settles every request once, with its own rows, and loses no slot", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(STEP, { maxLength: 60 }), async (steps) => {
      const { scheduler, executor, clock, log } = scheduled();
      const submissions: { submission: Submission<RowAnswer>; rows: number }[] = [];
      for (let worker = 0; worker < WORKERS; worker++) scheduler.onWorkerReady(worker);
      for (const { kind, n } of steps) {
        clock.nowMs += 3;
        if (kind === "submit") {
          const rows = rowsOf(submissions.length, n);
          submissions.push({ submission: scheduler.submit(rows, clock.nowMs + 100), rows: n });
        } else if (kind === "cancel") submissions[n]?.submission.cancel();
        else if (kind === "ready") scheduler.onWorkerReady(n % WORKERS);
        else if (executor.held.length > 0) {
          if (kind === "finish") executor.finish();
          else if (kind === "compute") executor.compute();
          else if (kind === "refuse") executor.refuse();
          else if (kind === "refuse rows") executor.refuseRows([n, 2 * n]);
          else if (kind === "replace") executor.replace();
          else executor.lose();
        }
        await Promise.resolve();
        expect(scheduler.pendingCount).toBeLessThanOrEqual(MAX_PENDING);
      }
      // What the last step rejected may start another batch.
      for (let turn = 0; turn < 5; turn++) await Promise.resolve();
      await finishAll(executor);
      const outcomes = await Promise.all(submissions.map(({ submission }) => submission.outcome));
      for (const [request, outcome] of outcomes.entries()) {
        const rows = submissions[request]?.rows ?? 0;
        if (outcome.kind === "answered") {
          expect(bytesOf(outcome)).toEqual(Buffer.from(rowsOf(request, rows).inputs[0] ?? []));
          expect(outcome.variantByRow).toHaveLength(rows);
        }
      }
      expect(scheduler.pendingCount).toBe(0);
      expect(log.filter(({ kind }) => kind === "start-batch").length).toBe(executor.batches.length);
    }),
    { numRuns: 300 },
  );
});

function bytesOf(outcome: Extract<Outcome, { kind: "answered" }>): Buffer {
  return Buffer.concat(outcome.outputs[0]?.parts ?? []);
}

/** Answers all that runs, until nothing does. */
async function finishAll(executor: FakeExecutor): Promise<void> {
  while (executor.held.length > 0) {
    executor.finish();
    for (let turn = 0; turn < 5; turn++) await Promise.resolve();
  }
}

test("queries that run on a lost worker, or wait for it, are answered by another", async () => {
  const { scheduler, executor, log } = scheduled(2);
  scheduler.onWorkerReady(0);
  const running = scheduler.submit(rowsOf(0, 1), 100);
  const waiting = scheduler.submit(rowsOf(1, 1), 100);
  scheduler.onWorkerReady(1);
  executor.lose();
  await finishAll(executor);
  expect(await running.outcome).toMatchObject({ kind: "answered" });
  expect(await waiting.outcome).toMatchObject({ kind: "answered" });
  expect(log.filter(({ kind }) => kind === "retry")).toHaveLength(1);
});

test("a worker that has computed has its next batch before the answer of the last", async () => {
  const { scheduler, executor, clock, log } = scheduled(1);
  scheduler.onWorkerReady(0);
  const first = scheduler.submit(rowsOf(0, 1), 100);
  const second = scheduler.submit(rowsOf(1, 1), 100);
  clock.nowMs = 5;
  executor.compute();
  expect(executor.held).toHaveLength(2);
  // Its answer comes after its deadline: that is when the query is late, not when it was computed.
  clock.nowMs = 200;
  await finishAll(executor);
  expect(await first.outcome).toMatchObject({ kind: "answered", doneMs: 200 });
  expect(await second.outcome).toMatchObject({ kind: "answered" });
  const told = log.filter(({ kind }) => kind === "done" || kind === "start-batch");
  expect(told.map(({ kind }) => kind)).toEqual(["start-batch", "done", "start-batch", "done"]);
  expect(told[1]).toEqual({ kind: "done", worker: 0, nowMs: 5 });
});

test.each([
  ["another answers", "onLost"],
  ["its standby answers", "onReplaced"],
] as const)("a worker is lost between two batches of it: %s both", async (_, told) => {
  const { scheduler, executor, log } = scheduled(2);
  scheduler.onWorkerReady(0);
  const requests = [0, 1].map((request) => scheduler.submit(rowsOf(request, 1), 100));
  executor.compute();
  const lost = [executor.take(), executor.take()];
  if (told === "onLost") scheduler.onWorkerReady(1);
  for (const { worker, reject } of lost) reject(new WorkerLostError(worker, "killed"));
  for (let turn = 0; turn < 5; turn++) await Promise.resolve();
  executor.handlers[told]?.(0, "killed");
  await finishAll(executor);
  const outcomes = await Promise.all(requests.map(({ outcome }) => outcome));
  expect(outcomes.map(({ kind }) => kind)).toEqual(["answered", "answered"]);
  expect(log.filter(({ kind }) => kind === "retry")).toHaveLength(2);
});

test("an answer that does not come is not tried again on the worker that wrote it", async () => {
  const { scheduler, executor } = scheduled(2);
  scheduler.onWorkerReady(0);
  scheduler.onWorkerReady(1);
  const { outcome } = scheduler.submit(rowsOf(0, 1), 100);
  const [{ worker = -1 } = {}] = executor.held;
  executor.compute();
  executor.take().reject(new WorkerLostError(worker, "killed"));
  for (let turn = 0; turn < 5; turn++) await Promise.resolve();
  executor.handlers.onLost(worker, "killed");
  expect(executor.held.map((held) => held.worker)).toEqual([1 - worker]);
  await finishAll(executor);
  expect(await outcome).toMatchObject({ kind: "answered" });
});

test("a query is tried again once only", async () => {
  const { scheduler, executor } = scheduled(3);
  for (const worker of [0, 1, 2]) scheduler.onWorkerReady(worker);
  const first = scheduler.submit(rowsOf(0, 1), 100);
  executor.lose();
  expect(executor.held.length).toBeGreaterThan(0);
  executor.lose();
  expect(await first.outcome).toMatchObject({
    kind: "failed",
    reason: "worker-lost",
    message: expect.stringMatching(/^worker \d ended during the batch: killed$/),
  });
  await finishAll(executor);
  expect(scheduler.pendingCount).toBe(0);
});

test("a query that is late when its worker is lost fails at once", async () => {
  const { scheduler, executor, clock, log } = scheduled(2);
  for (const worker of [0, 1]) scheduler.onWorkerReady(worker);
  const late = scheduler.submit(rowsOf(0, 1), 100);
  clock.nowMs = 100;
  executor.lose();
  expect(await late.outcome).toMatchObject({ kind: "failed", reason: "worker-lost" });
  expect(log.filter(({ kind }) => kind === "retry")).toEqual([]);
});

test("queries that wait for the only worker stay when a standby takes its place", async () => {
  for (const isRejectedFirst of [true, false]) {
    const { scheduler, executor, log } = scheduled(1);
    scheduler.onWorkerReady(0);
    const running = scheduler.submit(rowsOf(0, 1), 100);
    const waiting = scheduler.submit(rowsOf(1, 1), 100);
    if (isRejectedFirst) {
      executor.take().reject(new WorkerLostError(0, "killed"));
      for (let turn = 0; turn < 5; turn++) await Promise.resolve();
      expect(log.at(-1)).toMatchObject({ kind: "retry", query: 0 });
      executor.handlers.onReplaced?.(0, "killed");
    } else executor.replace();
    expect(scheduler.readyWorkerCount).toBe(1);
    await finishAll(executor);
    expect(await running.outcome).toMatchObject({ kind: "answered" });
    expect(await waiting.outcome).toMatchObject({ kind: "answered" });
    expect(log.filter(({ kind }) => kind === "drop")).toEqual([]);
  }
});

test("an output that is not one of the batch's rows fails the batch, not the server", async () => {
  const { scheduler, executor } = scheduled(1);
  scheduler.onWorkerReady(0);
  const { outcome } = scheduler.submit(rowsOf(0, 1), 100);
  const bytes = new Uint8Array(16);
  executor.take().resolve({ outputs: [{ shape: [2, 2], bytes }], wallMs: 1, cpuMs: 1, cores: 1 });
  expect(await outcome).toMatchObject({ kind: "failed", reason: "inference" });
  const next = scheduler.submit(rowsOf(1, 1), 100);
  executor.finish();
  expect(await next.outcome).toMatchObject({ kind: "answered" });
});

test("rows that a module refuses fail their requests; the others run again", async () => {
  const { scheduler, executor, log } = scheduled(1);
  scheduler.onWorkerReady(0);
  const first = scheduler.submit(rowsOf(0, 1), 1000);
  const [good, bad, both] = [1, 1, 2].map((rows, index) => {
    return scheduler.submit(rowsOf(index + 1, rows), 1000);
  });
  executor.finish();
  for (let turn = 0; turn < 5; turn++) await Promise.resolve();
  expect(executor.held.map(({ batch }) => batch.rows)).toEqual([4]);
  executor.refuseRows([1, 3]);
  const message = "small: no image";
  const refused = { kind: "failed", reason: "refused" };
  expect(await bad?.outcome).toEqual({ ...refused, message });
  const second = `${message} (row 1 of the request)`;
  expect(await both?.outcome).toEqual({ ...refused, message: second });
  expect(log.filter(({ kind }) => kind === "retry")).toHaveLength(1);
  await finishAll(executor);
  for (const one of [first, good]) expect(await one?.outcome).toMatchObject({ kind: "answered" });
  expect(scheduler.pendingCount).toBe(0);
});

test("stopping settles what is open", async () => {
  const { scheduler } = scheduled(1);
  scheduler.onWorkerReady(0);
  const { outcome } = scheduler.submit(rowsOf(0, 3), 100);
  scheduler.abort();
  expect(await outcome).toMatchObject({ kind: "failed", reason: "closed" });
});
