/** Anything that can happen to a pipeline of servers, in any order. */
import fc from "fast-check";
import type { LokiBundle } from "../../runtime/bundle/schema.ts";
import { LokiDriver } from "./loki-driver.ts";

const event = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({ kind: fc.constant("request" as const), slackMs: fc.nat(300) }),
  },
  {
    weight: 8,
    arbitrary: fc.record({ kind: fc.constant("finish" as const), worker: fc.nat(5) }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("load" as const), worker: fc.nat(5) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("lose" as const), worker: fc.nat(5) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("up" as const), worker: fc.nat(5) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("cancel" as const), nth: fc.nat(20) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("time" as const), ms: fc.nat(4000) }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("burst" as const), count: fc.nat(150) }),
  },
);
type PipelineEvent = typeof event extends fc.Arbitrary<infer E> ? E : never;

const modes = ["none", "last-task", "per-task", "reroute", "deadline"] as const;
export const pipelinePolicies = fc.record({
  drop: fc.constantFrom(...modes),
  routing: fc.constantFrom("plan", "auto", "most-accurate-first"),
});

export const pipelineEvents = fc.array(event, { minLength: 20, maxLength: 200 });

export function playPipeline(bundle: LokiBundle, events: readonly PipelineEvent[]): LokiDriver {
  const driver = new LokiDriver(bundle, { capacity: 8192 }).start();
  for (const step of events) {
    switch (step.kind) {
      case "request":
        driver.query(0, driver.nowMs + step.slackMs);
        break;
      case "burst":
        for (let n = 0; n < step.count; n++) driver.query(0, driver.nowMs + 250);
        break;
      case "finish":
        handOn(driver, bundle, step.worker);
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
        const query = [...driver.waiting][step.nth];
        if (query !== undefined) driver.cancel(query);
        break;
      }
      case "time":
        driver.nowMs += step.ms;
        if (driver.dispatcher.wakeMs <= driver.nowMs) driver.wake();
        break;
    }
  }
  return driver;
}

/**
 * All workers come back but those that are gone for good, and all that is under way comes to its
 * end.
 */
export function endPipeline(driver: LokiDriver, bundle: LokiBundle, gone: readonly number[]): void {
  for (let worker = 0; worker < driver.states.length; worker++) {
    if (gone.includes(worker)) driver.lose(worker);
    else if (driver.states[worker] === "down") driver.comeUp(worker);
  }
  for (let round = 0; round < 3000 && busy(driver); round++) {
    driver.nowMs += 1;
    driver.finishLoads();
    for (let worker = 0; worker < driver.states.length; worker++) {
      handOn(driver, bundle, worker);
    }
  }
}

function busy(driver: LokiDriver): boolean {
  return driver.waiting.size > 0 || driver.states.some((state) => state === "busy");
}

function handOn(driver: LokiDriver, { tasks }: LokiBundle, worker: number): void {
  const name = driver.models[worker]?.split("/")[0];
  for (const query of driver.finish(worker)) {
    for (const [child, { parent }] of tasks.entries()) {
      if (parent === null || tasks[parent]?.name !== name) continue;
      driver.dispatcher.onFanout(query, child, 2);
      driver.handIn(child, driver.nowMs + 100, query);
      driver.handIn(child, driver.nowMs + 100, query);
    }
  }
  driver.startBatches();
}
