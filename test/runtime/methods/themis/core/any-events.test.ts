import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ThemisBundle } from "../../../../../runtime/bundle/schema.ts";
import { coreBudgetOf } from "../../../../../runtime/methods/themis/core/shape.ts";
import { ThemisDriver } from "../../../../support/themis-driver.ts";
import { randomThemisBundle } from "../../../../support/themis-random-bundle.ts";

const worker = fc.nat(11);
const event = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant("request" as const),
      task: fc.nat(3),
      count: fc.constantFrom(1, 1, 3, 40),
    }),
  },
  { weight: 8, arbitrary: fc.record({ kind: fc.constant("finish" as const), worker }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("load" as const), worker }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("resize" as const), worker }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("lose" as const), worker }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("replace" as const), worker }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("up" as const), worker }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("cancel" as const), nth: fc.nat(20) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("forecast" as const),
      qps: fc.constantFrom(0, 50, 500, Number.NaN),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("pass" as const),
      ms: fc.constantFrom(1, 10, 100, 1000, 20_000),
    }),
  },
);
type Event = typeof event extends fc.Arbitrary<infer E> ? E : never;

function act(driver: ThemisDriver, taskCount: number, step: Event): void {
  switch (step.kind) {
    case "request":
      driver.request(step.task % taskCount, step.count);
      break;
    case "finish":
      driver.finish(step.worker);
      break;
    case "load":
      driver.finishLoad(step.worker);
      break;
    case "resize":
      driver.finishResize(step.worker);
      break;
    case "lose":
      driver.lose(step.worker);
      break;
    case "replace":
      driver.replace(step.worker);
      break;
    case "up":
      driver.comeUp(step.worker);
      break;
    case "cancel": {
      const query = driver.queues.flat()[step.nth];
      if (query !== undefined) driver.cancel(query);
      break;
    }
    case "forecast":
      driver.dispatcher.onForecast(step.qps);
      break;
    case "pass":
      driver.passTo(driver.nowMs + step.ms);
      break;
  }
  driver.endEvent();
}

/** What holds after every event. */
function check(driver: ThemisDriver, bundle: ThemisBundle): void {
  const { dispatcher } = driver;
  const { assignedByTask, coresByTask, targetsByTask, targetCoresByTask } = dispatcher;
  let kept = 0;
  for (const task of bundle.tasks.keys()) {
    const all = driver.ofTask(task);
    const target = targetsByTask[task] ?? 0;
    hold(assignedByTask[task] === all.length, "instances are counted");
    hold(coresByTask[task] === driver.held[task], "cores are counted");
    hold(target >= 1 && (targetCoresByTask[task] ?? 0) >= 1, "a task is never without");
    // Those that leave may be the largest.
    const wanted = all.map((one) => one.wanted).sort((a, b) => a - b);
    kept += wanted.slice(0, target).reduce((sum, cores) => sum + cores, 0);
    const idle = driver.workers.filter((one) => {
      const instance = driver.instances.get(one);
      return instance?.task === task && instance.inForce > 0 && !driver.running.has(one);
    });
    hold(idle.length === 0 || driver.queues[task]?.length === 0, "who is idle takes what waits");
  }
  hold(kept <= coreBudgetOf(bundle), `${kept} cores are in the pool`);
  hold(driver.waitingCount <= dispatcher.waitingCapacity, "so many wait at most");
}

function run(
  bundle: ThemisBundle,
  steps: readonly Event[],
  options: { readonly queryCapacity?: number } = {},
): ThemisDriver {
  const driver = new ThemisDriver(bundle, { initialDemandQps: 20, ...options }).start();
  for (const step of steps) {
    act(driver, bundle.tasks.length, step);
    check(driver, bundle);
  }
  return driver;
}

/** All that is under way comes to its end. */
function comeToRest(driver: ThemisDriver, bundle: ThemisBundle): void {
  const isAtWork = () =>
    driver.waitingCount > 0 ||
    driver.running.size > 0 ||
    [...driver.instances.values()].some((one) => one.inForce !== one.wanted || one.isResizing);
  for (let round = 0; round < 3000 && isAtWork(); round++) {
    driver.finishLoads();
    driver.finishResizes();
    for (const one of driver.workers) driver.finish(one);
    driver.endEvent();
    check(driver, bundle);
  }
}

