import fc from "fast-check";
import { expect, test } from "vitest";
import { QueryQueues } from "../../../../../runtime/methods/loki/core/query-queues.ts";

const QUERIES = 20;

test("gives out the earliest deadline first, then who came first, past removals", () => {
  const operation = fc.oneof(
    fc.record({
      kind: fc.constant("insert" as const),
      query: fc.nat(QUERIES - 1),
      queue: fc.nat(1),
      deadlineMs: fc.nat(5),
    }),
    fc.record({ kind: fc.constant("remove" as const), query: fc.nat(QUERIES - 1) }),
    fc.record({ kind: fc.constant("take" as const), queue: fc.nat(1) }),
  );
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 100 }), (operations) => {
      const deadlineMs = new Float64Array(QUERIES);
      const queues = new QueryQueues(2, deadlineMs);
      const model: { query: number; deadlineMs: number }[][] = [[], []];
      for (const step of operations) {
        if (step.kind === "insert") {
          if (model.flat().some(({ query }) => query === step.query)) continue;
          deadlineMs[step.query] = step.deadlineMs;
          queues.insert(step.queue, step.query);
          model[step.queue]?.push(step);
          model[step.queue]?.sort((a, b) => a.deadlineMs - b.deadlineMs);
        } else if (step.kind === "remove") {
          const waits = model.flat().some(({ query }) => query === step.query);
          expect(queues.remove(step.query)).toBe(waits);
          for (const queue of [0, 1]) {
            model[queue] = (model[queue] ?? []).filter(({ query }) => query !== step.query);
          }
        } else if (queues.length(step.queue) > 0) {
          expect(queues.take(step.queue)).toBe(model[step.queue]?.shift()?.query);
        }
        expect([queues.length(0), queues.length(1)]).toEqual(model.map(({ length }) => length));
        expect(queues.waiting).toBe(model.flat().length);
        for (const queue of [0, 1]) {
          expect(queues.first(queue)).toBe(model[queue]?.[0]?.query ?? -1);
        }
      }
    }),
  );
});
