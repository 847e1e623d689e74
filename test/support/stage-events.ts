/** Anything that can happen to provisioned stages, in any order. */
import fc from "fast-check";
import type { InferlineBundle } from "../../runtime/bundle/schema.ts";
import { hold } from "./hold.ts";
import { inferlineBundle } from "./inferline-bundle.ts";
import { InferlineDriver, ToldTuner } from "./inferline-driver.ts";

const SMALL = { 1: 10, 2: 15 };
const LARGE = { 1: 10, 4: 25, 8: 40 };

/**
 * A diamond in two pools; the stages change places between the levels, and one can run in one pool
 * only.
 */
export const DIAMOND: InferlineBundle = inferlineBundle({
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
export type StageEvent = typeof event extends fc.Arbitrary<infer E> ? E : never;

function act(driver: InferlineDriver, tuner: ToldTuner, step: StageEvent): void {
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
  let servers = 0;
  for (const [task, { name }] of DIAMOND.tasks.entries()) {
    const held = models.flatMap((model, index) => (model === `${name}/${name}` ? [index] : []));
    servers += held.length;
    hold(dispatcher.assignedByTask[task] === held.length, "replicas are counted");
    const isIdle = held.some((index) => states[index] === "ready");
    hold(!isIdle || driver.queues[task]?.length === 0, "who is idle takes what waits");
  }
  hold(dispatcher.servers === servers, "servers are counted");
}

export function playStages(events: readonly StageEvent[]): {
  driver: InferlineDriver;
  tuner: ToldTuner;
} {
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
export function repair(driver: InferlineDriver): void {
  for (const [index, state] of driver.states.entries()) {
    if (state === "down") driver.comeUp(index);
  }
}

/** All that is under way comes to its end. */
export function comeToRest(driver: InferlineDriver): void {
  const isAtWork = () =>
    driver.waitingCount > 0 || driver.states.includes("busy") || driver.states.includes("loading");
  for (let round = 0; round < 3000 && isAtWork(); round++) {
    driver.finishLoads();
    for (let index = 0; index < driver.states.length; index++) driver.finish(index);
    driver.endEvent();
    check(driver);
  }
}

export const stageEvents = fc.array(event, { minLength: 20, maxLength: 200 });
