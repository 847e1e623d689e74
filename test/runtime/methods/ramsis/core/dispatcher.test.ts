import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { RamsisBundle } from "../../../../../runtime/bundle/schema.ts";
import {
  CommandBuffer,
  DROP,
  DROP_QUEUE_FULL,
  START_BATCH,
} from "../../../../../runtime/core/command-buffer.ts";
import { PolicyTable } from "../../../../../runtime/core/policy-table.ts";
import type { Dispatcher } from "../../../../../runtime/methods/ramsis/core/dispatcher.ts";
import { dispatcherOf } from "../../../../../runtime/methods/ramsis/core/dispatcher-of.ts";
import { tinyBundle } from "../../../../support/tiny-bundle.ts";

const SLO_MS = 100;

type Command =
  | { kind: "start"; worker: number; variant: number; level: number; queries: number[] }
  | { kind: "drop"; worker: number; reason: number; queries: number[] };

/** Decodes and clears. */
function read(commands: CommandBuffer): Command[] {
  const decoded: Command[] = [];
  for (let command = 0; command < commands.count; command++) {
    const worker = commands.worker(command);
    const queries = Array.from({ length: commands.queryCount(command) }, (_, i) =>
      commands.query(command, i),
    );
    if (commands.kind(command) === DROP) {
      decoded.push({ kind: "drop", worker, reason: commands.reason(command), queries });
    } else {
      expect(commands.kind(command)).toBe(START_BATCH);
      decoded.push({
        kind: "start",
        worker,
        variant: commands.variant(command),
        level: commands.level(command),
        queries,
      });
    }
  }
  commands.clear();
  return decoded;
}

/** A dispatcher and the events it is given, one after another. */
class Driver {
  readonly #dispatcher: Dispatcher;
  readonly #commands: CommandBuffer;

  constructor(bundle: RamsisBundle) {
    this.#dispatcher = dispatcherOf(bundle);
    this.#commands = new CommandBuffer(1, this.#dispatcher.queueCapacity);
  }

  arrive(query: number, nowMs: number, deadlineMs = nowMs + SLO_MS): Command[] {
    this.#dispatcher.onArrival(query, deadlineMs, nowMs, this.#commands);
    return read(this.#commands);
  }

  done(worker: number, nowMs: number): Command[] {
    this.#dispatcher.onBatchDone(worker, nowMs, this.#commands);
    return read(this.#commands);
  }
}

/** A table of pseudo-random decisions with any batch size up to the number queued. */
function randomBundle(seed: number, workers: number, maxQueue: number): RamsisBundle {
  let state = seed;
  const next = (bound: number): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * bound);
  };
  return tinyBundle({
    workers,
    maxQueue,
    sloMs: SLO_MS,
    loadsQps: [20, 100, 1000],
    decide: ({ queued }) => ({ variant: next(2), batch: 1 + next(queued) }),
  });
}

const event = fc.record({
  gapMs: fc.oneof(fc.constant(0), fc.double({ min: 0, max: 40, noNaN: true })),
  /** Which busy worker is done, or null for an arrival. */
  done: fc.option(fc.nat(), { freq: 3 }),
  sloMs: fc.constantFrom(20, 50, SLO_MS),
});
const scenario = fc.record({
  seed: fc.nat(),
  workers: fc.integer({ min: 1, max: 4 }),
  maxQueue: fc.integer({ min: 1, max: 5 }),
  events: fc.array(event, { maxLength: 120 }),
});
type Scenario = typeof scenario extends fc.Arbitrary<infer Generated> ? Generated : never;

interface Step {
  nowMs: number;
  commands: Command[];
}

/** Plays the events, then lets every batch finish, watching each step. */
function play(
  { seed, workers, maxQueue, events }: Scenario,
  observe: (model: Model, step: Step) => void,
): Model {
  const model = new Model(randomBundle(seed, workers, maxQueue), workers);
  let nowMs = 0;
  for (const { gapMs, done, sloMs } of events) {
    nowMs += gapMs;
    const busy = [...model.busy];
    const worker = done === null ? undefined : busy[done % busy.length];
    observe(model, {
      nowMs,
      commands: worker === undefined ? model.arrive(nowMs, sloMs) : model.done(worker, nowMs),
    });
  }
  // A worker that starts again goes to the end of the set, so the loop ends when no worker is busy.
  for (const worker of model.busy) {
    nowMs += 1;
    observe(model, { nowMs, commands: model.done(worker, nowMs) });
  }
  return model;
}

interface Waiting {
  query: number;
  deadlineMs: number;
}

