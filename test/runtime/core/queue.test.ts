import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DeadlineQueues } from "../../../runtime/core/queue.ts";

interface Waiting {
  query: number;
  deadlineMs: number;
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

  it("refuses an insertion into a full queue and a removal from an empty one", () => {
    const queues = new DeadlineQueues(1, 3);
    expect(() => queues.take(0)).toThrow("not empty");
    for (let query = 0; query < 3; query++) queues.insert(0, query, 10);
    expect(() => queues.insert(0, 3, 10)).toThrow("has room");
  });
});
