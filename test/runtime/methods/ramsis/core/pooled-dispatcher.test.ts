import { expect, test } from "vitest";
import {
  CommandBuffer,
  DROP,
  DROP_LATE,
  DROP_NO_WORKER,
} from "../../../../../runtime/core/command-buffer.ts";
import type { Dispatcher } from "../../../../../runtime/methods/ramsis/core/dispatcher.ts";
import { dispatcherOf } from "../../../../../runtime/methods/ramsis/core/dispatcher-of.ts";
import { givingUpBundle, waitingBundle } from "../../../../support/pooled-bundle.ts";
import { tinyBundle } from "../../../../support/tiny-bundle.ts";

const SLO_MS = 100;

function waitingDispatcher(workers: number): Dispatcher {
  return dispatcherOf(waitingBundle(tinyBundle({ workers, maxQueue: 3, sloMs: SLO_MS })));
}

/** Tells a dispatcher what happens and keeps account of every query. */
class Account {
  readonly dispatcher: Dispatcher;
  readonly waiting = new Set<number>();
  readonly runningByWorker = new Map<number, number[]>();
  readonly served: number[] = [];
  readonly dropped: { query: number; reason: number }[] = [];
  nowMs = 0;
  readonly #commands: CommandBuffer;

  constructor(dispatcher: Dispatcher) {
    this.dispatcher = dispatcher;
    const { commandCapacity, waitingCapacity } = dispatcher;
    this.#commands = new CommandBuffer(commandCapacity, waitingCapacity);
  }

  tell(act: (commands: CommandBuffer) => void): void {
    const commands = this.#commands;
    act(commands);
    for (let command = 0; command < commands.count; command++) {
      const queries = Array.from({ length: commands.queryCount(command) }, (_, position) =>
        commands.query(command, position),
      );
      for (const query of queries) expect(this.waiting.delete(query)).toBe(true);
      if (commands.kind(command) === DROP) {
        this.dropped.push({ query: queries[0] ?? -1, reason: commands.reason(command) });
      } else {
        expect(this.runningByWorker.has(commands.worker(command))).toBe(false);
        this.runningByWorker.set(commands.worker(command), queries);
      }
    }
    commands.clear();
  }

  arrive(query: number): void {
    this.waiting.add(query);
    this.tell((out) => this.dispatcher.onArrival(query, this.nowMs + SLO_MS, this.nowMs, out));
  }

  finish(worker: number): void {
    this.served.push(...(this.runningByWorker.get(worker) ?? []));
    this.runningByWorker.delete(worker);
    this.tell((out) => this.dispatcher.onBatchDone(worker, this.nowMs, out));
  }

  wake(): void {
    this.nowMs = this.dispatcher.wakeMs;
    this.tell((out) => this.dispatcher.onWake(this.nowMs, out));
  }
}

test("waits for a second query, and at the time it names no longer", () => {
  const account = new Account(waitingDispatcher(1));
  account.arrive(0);
  expect(account.waiting).toEqual(new Set([0]));
  expect(account.dispatcher.wakeMs).toBeCloseTo(50, 4);
  account.wake();
  expect(account.runningByWorker.get(0)).toEqual([0]);
  expect(account.dispatcher.wakeMs).toBe(Number.POSITIVE_INFINITY);
});

test("the second query ends the wait", () => {
  const account = new Account(waitingDispatcher(2));
  account.arrive(0);
  account.nowMs = 10;
  account.arrive(1);
  expect([...account.runningByWorker.values()]).toEqual([[0, 1]]);
});

test("late queries leave the workers to the others until their share has come", () => {
  const bundle = tinyBundle({ workers: 2, maxQueue: 3, sloMs: SLO_MS });
  const account = new Account(dispatcherOf(givingUpBundle(bundle)));
  account.arrive(0);
  expect([...account.runningByWorker.values()]).toEqual([[0]]);
  account.arrive(1);
  expect(account.waiting).toEqual(new Set([1]));
  const { wakeMs } = account.dispatcher;
  expect(wakeMs).toBeGreaterThan(account.nowMs);
  // A query that is cancelled leaves the wake-up of the others.
  account.arrive(2);
  expect(account.dispatcher.onCancel(2)).toBe(true);
  account.waiting.delete(2);
  expect(account.dispatcher.wakeMs).toBe(wakeMs);
  account.wake();
  expect(account.runningByWorker.size).toBe(2);
  expect(account.waiting.size).toBe(0);
});

test("with the last worker what waits is given up, and with a worker back it runs again", () => {
  const account = new Account(waitingDispatcher(1));
  account.arrive(0);
  account.tell((out) => account.dispatcher.onWorkerLost(0, account.nowMs, out));
  expect(account.dropped).toEqual([{ query: 0, reason: DROP_NO_WORKER }]);
  expect(account.dispatcher.wakeMs).toBe(Number.POSITIVE_INFINITY);
  account.tell((out) => account.dispatcher.onWorkerReady(0, account.nowMs, out));
  account.arrive(1);
  account.arrive(2);
  expect(account.runningByWorker.get(0)).toEqual([1, 2]);
});

test("a late query is dropped when no batch answers it within the bound any more", () => {
  const bundle = givingUpBundle(tinyBundle({ workers: 1, maxQueue: 3, sloMs: SLO_MS }));
  const policy = { ...bundle.policy, lateMs: 300 };
  const account = new Account(dispatcherOf({ ...bundle, policy }));
  account.arrive(0);
  expect(account.runningByWorker.get(0)).toEqual([0]);
  // One that waits to be decided while every worker is busy has the same bound as one that is late.
  account.nowMs = 1;
  account.arrive(1);
  const fastestMs = 15;
  expect(account.dispatcher.wakeMs).toBe(1 + SLO_MS + 300 - fastestMs);
  account.wake();
  expect(account.dropped).toEqual([{ query: 1, reason: DROP_LATE }]);
  expect(account.dispatcher.wakeMs).toBe(Number.POSITIVE_INFINITY);
});
