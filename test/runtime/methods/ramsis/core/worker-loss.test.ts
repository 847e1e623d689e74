import fc from "fast-check";
import { expect, it } from "vitest";
import { CommandBuffer, DROP, DROP_NO_WORKER } from "../../../../../runtime/core/command-buffer.ts";
import type { Dispatcher } from "../../../../../runtime/methods/ramsis/core/dispatcher.ts";
import { dispatcherOf } from "../../../../../runtime/methods/ramsis/core/dispatcher-of.ts";
import { tinyBundle } from "../../../../support/tiny-bundle.ts";

type Event = {
  readonly kind: "arrive" | "done" | "lose" | "ready" | "cancel";
  readonly pick: number;
};

const scenario = fc.record({
  workers: fc.integer({ min: 1, max: 4 }),
  maxQueue: fc.integer({ min: 1, max: 4 }),
  startsReady: fc.boolean(),
  events: fc.array(
    fc.record({
      kind: fc.constantFrom<Event["kind"]>(
        "arrive",
        "arrive",
        "arrive",
        "done",
        "lose",
        "ready",
        "cancel",
      ),
      pick: fc.nat(),
    }),
    { maxLength: 150 },
  ),
});

/** Plays events against a dispatcher and keeps, in plain sets, where every query is. */
class Cluster {
  readonly dispatcher: Dispatcher;
  readonly commands: CommandBuffer;
  readonly up = new Set<number>();
  readonly down = new Set<number>();
  readonly running = new Map<number, number[]>();
  readonly waiting = new Set<number>();
  /** Started, dropped, cancelled: each query may be in one of them, once. */
  readonly settled = new Set<number>();
  arrivals = 0;
  nowMs = 0;

  constructor(workers: number, maxQueue: number, ready: boolean) {
    this.dispatcher = dispatcherOf(tinyBundle({ workers, maxQueue, sloMs: 100 }), {
      ready,
    });
    const { commandCapacity, queueCapacity } = this.dispatcher;
    this.commands = new CommandBuffer(commandCapacity, queueCapacity);
    for (let worker = 0; worker < workers; worker++) (ready ? this.up : this.down).add(worker);
  }

  play({ kind, pick }: Event): void {
    this.nowMs += 1;
    const choose = (set: Iterable<number>): number | undefined => {
      const members = [...set];
      return members[pick % members.length];
    };
    const busyOrUp = kind === "done" ? this.running.keys() : kind === "lose" ? this.up : this.down;
    const worker = choose(busyOrUp);
    if (kind === "arrive") this.arrive();
    else if (kind === "cancel") this.cancel(choose(this.waiting));
    else if (worker === undefined) return;
    else if (kind === "done") this.finish(worker);
    else if (kind === "lose") this.lose(worker);
    else this.bringUp(worker);
  }

  private arrive(): void {
    const query = this.arrivals++;
    this.waiting.add(query);
    this.dispatcher.onArrival(query, this.nowMs + 100, this.nowMs, this.commands);
    this.read();
  }

  private cancel(query: number | undefined): void {
    if (query === undefined) return;
    expect(this.dispatcher.onCancel(query)).toBe(true);
    expect(this.dispatcher.onCancel(query)).toBe(false);
    this.settle(query);
  }

  private finish(worker: number): void {
    this.running.delete(worker);
    this.dispatcher.onBatchDone(worker, this.nowMs, this.commands);
    this.read();
  }

  private lose(worker: number): void {
    this.up.delete(worker);
    this.down.add(worker);
    this.running.delete(worker);
    this.dispatcher.onWorkerLost(worker, this.nowMs, this.commands);
    this.read();
  }

  private bringUp(worker: number): void {
    this.down.delete(worker);
    this.up.add(worker);
    this.dispatcher.onWorkerReady(worker, this.nowMs, this.commands);
    this.read();
  }

  private read(): void {
    for (let command = 0; command < this.commands.count; command++) {
      const worker = this.commands.worker(command);
      const queries = Array.from({ length: this.commands.queryCount(command) }, (_, position) =>
        this.commands.query(command, position),
      );
      for (const query of queries) this.settle(query);
      if (this.commands.kind(command) === DROP) {
        const hasWorker = this.commands.reason(command) !== DROP_NO_WORKER;
        expect(hasWorker).toBe(this.up.size > 0);
      } else {
        expect(this.up.has(worker)).toBe(true);
        expect(this.running.has(worker)).toBe(false);
        this.running.set(worker, queries);
      }
    }
    this.commands.clear();
  }

  private settle(query: number): void {
    expect(this.waiting.delete(query)).toBe(true);
    expect(this.settled.has(query)).toBe(false);
    this.settled.add(query);
  }
}

it("settles every query once, and gives none to a down or busy worker", () => {
  fc.assert(
    fc.property(scenario, ({ workers, maxQueue, startsReady, events }) => {
      const cluster = new Cluster(workers, maxQueue, startsReady);
      for (const event of events) cluster.play(event);
      for (const worker of [...cluster.down]) cluster.play({ kind: "ready", pick: worker });
      for (let round = 0; cluster.running.size > 0; round++) {
        expect(round).toBeLessThan(1000);
        cluster.play({ kind: "done", pick: round });
      }
      expect(cluster.waiting.size).toBe(0);
      expect(cluster.settled.size).toBe(cluster.arrivals);
    }),
    { numRuns: 300 },
  );
});

it("moves what waited for a lost worker to the others, in the order of the deadlines", () => {
  const cluster = new Cluster(2, 4, true);
  for (let arrival = 0; arrival < 6; arrival++) cluster.play({ kind: "arrive", pick: 0 });
  expect([...cluster.running]).toEqual([
    [0, [0]],
    [1, [1]],
  ]);
  cluster.play({ kind: "lose", pick: 0 });
  cluster.play({ kind: "done", pick: 0 });
  expect([...cluster.settled].slice(0, 6).sort()).toEqual([0, 1, 2, 3, 4, 5]);
  expect(cluster.running.get(1)).toEqual([2, 3, 4, 5]);
});
