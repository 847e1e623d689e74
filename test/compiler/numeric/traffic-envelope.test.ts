import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  envelopeOf,
  peakRate,
  slidingPeakRate,
  windowLengths,
} from "../../../compiler/numeric/traffic-envelope.ts";

const arrivals = fc
  .array(
    fc.oneof(
      fc.constantFrom(0, 0, 10, 100, 250),
      fc.double({ min: 0, max: 500, noNaN: true }),
      fc.constant(70_000),
    ),
    { maxLength: 80 },
  )
  .map((gaps) => {
    let nowMs = 0;
    return Float64Array.from(gaps, (gap) => {
      nowMs += gap;
      return nowMs;
    });
  });

describe("envelopeOf", () => {
  it("is the fullest of the windows that begin at an arrival", () => {
    fc.assert(
      fc.property(arrivals, (arrivalMs) => {
        const windowMs = Float64Array.of(0.5, 100, 260, 60_000);
        const expected = Array.from(windowMs, (length) =>
          Math.max(
            0,
            ...Array.from(
              arrivalMs,
              (start) => arrivalMs.filter((ms) => ms >= start && ms - start <= length).length,
            ),
          ),
        );
        expect([...envelopeOf(arrivalMs, windowMs)]).toEqual(expected);
      }),
    );
  });

  it("counts both ends of a window, and arrivals of one time each", () => {
    const arrivalMs = Float64Array.of(0, 100, 100, 100, 200, 201);
    expect([...envelopeOf(arrivalMs, Float64Array.of(1, 100, 200))]).toEqual([3, 4, 5]);
  });
});

describe("windowLengths", () => {
  it("doubles the service time below 60 s and ends with 60 s", () => {
    expect([...windowLengths(5000, 60_000)]).toEqual([5000, 10_000, 20_000, 40_000, 60_000]);
    expect([...windowLengths(30_000, 60_000)]).toEqual([30_000, 60_000]);
    expect([...windowLengths(60_000, 60_000)]).toEqual([60_000]);
    expect([...windowLengths(90_000, 60_000)]).toEqual([60_000]);
    expect(windowLengths(0.1, 60_000)[0]).toBe(0.1);
  });

  it("refuses a service time that is not above 0", () => {
    expect(() => windowLengths(0, 1)).toThrow(RangeError);
    expect(() => windowLengths(Number.NaN, 1)).toThrow(RangeError);
  });
});

describe("rates of windows", () => {
  it("takes the fullest of the windows that follow each other", () => {
    const arrivalMs = Float64Array.of(0, 4999, 5000, 9000, 9999.9, 14_000);
    expect(peakRate(arrivalMs, 5000, 15_000)).toBe(3 / 5);
  });

  it("leaves out a last window that the duration cuts short", () => {
    const arrivalMs = Float64Array.of(1, 5001, 5002, 5003);
    expect(peakRate(arrivalMs, 5000, 9000)).toBe(1 / 5);
    expect(peakRate(arrivalMs, 5000, 10_000)).toBe(3 / 5);
  });

  it("is the rate of the whole where that is shorter than a window", () => {
    expect(peakRate(Float64Array.of(1, 2, 3), 5000, 2000)).toBe(1.5);
    expect(peakRate(new Float64Array(0), 5000, 20_000)).toBe(0);
  });

  it("takes the fullest of all windows where they slide", () => {
    const arrivalMs = Float64Array.of(0, 140, 160, 290, 1000);
    expect(slidingPeakRate(arrivalMs, 150)).toBe(20);
  });
});
