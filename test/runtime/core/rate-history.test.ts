import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { RateHistory } from "../../../runtime/core/rate-history.ts";

const BUCKET_MS = 100;
const SECONDS = 60;

/** What counting all arrivals again gives: a part of a second begins with the first arrival. */
class NaiveHistory {
  readonly #sentMs: number[] = [];

  onArrival(nowMs: number): void {
    this.#sentMs.push(nowMs);
  }

  perBeat(nowMs: number): number[] {
    const end = this.#wholeParts(nowMs);
    return Array.from({ length: SECONDS }, (_, second) => {
      const to = end - 10 * (SECONDS - 1 - second);
      return to > 0 ? this.#count(to - 10, to) : Number.NaN;
    });
  }

  meanQps(seconds: number, nowMs: number): number {
    const end = this.#wholeParts(nowMs);
    const parts = Math.min(Math.round(10 * seconds), end);
    return (10 * this.#count(end - parts, end)) / parts;
  }

  #wholeParts(nowMs: number): number {
    return Math.floor((nowMs - (this.#sentMs[0] ?? Number.NaN)) / BUCKET_MS);
  }

  #count(from: number, to: number): number {
    const firstMs = this.#sentMs[0] ?? Number.NaN;
    return this.#sentMs.filter(
      (ms) => ms - firstMs >= BUCKET_MS * from && ms - firstMs < BUCKET_MS * to,
    ).length;
  }
}

describe("the history of arrivals", () => {
  test("is what counting them all again gives, at any look, after any silence", () => {
    const step = fc.record({
      gapMs: fc.oneof(
        fc.nat(250),
        fc.constantFrom(0, 100, 900, 1000),
        fc.integer({ min: 55_000, max: 130_000 }),
      ),
      isLook: fc.boolean(),
    });
    const steps = fc.array(step, { minLength: 1, maxLength: 80 });
    fc.assert(
      fc.property(fc.nat(100_000), steps, (startMs, all) => {
        const history = new RateHistory(1000);
        const naive = new NaiveHistory();
        let nowMs = startMs;
        history.onArrival(nowMs);
        naive.onArrival(nowMs);
        for (const { gapMs, isLook } of all) {
          nowMs += gapMs;
          if (!isLook) {
            history.onArrival(nowMs);
            naive.onArrival(nowMs);
            continue;
          }
          history.advance(nowMs);
          expect([...history.perBeat]).toEqual(naive.perBeat(nowMs));
          for (const seconds of [0.1, 0.5, 1, 7.3, 20, 60]) {
            expect(history.meanOver(seconds)).toBe(naive.meanQps(seconds, nowMs));
          }
        }
      }),
      { numRuns: 300 },
    );
  });

  test("knows nothing before the first arrival, nor before a tenth of a second is over", () => {
    const history = new RateHistory(1000);
    history.advance(5000);
    expect(history.perBeat.every(Number.isNaN)).toBe(true);
    expect(history.meanOver(1)).toBeNaN();
    history.onArrival(6000);
    history.advance(6099);
    expect(history.meanOver(1)).toBeNaN();
    expect(history.perBeat.every(Number.isNaN)).toBe(true);
    history.advance(6100);
    expect(history.meanOver(1)).toBe(10);
  });

  test("takes the mean over what is known, if that is less than was asked for", () => {
    const history = new RateHistory(1000);
    for (let n = 0; n < 30; n++) history.onArrival(1000 + 10 * n);
    history.advance(1300);
    expect(history.meanOver(20)).toBe(100);
    expect(history.perBeat.at(-1)).toBe(30);
    expect(history.perBeat.at(-2)).toBeNaN();
    history.advance(21_000);
    expect(history.meanOver(20)).toBe(1.5);
  });

  test("leaves out the tenth of a second that is not over", () => {
    const history = new RateHistory(1000);
    history.onArrival(0);
    for (let n = 0; n < 50; n++) history.onArrival(100 + n);
    history.advance(199);
    expect(history.meanOver(0.1)).toBe(10);
    history.advance(200);
    expect(history.meanOver(0.1)).toBe(500);
  });

  test("takes a sum of tenths for the whole that it should be", () => {
    const history = new RateHistory(1000);
    let nowMs = 0;
    // In binary, ten times 33.3 and so on come out below 333.
    const gapMs = 100 / 3;
    for (let n = 0; n < 300; n++) {
      history.onArrival(nowMs);
      nowMs += gapMs;
    }
    history.advance(nowMs);
    expect([...history.perBeat.slice(-10)]).toEqual(Array(10).fill(30));
  });

  test("forgets all at once after a silence as long as a day, and counts on", () => {
    const history = new RateHistory(1000);
    for (let n = 0; n < 1000; n++) history.onArrival(n);
    const later = 24 * 3_600_000;
    history.onArrival(later);
    history.advance(later + 100);
    expect(history.meanOver(60)).toBe(1 / 60);
    expect([...history.perBeat]).toEqual([...Array(59).fill(0), 1]);
  });
});
