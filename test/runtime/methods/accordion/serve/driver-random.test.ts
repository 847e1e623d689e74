import fc from "fast-check";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { AccordionOptions } from "../../../../../runtime/bundle/schema.ts";
import {
  type Asked,
  ask,
  type Driven,
  drivenPlaces,
  expectOwnRows,
  finishAll,
  replayedPlaces,
} from "./driven.ts";
import { DEEP, SMALL, servedPlaces } from "./fake-places.ts";

const MAX_PENDING = 20;
const PLACES = 4;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
});
afterEach(() => {
  vi.useRealTimers();
});

const STEP = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("ask" as const),
      n: fc.integer({ min: 1, max: 8 }),
      model: fc.integer({ min: 0, max: 1 }),
      isHigh: fc.boolean(),
      sloMs: fc.constantFrom(1, 60, 120, 200, 1000),
    }),
  },
  {
    weight: 10,
    arbitrary: fc.record({
      kind: fc.constantFrom("finish" as const),
      n: fc.integer({ min: 0, max: 7 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constantFrom("wait" as const),
      n: fc.integer({ min: 1, max: 40 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constantFrom(
        "refuse" as const,
        "wrong" as const,
        "lose" as const,
        "lose" as const,
        "lose-told-first" as const,
        "replace" as const,
        "ready" as const,
        "cancel" as const,
      ),
      n: fc.integer({ min: 0, max: 31 }),
    }),
  },
);

type Step = typeof STEP extends fc.Arbitrary<infer S> ? S : never;

interface Happened {
  readonly asked: Asked[];
  readonly cancelled: Set<Asked>;
}

async function act(driven: Driven, { asked, cancelled }: Happened, step: Step): Promise<void> {
  const { executor, clock } = driven;
  const { kind, n } = step;
  const place = n % PLACES;
  const held = n % Math.max(1, executor.held.length);
  if (kind === "ask") {
    const values = Array.from({ length: n }, (_, row) => 100 * asked.length + row);
    asked.push(ask(driven, values, step));
  } else if (kind === "wait") {
    clock.nowMs += n;
    vi.advanceTimersByTime(n);
  } else if (kind === "cancel") {
    const one = asked[n % Math.max(1, asked.length)];
    if (one === undefined) return;
    one.submission.cancel();
    cancelled.add(one);
  } else if (kind === "ready") {
    if (!executor.isUp(place)) executor.ready(place);
  } else if (kind === "lose" || kind === "lose-told-first") {
    if (executor.isUp(place)) await executor.lose(place, kind === "lose-told-first");
  } else if (kind === "replace") {
    if (executor.isUp(place)) await executor.replace(place);
  } else if (executor.held.length === 0) return;
  else if (kind === "finish") await executor.finish(held);
  else if (kind === "wrong") await executor.finishWrong(held);
  else await executor.refuse(held);
}

const OPTIONS: fc.Arbitrary<Partial<AccordionOptions>> = fc.record({
  scheduler: fc.constantFrom("accordion", "accordion", "slo-conforming", "fastest", "bbs"),
  regrow: fc.boolean(),
  dropAfterSlos: fc.constantFrom(null, 1),
  maxDepth: fc.constantFrom(2, 4),
});

test("always settles each request once, with its own rows, and replays alike", async () => {
  const failures = new Set<string>();
  await fc.assert(
    fc.asyncProperty(
      OPTIONS,
      fc.boolean(),
      fc.array(STEP, { maxLength: 90, size: "max" }),
      async (...given) => {
        const [policy, hasTwoPools, steps] = given;
        const pools = hasTwoPools ? [{ workers: 2 }, { workers: 2, speed: 2 }] : undefined;
        const sketch = { models: [DEEP, SMALL], policy, maxDepth: policy.maxDepth ?? 4 };
        const bundle = servedPlaces(pools === undefined ? sketch : { ...sketch, pools });
        const driven = drivenPlaces(bundle, MAX_PENDING);
        const { executor, log } = driven;
        const happened: Happened = { asked: [], cancelled: new Set() };
        for (const step of steps) await act(driven, happened, step);
        for (let place = 0; place < PLACES; place++) {
          if (!executor.isUp(place)) executor.ready(place);
        }
        await finishAll(driven);
        expect(executor.mistakes).toEqual([]);
        for (const one of happened.asked) {
          const [outcome] = one.outcomes;
          if (outcome?.kind === "answered") expectOwnRows(driven, one);
          else {
            expect(one.outcomes).toHaveLength(1);
            failures.add(outcome?.reason ?? "none");
            if (outcome?.reason === "cancelled") expect(happened.cancelled).toContain(one);
          }
        }
        expect(replayedPlaces(bundle, MAX_PENDING, log)).toEqual(log);
        // Every place is as it was: a request that nothing disturbs has them all.
        const last = ask(driven, [7, 8, 9]);
        await finishAll(driven);
        expectOwnRows(driven, last);
      },
    ),
    { numRuns: 60, seed: 8 },
  );
  expect([...failures].sort()).toEqual([
    "cancelled",
    "inference",
    "late",
    "no-worker",
    "queue-full",
    "worker-lost",
  ]);
});
