/** The dispatcher of queries of several classes. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { SloClass } from "../../../../../runtime/bundle/schema.ts";
import { validateBundle } from "../../../../../runtime/bundles/checked-bundle.ts";
import {
  CommandBuffer,
  DROP,
  DROP_NO_WORKER,
  DROP_QUEUE_FULL,
} from "../../../../../runtime/core/command-buffer.ts";
import { ANY_VARIANT } from "../../../../../runtime/core/wanted-variant.ts";
import {
  kindBundle as classAlone,
  withoutKinds,
} from "../../../../../runtime/methods/ramsis/bundle/kind-views.ts";
import type { Dispatcher } from "../../../../../runtime/methods/ramsis/core/dispatcher.ts";
import { PooledDispatcher } from "../../../../../runtime/methods/ramsis/core/pooled-dispatcher.ts";
import { classBundle, type Decision, TWO_CLASSES } from "../../../../support/class-bundle.ts";

interface Started {
  readonly worker: number;
  readonly variant: number;
  readonly level: number;
  readonly queries: readonly number[];
}

/** Hands events on and collects what is answered, so that dispatchers can be compared. */
class Told {
  readonly dispatcher: Dispatcher;
  readonly started: Started[] = [];
  readonly dropped: { readonly query: number; readonly reason: number }[] = [];
  readonly running = new Map<number, readonly number[]>();
  readonly #commands: CommandBuffer;

  constructor(dispatcher: Dispatcher) {
    this.dispatcher = dispatcher;
    this.#commands = new CommandBuffer(dispatcher.commandCapacity, dispatcher.waitingCapacity);
  }

  tell(act: (out: CommandBuffer) => void): void {
    const commands = this.#commands;
    act(commands);
    for (let command = 0; command < commands.count; command++) {
      const queries = Array.from({ length: commands.queryCount(command) }, (_, position) =>
        commands.query(command, position),
      );
      const worker = commands.worker(command);
      if (commands.kind(command) === DROP) {
        this.dropped.push({ query: queries[0] ?? -1, reason: commands.reason(command) });
        continue;
      }
      expect(this.running.has(worker)).toBe(false);
      this.running.set(worker, queries);
      const [variant, level] = [commands.variant(command), commands.level(command)];
      this.started.push({ worker, variant, level, queries });
    }
    commands.clear();
  }

  arrive(query: number, sloClass: number, nowMs: number, classes = TWO_CLASSES): void {
    const deadlineMs = nowMs + (classes[sloClass]?.latencyMs ?? 0);
    this.tell((out) => this.dispatcher.onArrival(query, deadlineMs, nowMs, out, sloClass));
  }

  /** @param wanted the variant that has to answer. */
  together(
    queries: readonly number[],
    sloClass: number,
    nowMs: number,
    wanted = ANY_VARIANT,
  ): void {
    const deadlineMs = nowMs + (TWO_CLASSES[sloClass]?.latencyMs ?? 0);
    const { dispatcher } = this;
    for (const query of queries) {
      this.tell((out) => {
        dispatcher.onJointArrival(query, deadlineMs, wanted, nowMs, out, sloClass);
      });
    }
    this.tell((out) => dispatcher.onJointEnd(nowMs, out));
  }

  finish(worker: number, nowMs: number): readonly number[] {
    const done = this.running.get(worker) ?? [];
    this.running.delete(worker);
    this.tell((out) => this.dispatcher.onBatchDone(worker, nowMs, out));
    return done;
  }

  /** Lets time pass and wakes the dispatcher when it asks for it. */
  elapse(fromMs: number, toMs: number): void {
    for (let wakeMs = this.dispatcher.wakeMs; wakeMs <= toMs; wakeMs = this.dispatcher.wakeMs) {
      this.tell((out) => this.dispatcher.onWake(Math.max(fromMs, wakeMs), out));
    }
  }
}

/** Classes whose deadlines never fall together when queries come at whole milliseconds. */
const APART: readonly SloClass[] = [
  { name: "a", latencyMs: 100, share: 0.5 },
  { name: "b", latencyMs: 250.5, share: 0.3 },
  { name: "c", latencyMs: 399.25, share: 0.2 },
];

