import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { InferlineBundle } from "../../../../../runtime/bundle/schema.ts";
import { inferlineBundle } from "../../../../support/inferline-bundle.ts";
import { InferlineDriver, ToldTuner } from "../../../../support/inferline-driver.ts";

const SMALL = { 1: 10, 2: 15 };
const LARGE = { 1: 10, 4: 25, 8: 40 };

/** A diamond in two pools; the stages change places between the levels, and one can run in one pool only. */
const DIAMOND: InferlineBundle = inferlineBundle({
  tasks: [
    { name: "a", latencyMs: [SMALL, LARGE] },
    { name: "b", from: { a: 0.5 }, latencyMs: [LARGE, SMALL] },
    { name: "c", from: { a: 0.5 }, latencyMs: [null, LARGE] },
    { name: "d", from: { b: 1, c: 1 }, latencyMs: [SMALL, SMALL] },
  ],
  levels: [
    {
      loadQps: 100,
      stages: [
        [2, 2, 0],
        [8, 1, 0],
        [4, 1, 1],
        [1, 1, 1],
      ],
      peakQps: 100,
    },
    {
      loadQps: 200,
      stages: [
        [8, 2, 1],
        [2, 1, 1],
        [8, 1, 1],
        [2, 2, 0],
      ],
      peakQps: 200,
    },
    {
      loadQps: 300,
      stages: [
        [2, 3, 0],
        [4, 1, 0],
        [1, 3, 1],
        [2, 1, 1],
      ],
      peakQps: 300,
    },
  ],
  workers: [4, 4],
});

const worker = fc.nat(7);
const event = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.record({ kind: fc.constant("request" as const), takes: fc.nat(63) }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("burst" as const), count: fc.nat(60) }) },
  { weight: 10, arbitrary: fc.record({ kind: fc.constant("finish" as const), worker }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("load" as const), worker }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("lose" as const), worker }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("up" as const), worker }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("cancel" as const), nth: fc.nat(20) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("targets" as const),
      targets: fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 4, maxLength: 4 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("traffic" as const),
      peakQps: fc.constantFrom(90, 150, 250),
      ms: fc.constantFrom(1000, 46_000, 61_000),
    }),
  },
);
type Event = typeof event extends fc.Arbitrary<infer E> ? E : never;

function act(driver: InferlineDriver, tuner: ToldTuner, step: Event): void {
  switch (step.kind) {
    case "request":
      driver.request((edge) => ((step.takes >>> edge) & 1) === 1 || edge === 0);
      break;
    case "burst":
      for (let n = 0; n < step.count; n++) driver.request();
      break;
    case "finish":
      driver.finish(step.worker);
      break;
    case "load":
      driver.finishLoad(step.worker);
      break;
    case "lose":
      driver.lose(step.worker);
      break;
    case "up":
      if (driver.states[step.worker] === "down") driver.comeUp(step.worker);
      break;
    case "cancel": {
      const query = driver.queues.flat()[step.nth];
      if (query === undefined) break;
      driver.cancel(query);
      driver.failed.add(Math.floor(query / 4));
      break;
    }
    case "targets":
      tuner.tell(...step.targets);
      tuner.wakeMs = driver.nowMs;
      break;
    case "traffic":
      tuner.recentMeanQps = step.peakQps;
      driver.passTo(driver.nowMs + step.ms);
      break;
  }
}

/** What holds after every event. */
function check(driver: InferlineDriver): void {
  const { dispatcher, states, models } = driver;
  const assigned = DIAMOND.tasks.map(
    ({ name }) => models.filter((model) => model === `${name}/${name}`).length,
  );
  expect([...dispatcher.assignedByTask]).toEqual(assigned);
  expect(dispatcher.servers).toBe(assigned.reduce((sum, count) => sum + count, 0));
  for (const [task, { name }] of DIAMOND.tasks.entries()) {
    const idle = models.filter(
      (model, index) => model === `${name}/${name}` && states[index] === "ready",
    );
    // Who is idle takes what waits.
    if (idle.length > 0) expect(driver.queues[task]).toEqual([]);
  }
}

function run(events: readonly Event[]): { driver: InferlineDriver; tuner: ToldTuner } {
  const tuner = new ToldTuner(DIAMOND);
  const driver = new InferlineDriver(DIAMOND, { tuner, initialDemandQps: 100 }).start();
  tuner.wakeMs = 0;
  for (const step of events) {
    act(driver, tuner, step);
    driver.endEvent();
    check(driver);
  }
  return { driver, tuner };
}

/** All workers come back. */
function repair(driver: InferlineDriver): void {
  for (const [index, state] of driver.states.entries()) {
    if (state === "down") driver.comeUp(index);
  }
}

/** All that is under way comes to its end. */
function comeToRest(driver: InferlineDriver): void {
  const isAtWork = () =>
    driver.waitingCount > 0 || driver.states.includes("busy") || driver.states.includes("loading");
  for (let round = 0; round < 3000 && isAtWork(); round++) {
    driver.finishLoads();
    for (let index = 0; index < driver.states.length; index++) driver.finish(index);
    driver.endEvent();
    check(driver);
  }
}

const events = fc.array(event, { minLength: 20, maxLength: 200 });

describe("whatever happens", () => {
  test("no query is lost or served twice, no worker gets what it cannot do, and nobody idles while queries wait", () => {
    fc.assert(
      fc.property(events, (steps) => {
        const { driver } = run(steps);
        repair(driver);
        comeToRest(driver);
        expect(driver.waitingCount).toBe(0);
        expect(new Set(driver.done).size).toBe(driver.done.length);
        const over = new Set([...driver.done, ...driver.failed]);
        expect(over.size).toBe(driver.requests);
        expect(driver.done.length + driver.failed.size).toBe(driver.requests);
      }),
      { numRuns: 150 },
    );
  });

  test("nothing waits for ever, even if workers are lost for good", () => {
    const gone = fc.subarray([0, 1, 2, 3, 4, 5, 6, 7]);
    fc.assert(
      fc.property(events, gone, (steps, workers) => {
        const { driver } = run(steps);
        for (const index of workers) driver.lose(index);
        comeToRest(driver);
        expect(driver.waitingCount).toBe(0);
      }),
      { numRuns: 150 },
    );
  });

  test("in the end every stage is where the plan has it, with as many replicas as it is to have", () => {
    fc.assert(
      fc.property(events, (steps) => {
        const { driver, tuner } = run(steps);
        tuner.recentMeanQps = Number.NaN;
        // As planned, so that there are workers for all.
        const { stages } = DIAMOND.levels[driver.dispatcher.level]?.plan ?? { stages: [] };
        tuner.tell(...stages.map(({ replicas }) => replicas));
        tuner.wakeMs = driver.nowMs;
        driver.endEvent();
        repair(driver);
        comeToRest(driver);
        for (const [task, { pool, replicas }] of stages.entries()) {
          const name = DIAMOND.tasks[task]?.name;
          const places = driver.models.flatMap((model, index) =>
            model === `${name}/${name}` ? [Math.floor(index / 4)] : [],
          );
          expect(places).toEqual(Array(replicas).fill(pool));
        }
      }),
      { numRuns: 150 },
    );
  });

  test("the same events give the same commands", () => {
    fc.assert(
      fc.property(events, (steps) => {
        expect(run(steps).driver.log).toEqual(run(steps).driver.log);
      }),
      { numRuns: 20 },
    );
  });
});