/**
 * A driver that also keeps, in plain lists, what should be waiting where, up to the batch that the
 * last event started.
 */
class Model {
  readonly #driver: Driver;
  readonly table: PolicyTable;
  readonly busy = new Set<number>();
  readonly waiting: Waiting[][];
  arrivals = 0;

  constructor(bundle: RamsisBundle, workers: number) {
    this.#driver = new Driver(bundle);
    this.table = PolicyTable.fromBundle(bundle);
    this.waiting = Array.from({ length: workers }, () => []);
  }

  arrive(nowMs: number, sloMs: number): Command[] {
    const query = this.arrivals++;
    const queue = this.waiting[query % this.waiting.length] ?? [];
    const commands = this.#driver.arrive(query, nowMs, nowMs + sloMs);
    if (commands[0]?.kind !== "drop") {
      queue.push({ query, deadlineMs: nowMs + sloMs });
      queue.sort((a, b) => a.deadlineMs - b.deadlineMs);
    }
    return this.#started(commands);
  }

  done(worker: number, nowMs: number): Command[] {
    this.busy.delete(worker);
    return this.#started(this.#driver.done(worker, nowMs));
  }

  #started(commands: Command[]): Command[] {
    for (const { kind, worker } of commands) if (kind === "start") this.busy.add(worker);
    return commands;
  }

  /** Removes the queries of a batch from the lists. @returns what was waiting before. */
  remove(command: Command): Waiting[] {
    const queue = this.waiting[command.worker] ?? [];
    const before = [...queue];
    queue.splice(0, command.queries.length);
    return before;
  }
}