function repair(driver: ThemisDriver): void {
  for (const one of driver.workers) driver.comeUp(one);
}

const events = fc.array(event, { minLength: 20, maxLength: 150 });

describe("whatever happens", () => {
  test("every query is served, dropped, cancelled or lost with its worker, just once, and none waits in the end", () => {
    fc.assert(
      fc.property(randomThemisBundle(), events, (bundle, steps) => {
        const driver = run(bundle, steps);
        repair(driver);
        comeToRest(driver, bundle);
        expect(driver.waitingCount).toBe(0);
        const ended = [
          ...driver.served,
          ...driver.lost,
          ...driver.cancelled,
          ...driver.dropped.map(({ query }) => query),
        ];
        expect(ended.sort((a, b) => a - b)).toEqual(driver.queries);
      }),
      { numRuns: 200 },
    );
  });

  test("nothing waits for ever, even if workers are lost for good", () => {
    const gone = fc.subarray([...new Array<undefined>(12).keys()]);
    fc.assert(
      fc.property(randomThemisBundle(), events, gone, (bundle, steps, workers) => {
        const driver = run(bundle, steps);
        for (const one of workers) driver.lose(one);
        comeToRest(driver, bundle);
        expect(driver.waitingCount).toBe(0);
      }),
      { numRuns: 100 },
    );
  });

  test("few names for queries do not make the commands overflow", () => {
    fc.assert(
      fc.property(
        randomThemisBundle(),
        events,
        fc.integer({ min: 1, max: 30 }),
        (bundle, steps, few) => {
          const { workerCount } = new ThemisDriver(bundle).dispatcher;
          // As many as run, those of a batch that is handed in, and a few that wait.
          const driver = run(bundle, steps, {
            queryCapacity: (workerCount + 1) * 4 + few,
          });
          expect(driver.dispatcher.waitingCapacity).toBe(few);
        },
      ),
      { numRuns: 100 },
    );
  });

  test("when nothing comes any more, instances end up as in a plan, the lowest that there is room for beside it", () => {
    const ends: number[] = [];
    fc.assert(
      fc.property(randomThemisBundle(), events, (bundle, steps) => {
        const driver = run(bundle, [...steps, { kind: "request", task: 0, count: 1 }]);
        repair(driver);
        for (let round = 0; round < 30; round++) {
          driver.dispatcher.onForecast(0);
          driver.passTo(driver.nowMs + 4000);
          comeToRest(driver, bundle);
        }
        const level = settledLevel(driver, bundle);
        ends.push(level);
        expect(level).not.toBe(-1);
        for (let lower = 0; lower < level; lower++) {
          expect(coresBeside(bundle, level, lower)).toBeGreaterThan(coreBudgetOf(bundle));
        }
      }),
      { numRuns: 300 },
    );
    expect(ends.filter((level) => level === 0).length).toBeGreaterThan(250);
  });

  test("the same events give the same commands", () => {
    fc.assert(
      fc.property(randomThemisBundle(), events, (bundle, steps) => {
        expect(run(bundle, steps).log).toEqual(run(bundle, steps).log);
      }),
      { numRuns: 20 },
    );
  });
});

/** The lowest level whose plan is what there is; −1 if it is none. */
function settledLevel(driver: ThemisDriver, bundle: ThemisBundle): number {
  return bundle.levels.findIndex(({ steady }) =>
    steady.stages.every(({ cores, instances }, task) => {
      const all = driver.ofTask(task);
      return all.length === instances && all.every((one) => one.inForce === cores);
    }),
  );
}

/** What the instances of one plan take and those that another one has more. */
function coresBeside({ levels }: ThemisBundle, level: number, other: number): number {
  const stages = levels[level]?.steady.stages ?? [];
  return stages.reduce((sum, { cores, instances }, task) => {
    const to = levels[other]?.steady.stages[task] ?? { cores: 0, instances: 0 };
    const more = Math.max(0, to.instances - instances);
    return sum + instances * Math.max(cores, to.cores) + more * to.cores;
  }, 0);
}

function hold(condition: boolean, message: string): void {
  if (!condition) throw new Error(message);
}
