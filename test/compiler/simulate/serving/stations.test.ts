/** The stations that a request passes on the machine that serves. */
import { expect, test } from "vitest";
import { EventQueue } from "../../../../compiler/simulate/event-queue.ts";
import { Contention } from "../../../../compiler/simulate/serving/contention.ts";
import { NO_WORKER } from "../../../../compiler/simulate/serving/processor-queues.ts";
import { BATCH, REQUEST } from "../../../../compiler/simulate/serving/server-station.ts";
import { stationsOf } from "../../../../compiler/simulate/serving/stations.ts";
import { WorkerEvents } from "../../../../compiler/simulate/serving/worker-events.ts";
import type { ServingPath } from "../../../../runtime/bundle/schema.ts";
import { Rng } from "../../../../runtime/core/rng.ts";

const always = (ms: number) => ({ p50: ms, p95: ms, p99: ms, mean: ms });

const SERVING: ServingPath = {
  processors: 1,
  requestBytes: 0,
  requestMs: always(2),
  batchMs: always(1),
  answerMs: always(0.5),
  perMiBMs: 0,
  wakeMs: always(0.25),
  wireMs: always(4),
  contention: [1],
  marginMs: 0,
};

test("workers that do not contend are an event queue, to the bit", () => {
  const rng = new Rng(3, 1);
  const events = new WorkerEvents(8);
  const twin = new EventQueue(8);
  let nowMs = 0;
  for (let worker = 0; worker < 8; worker++) {
    const serviceMs = rng.nextFloat();
    events.run(nowMs, worker, serviceMs);
    twin.push(nowMs + serviceMs, worker);
    nowMs += 0.1 * rng.nextFloat();
  }
  for (let left = 8; left > 0; left--) {
    expect(events.nextMs).toBe(twin.nextMs);
    expect(events.pop()).toBe(twin.pop());
  }
});

test("two batches on one processor take turns, and the longer one is alone in the end", () => {
  const events = new WorkerEvents(2, new Contention(SERVING));
  events.run(0, 0, 10);
  events.run(0, 1, 4);
  expect([events.nextMs, events.pop()]).toEqual([4, NO_WORKER]);
  expect([events.nextMs, events.pop(), events.ranMs(1)]).toEqual([8, 1, 4]);
  expect(events.nextMs).toBe(14);
  // The only processor goes to the server; what was left comes after it.
  events.serveFrom(9);
  events.serveUntil(9.5);
  expect([events.nextMs, events.pop()]).toEqual([9.5, NO_WORKER]);
  expect(events.nextMs).toBe(14.5);
  events.cancel(0, 13);
  expect(events.length).toBe(0);
});

test("contention is measured up to what was measured, and shared beyond the processors", () => {
  const contention = new Contention({ contention: [1, 1.2], processors: 4 });
  const busy = [0, 1, 1.5, 2, 3, 4, 8];
  expect(busy.map((each) => contention.factorOf(each))).toEqual([1, 1, 1.1, 1.2, 1.2, 1.2, 2.4]);
});

test("the server is slowed by what others need of the memory, not by a lack of processors", () => {
  const contention = new Contention({ contention: [1, 1.1, 1.65], processors: 2 });
  const events = new WorkerEvents(3, contention);
  const factors = [0, 1, 2].map((worker) => {
    events.run(0, worker, 10);
    return events.serverFactor;
  });
  expect(factors).toEqual([1, 1.1, 1.1]);
});

test("the server does one thing after the other, wakes for the first, and answers at once", () => {
  const { server, toServerMs, toClientMs, workers } = stationsOf(
    { serving: SERVING },
    1,
    new Rng(1, 4),
    { contention: false },
  );
  expect([toServerMs, toClientMs(), workers.serverFactor]).toEqual([2, 2, 1]);
  server?.push(10, REQUEST, 7);
  server?.push(10.5, BATCH, 3);
  expect([server?.nextMs, server?.nextKind, server?.pop()]).toEqual([12.25, REQUEST, 7]);
  expect(server?.answer(12.25)).toBe(12.75);
  // It never slept between the two, and decides before it takes the batch back and answers.
  expect([server?.nextMs, server?.nextKind, server?.pop()]).toEqual([12.75, BATCH, 3]);
  expect(server?.nextMs).toBe(Number.POSITIVE_INFINITY);
  expect(server?.answer(12.75)).toBe(14.25);
  server?.push(20, BATCH, 3);
  expect(server?.nextMs).toBe(20);
});

test("without a path measured there is no station", () => {
  const { server, toServerMs } = stationsOf({}, 1, new Rng(1, 4));
  expect([server, toServerMs]).toEqual([null, 0]);
});
