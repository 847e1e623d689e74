import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { EventQueue } from "../../../compiler/simulate/event-queue.ts";

describe("EventQueue", () => {
  it("gives events by time, and at equal times in the order they were inserted", () => {
    const workers = 12;
    const steps = fc.array(fc.option(fc.nat(4), { freq: 2 }), { maxLength: 100 });
    fc.assert(
      fc.property(steps, (timesMs) => {
        const queue = new EventQueue(workers);
        const idle = Array.from({ length: workers }, (_, worker) => worker);
        const expected: { timeMs: number; worker: number }[] = [];
        for (const timeMs of [...timesMs, ...new Array<null>(workers).fill(null)]) {
          const worker = timeMs === null ? undefined : idle.shift();
          if (timeMs !== null && worker !== undefined) {
            queue.push(timeMs, worker);
            expected.push({ timeMs, worker });
            expected.sort((a, b) => a.timeMs - b.timeMs);
          } else if (expected.length > 0) {
            const first = expected.shift();
            expect(queue.nextMs()).toBe(first?.timeMs);
            expect(queue.pop()).toBe(first?.worker);
            idle.push(first?.worker ?? Number.NaN);
          }
          expect(queue.length).toBe(expected.length);
        }
      }),
    );
  });

  it("has no next event when it is empty", () => {
    expect(new EventQueue(1).nextMs()).toBe(Number.POSITIVE_INFINITY);
  });
});
