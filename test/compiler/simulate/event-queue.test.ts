import fc from "fast-check";
import { expect, test } from "vitest";
import { EventQueue } from "../../../compiler/simulate/event-queue.ts";

test("events come by time, then rank, then order; cancelled ones do not", () => {
  const step = fc.record({
    kind: fc.constantFrom("push", "push", "push", "pop", "cancel"),
    worker: fc.nat(11),
    timeMs: fc.nat(3),
    rank: fc.nat(2),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 150 }), (steps) => {
      const events = new EventQueue(12);
      let twin: { worker: number; timeMs: number; rank: number }[] = [];
      for (const { kind, ...one } of steps) {
        const isThere = twin.some(({ worker }) => worker === one.worker);
        if (kind === "push" && !isThere) {
          events.push(one.timeMs, one.worker, one.rank);
          twin.push(one);
          // Stable, so equals stay in the order in which they were put in.
          twin.sort((a, b) => a.timeMs - b.timeMs || a.rank - b.rank);
        } else if (kind === "pop" && twin.length > 0) {
          expect(events.pop()).toBe(twin.shift()?.worker);
        } else if (kind === "cancel") {
          events.cancel(one.worker);
          twin = twin.filter(({ worker }) => worker !== one.worker);
        }
        expect(events.length).toBe(twin.length);
        expect(events.nextMs).toBe(twin[0]?.timeMs ?? Number.POSITIVE_INFINITY);
      }
    }),
  );
});

test("a worker has one event at most", () => {
  const events = new EventQueue(2);
  events.push(1, 1);
  expect(() => events.push(2, 1)).toThrow("a worker has at most one event");
  events.pop();
  expect(() => events.pop()).toThrow("not empty");
});