describe("Dispatcher", () => {
  it("takes what the table says, earliest deadlines first, never more than wait", () => {
    fc.assert(
      fc.property(scenario, (given) => {
        play(given, (model, { nowMs, commands }) => {
          for (const command of commands) {
            if (command.kind !== "start") continue;
            const before = model.remove(command);
            const slackMs = (before[0]?.deadlineMs ?? Number.NaN) - nowMs;
            const action = model.table.lookup(command.level, before.length, slackMs + 1e-6);
            expect(command.variant).toBe(model.table.variant(action));
            expect(command.queries).toEqual(
              before.slice(0, model.table.batch(action)).map(({ query }) => query),
            );
            expect(command.queries.length).toBeGreaterThan(0);
          }
        });
      }),
    );
  });

  it("ends every query in exactly one batch or drop", () => {
    fc.assert(
      fc.property(scenario, (given) => {
        const ended: number[] = [];
        const model = play(given, (_, { commands }) =>
          ended.push(...commands.flatMap(({ queries }) => queries)),
        );
        expect(ended.sort((a, b) => a - b)).toEqual(
          Array.from({ length: model.arrivals }, (_, i) => i),
        );
      }),
    );
  });

  it("drops a query only when its queue is full, and is never idle meanwhile", () => {
    fc.assert(
      fc.property(scenario, (given) => {
        const { seed, workers, maxQueue } = given;
        const { queueCapacity } = dispatcherOf(randomBundle(seed, workers, maxQueue));
        play(given, (model, { commands }) => {
          for (const command of commands) {
            if (command.kind === "start") model.remove(command);
            else {
              const waiting = model.waiting[command.worker]?.length;
              expect(waiting).toBeGreaterThanOrEqual(maxQueue + 1);
            }
          }
          for (const [worker, queue] of model.waiting.entries()) {
            expect(queue.length).toBeLessThanOrEqual(queueCapacity);
            if (!model.busy.has(worker)) expect(queue).toEqual([]);
          }
        });
      }),
    );
  });

  it("gives the same commands for the same events", () => {
    fc.assert(
      fc.property(scenario, (given) => {
        const first: Command[] = [];
        const second: Command[] = [];
        play(given, (_, { commands }) => first.push(...commands));
        play(given, (_, { commands }) => second.push(...commands));
        expect(second).toEqual(first);
      }),
      { numRuns: 30 },
    );
  });

  it("sends the i-th arrival to worker i mod K, whatever its state", () => {
    const driver = new Driver(tinyBundle({ workers: 3 }));
    expect(driver.arrive(0, 0)).toMatchObject([{ kind: "start", worker: 0 }]);
    expect(driver.arrive(1, 1)).toMatchObject([{ kind: "start", worker: 1 }]);
    expect(driver.done(0, 2)).toEqual([]);
    expect(driver.arrive(2, 3)).toMatchObject([{ kind: "start", worker: 2 }]);
    expect(driver.arrive(3, 4)).toMatchObject([{ kind: "start", worker: 0 }]);
    // Worker 1 is busy while worker 0 was idle a moment ago; its turn does not move.
    expect(driver.arrive(4, 5)).toEqual([]);
    expect(driver.done(1, 6)).toMatchObject([{ worker: 1, queries: [4] }]);
  });

  it("says why it drops a query", () => {
    const driver = new Driver(tinyBundle({ maxQueue: 1 }));
    for (let query = 0; query < 3; query++) driver.arrive(query, 0);
    // A batch of 2 takes 20 ms: the first query ends at 40 ms, and two more wait before this one.
    expect(driver.arrive(3, 0, 69)).toEqual([
      { kind: "drop", worker: 0, reason: DROP_QUEUE_FULL, queries: [3] },
    ]);
    expect(driver.arrive(4, 0, 71)).toEqual([]);
  });

  it.each(["round-robin", "shortest-queue"] as const)(
    "%s: a burst longer than the tables waits while the deadline allows it, at any load",
    (balancer) => {
      const variants = [{ name: "quick", accuracy: 1, latencyMs: (batch: number) => 0.3 * batch }];
      const bundle = tinyBundle({ maxQueue: 8, sloMs: 1000, loadsQps: [1, 5], variants });
      const dispatcher = dispatcherOf({ ...bundle, policy: { ...bundle.policy, balancer } });
      const commands = new CommandBuffer(1, dispatcher.queueCapacity);
      let dropped = 0;
      let admitted = 0;
      for (; dropped === 0; admitted++) {
        dispatcher.onArrival(admitted, 1000, 0, commands);
        dropped += read(commands).filter(({ kind }) => kind === "drop").length;
        // What is said of the next query is what becomes of it.
        expect(dispatcher.isFull(0)).toBe(admitted >= 3332);
      }
      expect(admitted - dropped).toBe(3333);
      // The longest queue of the tables decides: nine at once.
      dispatcher.onBatchDone(0, 0.3, commands);
      expect(read(commands)).toMatchObject([{ queries: [1, 2, 3, 4, 5, 6, 7, 8, 9] }]);
    },
  );

  it("gives a query that has just arrived the whole SLO as slack, however large the clock", () => {
    const driver = new Driver(
      tinyBundle({
        sloMs: SLO_MS,
        decide: ({ slackMs }) => ({ variant: slackMs === SLO_MS ? 1 : 0, batch: 1 }),
      }),
    );
    // The sum rounds down here: (nowMs + 100) − nowMs is below 100.
    const nowMs = 1948.2;
    expect(nowMs + SLO_MS - nowMs).toBeLessThan(SLO_MS);
    expect(driver.arrive(0, nowMs)).toMatchObject([{ variant: 1 }]);
  });

  it.each(["round-robin", "shortest-queue", "pooled"] as const)(
    "%s: the first query is decided by the lowest level, later ones by that of the load seen",
    (balancer) => {
      const bundle = tinyBundle({ loadsQps: [10, 100, 1000] });
      const driver = new Driver({ ...bundle, policy: { ...bundle.policy, balancer } });
      const levels = [];
      for (let query = 0; query < 20; query++) {
        const [command] = driver.arrive(query, 20 * query);
        levels.push(command?.kind === "start" ? command.level : null);
        driver.done(0, 20 * query);
      }
      expect(levels.slice(0, 3)).toEqual([0, 0, 0]);
      expect(levels.at(-1)).toBe(1);
    },
  );

  it("keeps the load it has seen when another bundle decides, and after silence", () => {
    const bundle = tinyBundle({ loadsQps: [10, 100, 1000] });
    const dispatcher = dispatcherOf(bundle);
    const commands = new CommandBuffer(1, dispatcher.queueCapacity);
    const levelAt = (nowMs: number) => {
      dispatcher.onArrival(0, nowMs + SLO_MS, nowMs, commands);
      const [command] = read(commands);
      dispatcher.onBatchDone(0, nowMs, commands);
      return command?.kind === "start" ? command.level : null;
    };
    for (let ms = 0; ms < 1000; ms += 2) levelAt(ms);
    expect(levelAt(1000)).toBe(2);
    dispatcher.replaceBundle(tinyBundle({ loadsQps: [10, 200, 700, 1000] }));
    expect(levelAt(1001)).toBe(2);
    expect(levelAt(3_600_000)).toBe(0);
  });

  it("refuses a completion of a worker that runs nothing", () => {
    expect(() => new Driver(tinyBundle()).done(0, 0)).toThrow("was busy");
  });
});
