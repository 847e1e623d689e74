/** Anything that can happen to a scheduler of places, in any order. */
import fc from "fast-check";
import type { AccordionDriver } from "./accordion-driver.ts";

const MOST_QUERIES = 60;

const place = fc.nat(11);
const nth = fc.nat(20);
const events = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({
      kind: fc.constant("ask" as const),
      count: fc.constantFrom(1, 1, 1, 2, 6),
      model: fc.nat(2),
      batch: fc.integer({ min: 1, max: 4 }),
      isHigh: fc.boolean(),
      // Of the SLO; negative: it is over before it comes.
      due: fc.constantFrom(-0.5, 0, 0.3, 0.6, 1, 1, 2, 4, 10),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant("pass" as const),
      ms: fc.constantFrom(0, 1, 5, 20, 100, 1000),
    }),
  },
  // The next instance of a query that runs, earlier than it should be.
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("finish" as const), nth }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("stall" as const),
      nth,
      ms: fc.constantFrom(1, 30, 300),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("cancel" as const), nth }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("lose" as const), place }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("up" as const), place }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("lose-all" as const),
      isBack: fc.constantFrom(true, true, true, false),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: "all-up" as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: "wake" as const }) },
);

export type Event = typeof events extends fc.Arbitrary<infer E> ? E : never;

export function accordionEvents(maxLength = 60): fc.Arbitrary<Event[]> {
  return fc.array(events, { minLength: 5, maxLength, size: "max" });
}

export function happen(driver: AccordionDriver, step: Event): void {
  switch (step.kind) {
    case "ask":
      ask(driver, step);
      break;
    case "pass":
      driver.passTo(driver.nowMs + step.ms);
      break;
    case "finish": {
      const query = pick(driver.active, step.nth);
      if (query !== undefined) driver.finishInstance(query);
      break;
    }
    case "stall": {
      const query = pick(driver.active, step.nth);
      if (query !== undefined) driver.stall(query, step.ms);
      break;
    }
    case "cancel": {
      const query = pick([...driver.queries.keys()], step.nth);
      if (query !== undefined) driver.cancel(query);
      break;
    }
    case "lose":
      driver.lose(step.place);
      break;
    case "up":
      driver.comeUp(step.place);
      break;
    case "lose-all":
      for (const one of driver.upPlaces) driver.lose(one);
      if (step.isBack) driver.start();
      break;
    case "all-up":
      driver.start();
      break;
    case "wake":
      driver.wake();
      break;
  }
}

function ask(
  driver: AccordionDriver,
  { count, model, due, ...asked }: Event & { kind: "ask" },
): void {
  const { slo, tasks } = driver.bundle;
  const modelCount = tasks[0]?.variants.length ?? 1;
  const dueInMs = due * slo.latencyMs;
  for (let n = 0; n < count && driver.queries.size < MOST_QUERIES; n++) {
    driver.ask({ ...asked, model: (model + n) % modelCount, dueInMs });
  }
}

function pick(queries: readonly number[], nth: number): number | undefined {
  return queries.length === 0 ? undefined : queries[nth % queries.length];
}
