import fc from "fast-check";
import { expect, test } from "vitest";
import { LinkedQueues } from "../../../../runtime/core/graph/linked-queues.ts";

test("queues do what lists do", () => {
  const step = fc.record({
    kind: fc.constantFrom("append", "append", "take", "remove"),
    queue: fc.nat(2),
    query: fc.nat(15),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const queues = new LinkedQueues(3, 16);
      const lists: number[][] = [[], [], []];
      for (const { kind, queue, query } of steps) {
        const list = lists[queue] ?? [];
        const holder = lists.find((one) => one.includes(query));
        if (kind === "append" && holder === undefined) {
          queues.append(queue, query);
          list.push(query);
        } else if (kind === "take" && list.length > 0) {
          expect(queues.take(queue)).toBe(list.shift());
        } else if (kind === "remove") {
          expect(queues.remove(query)).toBe(holder !== undefined);
          holder?.splice(holder.indexOf(query), 1);
        }
        for (const [at, one] of lists.entries()) {
          expect(queues.length(at)).toBe(one.length);
          expect(queues.first(at)).toBe(one[0] ?? -1);
        }
        expect(queues.waiting).toBe(lists.flat().length);
      }
    }),
  );
});

test("a query that waits cannot wait again, and an empty queue gives none", () => {
  const queues = new LinkedQueues(2, 4);
  queues.append(0, 3);
  expect(() => queues.append(1, 3)).toThrow("a query waits once");
  expect(() => queues.take(1)).toThrow("the queue is not empty");
});
