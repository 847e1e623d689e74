/** Anything that can happen to scaled stages, in any order. */
import fc from "fast-check";
import type { ThemisBundle } from "../../runtime/bundle/schema.ts";
import { coreBudgetOf } from "../../runtime/methods/themis/core/shape.ts";
import { hold } from "./hold.ts";
import { ThemisDriver } from "./themis-driver.ts";

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
export type ScaleEvent = typeof event extends fc.Arbitrary<infer E> ? E : never;

function act(driver: ThemisDriver, taskCount: number, step: ScaleEvent): void {
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

export function playScales(
  bundle: ThemisBundle,
  steps: readonly ScaleEvent[],
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
export function comeToRest(driver: ThemisDriver, bundle: ThemisBundle): void {
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

export function repair(driver: ThemisDriver): void {
  for (const one of driver.workers) driver.comeUp(one);
}

export const scaleEvents = fc.array(event, { minLength: 20, maxLength: 150 });