/** Any table: every kind of cell, by two numbers. */
function anyDecision(
  seed: number,
): (cell: { table: number; queued: number; column: number }) => Decision {
  return ({ table, queued, column }) => {
    const value = (seed * 31 + table * 17 + queued * 7 + column * 3) % 23;
    if (value % 5 === 0 && column > 0) return "wait";
    if (value % 7 === 0) return "give-up";
    return { variant: value % 2 === 0 ? 0 : 1, batch: 1 + (value % 4) };
  };
}

const steps = fc.array(
  fc.record({
    kind: fc.constantFrom("arrive", "arrive", "arrive", "finish", "lose", "ready", "cancel"),
    pick: fc.nat({ max: 1000 }),
    gapMs: fc.integer({ min: 0, max: 60 }),
  }),
  { maxLength: 60 },
);

describe("one queue for all classes", () => {
  test("is the pooled dispatcher, command for command, whatever the table", () => {
    fc.assert(
      fc.property(steps, fc.nat({ max: 500 }), fc.boolean(), (events, seed, drop) => {
        const bundle = classBundle({ classes: APART, workers: 3, drop, decide: anyDecision(seed) });
        const own = new Told(new PooledDispatcher(bundle, true));
        const pooled = new Told(new PooledDispatcher(withoutKinds(bundle), true));
        const down = new Set<number>();
        let nowMs = 0;
        let arrived = 0;
        for (const { kind, pick, gapMs } of events) {
          for (const told of [own, pooled]) told.elapse(nowMs, nowMs + gapMs);
          nowMs += gapMs;
          const worker = pick % 3;
          const busy = [...own.running.keys()].sort()[pick % Math.max(1, own.running.size)];
          if (kind === "arrive") {
            for (const told of [own, pooled]) told.arrive(arrived, pick % 3, nowMs, APART);
            arrived++;
          } else if (kind === "finish" && busy !== undefined) {
            for (const told of [own, pooled]) told.finish(busy, nowMs);
          } else if (kind === "lose" && !down.has(worker)) {
            down.add(worker);
            for (const told of [own, pooled]) {
              told.running.delete(worker);
              told.tell((out) => told.dispatcher.onWorkerLost(worker, nowMs, out));
            }
          } else if (kind === "ready" && down.delete(worker)) {
            for (const told of [own, pooled]) {
              told.tell((out) => told.dispatcher.onWorkerReady(worker, nowMs, out));
            }
          } else if (kind === "cancel" && arrived > 0) {
            const waited = own.dispatcher.onCancel(pick % arrived);
            expect(pooled.dispatcher.onCancel(pick % arrived)).toBe(waited);
          }
          expect(own.started).toEqual(pooled.started);
          expect(own.dropped).toEqual(pooled.dropped);
          expect(own.dispatcher.wakeMs).toBe(pooled.dispatcher.wakeMs);
        }
      }),
    );
  });

  test("the earliest deadline goes first, whatever its class", () => {
    const told = new Told(new PooledDispatcher(classBundle({ workers: 1 }), true));
    told.arrive(0, 0, 0);
    told.arrive(1, 1, 1);
    told.arrive(2, 0, 2);
    told.finish(0, 30);
    expect(told.started.map(({ queries }) => queries)).toEqual([[0], [2, 1]]);
  });
});

