import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { RateHistory } from "../../../runtime/core/rate-history.ts";

const BEAT_MS = 1000;
/** Parts of a beat that are counted. */
const PARTS = 40;
const PART_MS = BEAT_MS / PARTS;
const BEATS = 60;

/** What counting all arrivals again gives: the first part begins with the first arrival. */
class NaiveHistory {
  readonly #sentMs: number[] = [];

  onArrival(nowMs: number): void {
    this.#sentMs.push(nowMs);
  }

  perBeat(nowMs: number): number[] {
    const end = this.#wholeParts(nowMs);
    return Array.from({ length: BEATS }, (_, beat) => {
      const to = end - PARTS * (BEATS - 1 - beat);
      return to > 0 ? this.#count(to - PARTS, to) : Number.NaN;
    });
  }

  meanOver(beats: number, nowMs: number): number {
    const end = this.#wholeParts(nowMs);
    const parts = Math.min(Math.round(PARTS * beats), end);
    return (PARTS * this.#count(end - parts, end)) / parts;
  }

  #wholeParts(nowMs: number): number {
    return Math.floor((nowMs - (this.#sentMs[0] ?? Number.NaN)) / PART_MS);
  }

  #count(from: number, to: number): number {
    const firstMs = this.#sentMs[0] ?? Number.NaN;
    return this.#sentMs.filter(
      (ms) => ms - firstMs >= PART_MS * from && ms - firstMs < PART_MS * to,
    ).length;
  }
}

describe("the history of arrivals", () => {
  test("is what counting them all again gives, at any look, after any silence", () => {
    const step = fc.record({
      gapMs: fc.oneof(
        fc.nat(250),
        fc.constantFrom(0, 25, 100, 975, 1000),
        fc.integer({ min: 55_000, max: 130_000 }),
      ),
      isLook: fc.boolean(),
    });
    const steps = fc.array(step, { minLength: 1, maxLength: 80 });
    fc.assert(
      fc.property(fc.nat(100_000), steps, (startMs, all) => {
        const history = new RateHistory(BEAT_MS);
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
          for (const beats of [0.025, 0.1, 0.5, 1, 7.3, 20, 60]) {
            expect(history.meanOver(beats)).toBe(naive.meanOver(beats, nowMs));
          }
        }
      }),
      { numRuns: 300 },
    );
  });

  test("knows nothing before the first arrival, nor before a fortieth of a beat is over", () => {
    const history = new RateHistory(BEAT_MS);
    history.advance(5000);
    expect(history.perBeat.every(Number.isNaN)).toBe(true);
    expect(history.meanOver(1)).toBeNaN();
    history.onArrival(6000);
    history.advance(6024);
    expect(history.meanOver(1)).toBeNaN();
    expect(history.perBeat.every(Number.isNaN)).toBe(true);
    history.advance(6025);
    expect(history.meanOver(1)).toBe(40);
  });

  test("takes the mean over what is known, if that is less than was asked for", () => {
    const history = new RateHistory(BEAT_MS);
    for (let n = 0; n < 30; n++) history.onArrival(1000 + 10 * n);
    history.advance(1300);
    expect(history.meanOver(20)).toBe(100);
    expect(history.perBeat.at(-1)).toBe(30);
    expect(history.perBeat.at(-2)).toBeNaN();
    history.advance(21_000);
    expect(history.meanOver(20)).toBe(1.5);
  });

  test("leaves out the fortieth of a beat that is not over", () => {
    const history = new RateHistory(BEAT_MS);
    history.onArrival(0);
    for (let n = 0; n < 20; n++) history.onArrival(25 + n);
    history.advance(49);
    expect(history.meanOver(0.025)).toBe(40);
    history.advance(50);
    expect(history.meanOver(0.025)).toBe(800);
  });

  test("takes a sum of gaps for the whole that it should be", () => {
    const history = new RateHistory(BEAT_MS);
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
    const history = new RateHistory(BEAT_MS);
    for (let n = 0; n < 1000; n++) history.onArrival(n);
    const later = 24 * 3_600_000;
    history.onArrival(later);
    history.advance(later + 100);
    expect(history.meanOver(60)).toBe(1 / 60);
    expect([...history.perBeat]).toEqual([...Array(59).fill(0), 1]);
  });
});
