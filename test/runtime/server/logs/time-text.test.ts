/** Times of logs: by a monotonic clock, and as the wall clock is. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { timeText, wallOffset } from "../../../../runtime/server/logs/time-text.ts";

const EPOCH_MS = Date.UTC(2026, 0, 1);

test("times follow every step of the wall clock within a millisecond", () => {
  const step = fc.record({
    passMs: fc.double({ min: 0, max: 5000, noNaN: true }),
    stepMs: fc.constantFrom(0, 0, 0, 1.5, -1.5, 3_600_000, -3_600_000, 86_400_000),
    readMs: fc.double({ min: 0, max: 3, noNaN: true }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 50 }), (steps) => {
      let [nowMs, offsetMs, readingMs] = [1000, EPOCH_MS, 0];
      const offset = wallOffset(
        () => nowMs,
        () => {
          nowMs += readingMs;
          return Math.floor(nowMs + offsetMs);
        },
        EPOCH_MS,
      );
      for (const { passMs, stepMs, readMs } of steps) {
        nowMs += passMs;
        offsetMs += stepMs;
        const before = offset();
        readingMs = readMs;
        // A slow reading of the clocks is no step.
        expect(Math.abs(offset() - before)).toBeLessThanOrEqual(1.001);
        readingMs = 0;
        expect(Math.abs(offset() - offsetMs)).toBeLessThanOrEqual(1.001);
      }
    }),
  );
});

test("times between steps differ as the monotonic clock does", () => {
  let nowMs = 1000;
  const offset = wallOffset(
    () => nowMs,
    () => Math.floor(nowMs + EPOCH_MS),
    EPOCH_MS,
  );
  const times = [0, 0.0015, 0.9005, 1.1005].map((passMs) => {
    nowMs = 2000 + passMs;
    return timeText(offset() + nowMs);
  });
  expect(times.map((one) => one.slice(17))).toEqual([
    ...["02.000000Z", "02.000001Z", "02.000900Z", "02.001100Z"],
  ]);
});