describe("workers of their own", () => {
  const split = [1, 1];

  test("are a pooled dispatcher for each class, where none has a worker to lend", () => {
    fc.assert(
      fc.property(steps, fc.nat({ max: 500 }), fc.boolean(), (events, seed, drop) => {
        const bundle = classBundle({ split, drop, decide: anyDecision(seed) });
        const own = new Told(new PooledDispatcher(bundle, true));
        const alone = [0, 1].map((sloClass) => {
          const [level] = bundle.levels;
          if (level === undefined) throw new Error("a bundle has a level");
          return new Told(new PooledDispatcher(classAlone(bundle, level, sloClass), true));
        });
        let nowMs = 0;
        let arrived = 0;
        const classes: number[] = [];
        for (const { kind, pick, gapMs } of events) {
          for (const told of [own, ...alone]) told.elapse(nowMs, nowMs + gapMs);
          nowMs += gapMs;
          if (kind === "arrive") {
            const sloClass = pick % 2;
            classes.push(sloClass);
            own.arrive(arrived, sloClass, nowMs);
            alone[sloClass]?.arrive(arrived, sloClass, nowMs);
            arrived++;
          } else if (kind === "finish" && own.running.size > 0) {
            const worker = [...own.running.keys()][pick % own.running.size] ?? 0;
            const [first = -1] = own.finish(worker, nowMs);
            alone[classes[first] ?? 0]?.finish(0, nowMs);
          }
          for (const [sloClass, told] of alone.entries()) {
            const ofClass = own.started.filter(
              ({ queries }) => classes[queries[0] ?? -1] === sloClass,
            );
            expect(ofClass.map(withoutWorker)).toEqual(told.started.map(withoutWorker));
            expect(own.dropped.filter(({ query }) => classes[query] === sloClass)).toEqual(
              told.dropped,
            );
          }
        }
      }),
    );
  });

  function withoutWorker({ variant, queries }: Started): object {
    return { variant, queries };
  }

  test("no query is decided with the deadline of another class, and no batch mixes classes", () => {
    // The table of a class runs the variant of its index, so a batch tells by whose deadline it was
    // decided.
    const bundle = classBundle({
      workers: 5,
      split: [2, 3],
      decide: ({ table, queued }) => ({ variant: table === 1 ? 1 : 0, batch: queued }),
    });
    fc.assert(
      fc.property(steps, (events) => {
        const told = new Told(new PooledDispatcher(bundle, true));
        const classes: number[] = [];
        let nowMs = 0;
        for (const { kind, pick, gapMs } of events) {
          nowMs += gapMs;
          if (kind === "arrive") {
            classes.push(pick % 2);
            told.arrive(classes.length - 1, pick % 2, nowMs);
          } else if (told.running.size > 0) {
            told.finish([...told.running.keys()][pick % told.running.size] ?? 0, nowMs);
          }
        }
        for (const { variant, queries } of told.started) {
          for (const query of queries) expect(classes[query]).toBe(variant);
        }
      }),
    );
  });

  test("an idle worker is lent while every other class still finds one", () => {
    const told = new Told(new PooledDispatcher(classBundle({ workers: 4, split: [1, 3] }), true));
    for (const query of [0, 1, 2, 3]) told.arrive(query, 0, query);
    // One of its own, two of the other class's, which keeps the last.
    expect(told.started.map(({ queries }) => queries)).toEqual([[0], [1], [2]]);
    told.arrive(4, 1, 4);
    expect(told.started.at(-1)?.queries).toEqual([4]);
    // The other class now has one worker of three: what becomes free is its own again.
    told.arrive(5, 1, 5);
    told.finish(told.started[0]?.worker ?? -1, 6);
    expect(told.started.slice(4).map(({ queries }) => queries)).toEqual([[5]]);
  });

  test("fewer workers than there should be are shared by all classes", () => {
    const told = new Told(new PooledDispatcher(classBundle({ split }), true));
    told.tell((out) => told.dispatcher.onWorkerLost(1, 0, out));
    told.arrive(0, 1, 0);
    told.arrive(1, 1, 1);
    told.arrive(2, 0, 2);
    // The earliest deadline of all lines first.
    told.finish(0, 50);
    told.finish(0, 100);
    expect(told.started.map(({ queries }) => queries)).toEqual([[0], [2], [1]]);
    told.arrive(3, 0, 101);
    told.tell((out) => told.dispatcher.onWorkerLost(0, 102, out));
    expect(told.dropped).toEqual([{ query: 3, reason: DROP_NO_WORKER }]);
  });

  test("a full queue of one class takes nothing from the other", () => {
    const told = new Told(new PooledDispatcher(classBundle({ split }), true));
    for (let query = 0; query < 6; query++) told.arrive(query, 0, 10 * query);
    expect(told.dropped).toEqual([{ query: 5, reason: DROP_QUEUE_FULL }]);
    told.arrive(6, 1, 60);
    expect(told.started.at(-1)?.queries).toEqual([6]);
  });
});

