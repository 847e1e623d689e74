/** Anything that can happen to a driver of places, in any order. */
import fc from "fast-check";
import { vi } from "vitest";
import type { AccordionOptions } from "../../../../../runtime/bundle/schema.ts";
import { type Asked, ask, type Driven } from "./driven.ts";

export const MAX_PENDING = 20;
export const PLACES = 4;

export const STEP = fc.oneof(
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

export interface Happened {
  readonly asked: Asked[];
  readonly cancelled: Set<Asked>;
}

export async function act(
  driven: Driven,
  { asked, cancelled }: Happened,
  step: Step,
): Promise<void> {
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

export const OPTIONS: fc.Arbitrary<Partial<AccordionOptions>> = fc.record({
  scheduler: fc.constantFrom("accordion", "accordion", "slo-conforming", "fastest", "bbs"),
  regrow: fc.boolean(),
  dropAfterSlos: fc.constantFrom(null, 1),
  maxDepth: fc.constantFrom(2, 4),
});
