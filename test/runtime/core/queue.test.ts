import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CommandBuffer } from "../../../runtime/core/command-buffer.ts";
import { DeadlineQueues } from "../../../runtime/core/queue.ts";
import { ANY_VARIANT, sameVariant } from "../../../runtime/core/wanted-variant.ts";

interface Waiting {
  query: number;
  deadlineMs: number;
}

interface Wanting extends Waiting {
  wanted: number;
}

/** Takes queries one by one, each time the first that may be taken. @returns them. */
function takeNaively(
  lists: Wanting[][],
  queue: number,
  variant: number,
  isOpen: boolean,
  most: number,
): number[] {
  const list = lists[queue] ?? [];
  const taken: number[] = [];
  while (taken.length < most) {
    const index = list.findIndex(({ wanted }) => wanted === variant || (isOpen && wanted > 1));
    const [first] = index < 0 ? [] : list.splice(index, 1);
    if (first === undefined) break;
    taken.push(first.query);
    if (first.wanted === ANY_VARIANT) continue;
    for (const each of lists.flat()) if (each.wanted === first.wanted) each.wanted = variant;
  }
  return taken;
}

/** An insertion with a deadline, or a removal. */
const step = fc.record({ queue: fc.nat(2), deadlineMs: fc.option(fc.nat(5)) });

describe("DeadlineQueues", () => {
  it("agrees with stably sorted lists, queue by queue", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 7 }),
        fc.array(step, { maxLength: 200 }),
        (capacity, steps) => {
          const queues = new DeadlineQueues(3, capacity);
          const lists: Waiting[][] = [[], [], []];
          for (const [query, { queue, deadlineMs }] of steps.entries()) {
            const list = lists[queue] ?? [];
            if (deadlineMs !== null && list.length < capacity) {
              queues.insert(queue, query, deadlineMs);
              list.push({ query, deadlineMs });
              list.sort((a, b) => a.deadlineMs - b.deadlineMs);
            } else if (deadlineMs === null && list.length > 0) {
              expect(queues.earliestDeadlineMs(queue)).toBe(list[0]?.deadlineMs);
              expect(queues.take(queue)).toBe(list.shift()?.query);
            }
            expect(queues.length(queue)).toBe(list.length);
          }
        },
      ),
    );
  });

  it("takes for a variant the first that it may answer, and leaves the others in order", () => {
    const wants = fc.constantFrom(ANY_VARIANT, 0, 1, sameVariant(1), sameVariant(2));
    const act = fc.oneof(
      fc.record({ kind: fc.constant("insert"), queue: fc.nat(1), wanted: wants, n: fc.nat(5) }),
      fc.record({
        kind: fc.constantFrom("take", "open", "named", "remove"),
        queue: fc.nat(1),
        wanted: fc.constantFrom(0, 1),
        n: fc.integer({ min: 1, max: 5 }),
      }),
    );
    fc.assert(
      fc.property(fc.array(act, { maxLength: 200 }), (acts) => {
        const queues = new DeadlineQueues(2, 6);
        const lists: Wanting[][] = [[], []];
        const out = new CommandBuffer(1, 6);
        for (const [query, { kind, queue, wanted, n }] of acts.entries()) {
          const list = lists[queue] ?? [];
          if (kind === "insert" && list.length < 6) {
            queues.insert(queue, query, n, wanted);
            list.push({ query, deadlineMs: n, wanted });
            list.sort((a, b) => a.deadlineMs - b.deadlineMs);
          } else if (kind === "take" && list.length > 0) {
            expect(queues.take(queue)).toBe(list.shift()?.query);
          } else if (kind === "remove" && list.length > 0) {
            const [removed] = list.splice(n % list.length, 1);
            expect(queues.remove(removed?.query ?? -1)).toBe(true);
          } else if (kind === "open" || kind === "named") {
            const expected = takeNaively(lists, queue, wanted, kind === "open", n);
            out.clear();
            out.startBatch(0, wanted, 0);
            expect(queues.takeFor(queue, wanted, kind === "open", n, out)).toBe(expected.length);
            const taken = expected.map((_, position) => out.query(0, position));
            expect(taken).toEqual(expected);
          }
          for (const [index, waiting] of lists.entries()) {
            expect(waiting.map((_, position) => queues.wanted(index, position))).toEqual(
              waiting.map((each) => each.wanted),
            );
            expect(queues.length(index)).toBe(waiting.length);
            expect(queues.isChoosy(index)).toBe(waiting.some((e) => e.wanted !== ANY_VARIANT));
            expect(queues.firstNamed(index)).toBe(waiting.findIndex((each) => each.wanted < 2));
            const named = waiting.filter((each) => each.wanted === 1);
            expect(queues.namedCount(index, 1)).toBe(named.length);
          }
        }
      }),
    );
  });

  it("refuses an insertion into a full queue and a removal from an empty one", () => {
    const queues = new DeadlineQueues(1, 3);
    expect(() => queues.take(0)).toThrow("not empty");
    for (let query = 0; query < 3; query++) queues.insert(0, query, 10);
    expect(() => queues.insert(0, 3, 10)).toThrow("has room");
  });
});
