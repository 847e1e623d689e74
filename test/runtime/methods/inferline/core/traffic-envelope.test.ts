import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { TrailingEnvelope } from "../../../../../runtime/methods/inferline/core/traffic-envelope.ts";

/** The same by its definition: every arrival of the last 60 s begins a window. */
function bruteForce(arrivals: readonly number[], nowMs: number, windowMs: number): number {
  const kept = arrivals.filter((ms) => nowMs - ms <= 60_000);
  return Math.max(
    0,
    ...kept.map((start) => kept.filter((ms) => ms >= start && ms - start <= windowMs).length),
  );
}

/**
 * Gaps between events of which some are no arrivals: bursts of equal times, whole windows, pauses
 * longer than the horizon.
 */
const gapMs = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(0, 0, 1, 50, 100, 100.5, 1000) },
  { weight: 3, arbitrary: fc.double({ min: 0, max: 300, noNaN: true }) },
  { weight: 1, arbitrary: fc.constantFrom(20_000, 59_000, 60_000, 60_001, 200_000) },
);
const events = fc.array(fc.tuple(gapMs, fc.boolean()), { maxLength: 120 });
const lengths = fc.constantFrom([100, 200, 60_000], [0.5, 37.7, 1000, 60_000], [60_000]);

describe("TrailingEnvelope", () => {
  it("has the fullest window of every length after any arrivals and pauses", () => {
    fc.assert(
      fc.property(events, lengths, (steps, windowMs) => {
        const envelope = new TrailingEnvelope(Float64Array.from(windowMs), 60_000);
        const arrivals: number[] = [];
        let nowMs = 0;
        for (const [gap, isArrival] of steps) {
          nowMs += gap;
          if (isArrival) {
            arrivals.push(nowMs);
            envelope.record(nowMs);
          } else envelope.advance(nowMs);
          const expected = windowMs.map((length) => bruteForce(arrivals, nowMs, length));
          expect([...envelope.maxima]).toEqual(expected);
        }
      }),
      { numRuns: 200 },
    );
  });

  it("counts both ends of a window", () => {
    const envelope = new TrailingEnvelope(Float64Array.of(100), 60_000);
    for (const ms of [0, 100, 200, 200]) envelope.record(ms);
    expect([...envelope.maxima]).toEqual([3]);
  });

  it("keeps an arrival for exactly 60 s, though no other comes", () => {
    const envelope = new TrailingEnvelope(Float64Array.of(1000, 60_000), 60_000);
    envelope.record(500);
    envelope.advance(60_500);
    expect([...envelope.maxima]).toEqual([1, 1]);
    envelope.advance(60_500.001);
    expect([...envelope.maxima]).toEqual([0, 0]);
  });

  it("forgets a burst when its first arrival is more than 60 s ago, one by one", () => {
    const envelope = new TrailingEnvelope(Float64Array.of(100), 60_000);
    for (const ms of [0, 10, 20, 30]) envelope.record(ms);
    envelope.advance(60_005);
    expect([...envelope.maxima]).toEqual([3]);
    envelope.record(60_025);
    expect([...envelope.maxima]).toEqual([1]);
  });

  it("counts what it remembers again in windows of other lengths, and goes on", () => {
    fc.assert(
      fc.property(events, lengths, lengths, (steps, before, after) => {
        const changed = new TrailingEnvelope(Float64Array.from(before), 60_000);
        const unchanged = new TrailingEnvelope(Float64Array.from(after), 60_000);
        let nowMs = 0;
        for (const [index, [gap, isArrival]] of steps.entries()) {
          nowMs += gap;
          for (const envelope of [changed, unchanged]) {
            if (isArrival) envelope.record(nowMs);
            else envelope.advance(nowMs);
          }
          if (index === steps.length >> 1) changed.setWindows(Float64Array.from(after));
          if (index < steps.length >> 1) continue;
          expect([...changed.windowMs]).toEqual(after);
          expect([...changed.maxima]).toEqual([...unchanged.maxima]);
        }
      }),
      { numRuns: 100 },
    );
  });

  it("remembers the arrivals of a minute that it has room for, the newest", () => {
    const envelope = new TrailingEnvelope(Float64Array.of(1, 60_000), 60_000);
    const most = 2 ** 20;
    for (let index = 0; index < most; index++) envelope.record(index / 100);
    expect([...envelope.maxima]).toEqual([101, most]);
    for (let index = 0; index < 10; index++) envelope.record(most / 100);
    expect(envelope.maxima[1]).toBe(most);
    expect(envelope.maxima[0]).toBe(110);
  });

  it("refuses windows longer than its horizon", () => {
    expect(() => new TrailingEnvelope(Float64Array.of(60_001), 60_000)).toThrow(
      "within the horizon",
    );
  });
});