describe("levels", () => {
  /** Traffic that is served at once, and a look at whether a class has only workers of its own. */
  class Traffic extends Told {
    nowMs = 0;
    #query = 0;

    /** @param gapMs between two queries. */
    bring(sloClass: number | ((sent: number) => number), count: number, gapMs: number): void {
      for (let sent = 0; sent < count; sent++) {
        this.nowMs += gapMs - 1;
        this.arrive(
          this.#query++,
          typeof sloClass === "number" ? sloClass : sloClass(sent),
          this.nowMs,
        );
        this.nowMs += 1;
        this.finishAll();
      }
    }

    /**
     * Two queries of one class together: with a worker each in one queue, with only one of its own
     * otherwise.
     */
    isDivided(): boolean {
      const before = this.started.length;
      this.nowMs += 10;
      this.arrive(this.#query++, 1, this.nowMs);
      this.arrive(this.#query++, 1, this.nowMs);
      const started = this.started.length - before;
      this.nowMs += 1;
      this.finishAll();
      return started === 1;
    }

    finishAll(): void {
      while (this.running.size > 0) {
        for (const worker of [...this.running.keys()]) this.finish(worker, this.nowMs);
      }
    }
  }

  const byShares = (sent: number): number => (sent % 4 === 3 ? 1 : 0);

  test("of both kinds follow one another", () => {
    const bundle = classBundle({ split: [1, 1], loadsQps: [100, 1000] });
    const [low, high] = bundle.levels;
    if (low === undefined || high === undefined) throw new Error("two levels");
    const { classTables: _, ...together } = high;
    const both = { ...bundle, levels: [low, together] };
    expect(validateBundle(both)).toEqual(both);
    const traffic = new Traffic(new PooledDispatcher(both, true));
    // Nothing is known of the load: the lowest level decides.
    expect(traffic.isDivided()).toBe(true);
    traffic.bring(byShares, 400, 4);
    expect(traffic.started.at(-1)?.level).toBe(1);
    expect(traffic.isDivided()).toBe(false);
    traffic.bring(byShares, 100, 25);
    expect(traffic.started.at(-1)?.level).toBe(0);
    expect(traffic.isDivided()).toBe(true);
  });

  test("a class with more than its share ends the division until it has less", () => {
    const bundle = classBundle({ split: [1, 1], loadsQps: [100, 1000] });
    const traffic = new Traffic(new PooledDispatcher(bundle, true));
    // 67 queries/s of the first class, whose share of the lowest level is 75.
    traffic.bring(0, 200, 15);
    expect(traffic.isDivided()).toBe(true);
    // As many of the second, whose share is 25.
    traffic.bring(1, 200, 15);
    expect(traffic.isDivided()).toBe(false);
    traffic.bring(0, 200, 15);
    expect(traffic.isDivided()).toBe(true);
    expect(new Set(traffic.started.map(({ level }) => level))).toEqual(new Set([0]));
  });

  test("rows that come together are queued, by class, before any is decided", () => {
    for (const split of [null, [1, 1]]) {
      const told = new Told(new PooledDispatcher(classBundle({ split }), true));
      told.together([0, 1, 2], 1, 5);
      expect(told.started.map(({ queries }) => queries)).toEqual([[0, 1, 2]]);
    }
  });

  test("of more rows than a line holds, a worker that is idle starts as many as make room", () => {
    for (const split of [null, [1, 1]]) {
      const told = new Told(new PooledDispatcher(classBundle({ split }), true));
      told.together([0, 1, 2, 3, 4, 5], 1, 5);
      expect(told.started[0]?.queries).toEqual([0, 1, 2, 3]);
      expect(told.dropped).toEqual([]);
    }
  });

  test("a row that names a variant is answered by it, past rows that do not", () => {
    const told = new Told(new PooledDispatcher(classBundle({ workers: 1, maxQueue: 7 }), true));
    told.arrive(0, 1, 0);
    told.together([1, 2], 1, 1, 0);
    told.together([3, 4], 0, 2, 1);
    told.arrive(5, 0, 3);
    for (let done = 0; done < 3; done++) told.finish(0, 4 + done);
    expect(told.started.map(({ queries, variant }) => [queries, variant])).toEqual([
      [[0], 1],
      [[3, 4], 1],
      [[5], 1],
      [[1, 2], 0],
    ]);
  });

  test("queues keep their size when another bundle takes over", () => {
    const dispatcher = new PooledDispatcher(classBundle(), true);
    expect(() => dispatcher.replaceBundle(classBundle({ maxQueue: 5 }))).toThrow("keep their size");
    dispatcher.replaceBundle(classBundle({ split: [1, 1] }));
    const told = new Told(dispatcher);
    told.arrive(0, 0, 0);
    told.arrive(1, 0, 0);
    expect(told.started).toHaveLength(1);
  });
});
