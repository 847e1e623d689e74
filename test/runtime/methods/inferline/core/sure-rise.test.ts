import { describe, expect, test } from "vitest";
import { Rng } from "../../../../../runtime/core/rng.ts";
import { sureRise } from "../../../../../runtime/methods/inferline/core/sure-rise.ts";

/** Of the last 60 s, the newest last. */
function secondsOf(qpsAgo: (secondsAgo: number) => number): Float64Array {
  return Float64Array.from({ length: 60 }, (_, at) => qpsAgo(59 - at));
}

/** Six beats from now. */
function riseOf(qpsAgo: (secondsAgo: number) => number): number {
  return sureRise(secondsOf(qpsAgo), 6, 1);
}

/** A Poisson count. */
function drawn(rng: Rng, mean: number): number {
  let count = -1;
  for (let sum = 0; sum < mean; count++) sum -= Math.log(1 - rng.nextFloat());
  return count;
}

describe("a rise that is sure", () => {
  test("goes on: so many beats from now it has risen as many times more", () => {
    const ramp = secondsOf((ago) => 1000 - 10 * ago);
    const [now, then] = [sureRise(ramp, 0, 1), sureRise(ramp, 6, 1)];
    expect(now).toBeGreaterThan(970);
    expect(now).toBeLessThan(1000);
    // 10 a beat, less what may be chance.
    expect(then - now).toBeGreaterThan(6 * 7);
    expect(then - now).toBeLessThan(6 * 10);
    expect(sureRise(ramp, 6, 9)).toBeLessThan(then);
  });

  test("is none in traffic that falls, or stays, or is over, or is not known", () => {
    expect(riseOf((ago) => 100 + 5 * ago)).toBe(0);
    expect(riseOf(() => 100)).toBe(0);
    expect(riseOf(() => 0)).toBe(0);
    // A leap that is longer ago than half of what is looked at.
    expect(riseOf((ago) => (ago > 11 ? 60 : 180))).toBe(0);
    expect(riseOf((ago) => (ago < 19 ? 10 * (19 - ago) : Number.NaN))).toBe(0);
  });

  test("hardly ever is one by chance", () => {
    const rng = new Rng(3, 1);
    let risen = 0;
    for (let look = 0; look < 2000; look++) {
      if (riseOf(() => drawn(rng, 60)) > 0) risen++;
    }
    // Beyond 2.5 deviations to one side lie 0.6 %.
    expect(risen).toBeLessThan(30);
  });
});
