import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { LokiBundle } from "../../../../../runtime/bundle/schema.ts";
import { LokiDriver } from "../../../../support/loki-driver.ts";
import { chainBundle, treeBundle } from "../../../../support/loki-samples.ts";

describe("whatever happens", () => {
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
    { weight: 2, arbitrary: fc.record({ kind: fc.constant("time" as const), ms: fc.nat(900) }) },
    {
      weight: 1,
      arbitrary: fc.record({ kind: fc.constant("burst" as const), count: fc.nat(150) }),
    },
  );
  const modes = ["none", "last-task", "per-task", "reroute", "deadline"] as const;
  const policy = fc.record({
    drop: fc.constantFrom(...modes),
    routing: fc.constantFrom("plan", "auto", "most-accurate-first"),
  });

  test("no query is lost or served twice, and no worker gets what it cannot do", () => {
    fc.assert(
      fc.property(
        fc.boolean(),
        policy,
        fc.array(event, { minLength: 20, maxLength: 200 }),
        (isTree, options, events) => {
          const bundle = isTree
            ? treeBundle({ policy: options })
            : chainBundle({ policy: options });
          run(bundle, events);
        },
      ),
      { numRuns: 300 },
    );
  });

  test("the same events give the same commands", () => {
    fc.assert(
      fc.property(policy, fc.array(event, { minLength: 50, maxLength: 100 }), (options, events) => {
        const bundle = treeBundle({ policy: options });
        expect(run(bundle, events).log).toEqual(run(bundle, events).log);
      }),
      { numRuns: 20 },
    );
  });

  function run(
    bundle: LokiBundle,
    events: readonly (typeof event extends fc.Arbitrary<infer E> ? E : never)[],
  ): LokiDriver {
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
    // In the end all workers come back and everything that waits is served or dropped.
    for (let worker = 0; worker < driver.states.length; worker++) {
      if (driver.states[worker] === "down") driver.comeUp(worker);
    }
    for (let round = 0; round < 3000 && busy(driver); round++) {
      driver.nowMs += 1;
      driver.finishLoads();
      for (let worker = 0; worker < driver.states.length; worker++) {
        handOn(driver, bundle, worker);
      }
    }
    expect(driver.waiting.size).toBe(0);
    return driver;
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
});
