import fc from "fast-check";
import { expect, test } from "vitest";
import { TimedEvents } from "../../../../runtime/server/shadow-policy/timed-events.ts";

const TIME = fc.integer({ min: 0, max: 20 });

test("events come in the order of their times, of equal ones as they were added", () => {
  fc.assert(
    fc.property(fc.array(fc.option(TIME), { maxLength: 200 }), (steps) => {
      const events = new TimedEvents();
      let kept: { readonly atMs: number; readonly worker: number }[] = [];
      for (const [worker, atMs] of steps.entries()) {
        // Null takes one out.
        if (atMs === null) {
          const [first] = kept;
          expect(events.nextMs).toBe(first?.atMs ?? Number.POSITIVE_INFINITY);
          expect(events.take()?.worker).toBe(first?.worker);
          kept = kept.slice(1);
        } else {
          events.add({ atMs, kind: "done", worker, generation: 0 });
          kept = [...kept, { atMs, worker }].sort((one, other) => one.atMs - other.atMs);
        }
      }
      expect(kept.map(() => events.take()?.worker)).toEqual(kept.map(({ worker }) => worker));
      expect(events.take()).toBeUndefined();
    }),
  );
});
