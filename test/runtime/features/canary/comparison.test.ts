/** Sequential tests that promote or roll back a canary: their error rates and delays. */
import { expect, test } from "vitest";
import { Rng } from "../../../../runtime/core/rng.ts";
import { BelowTest } from "../../../../runtime/features/canary/below-test.ts";
import { Comparison, MISTAKE } from "../../../../runtime/features/canary/comparison.ts";
import { casesOf } from "../../../support/cases.ts";

const TIME_MS = 600_000;
const OPTIONS = { tolerance: 0.005, timeMs: TIME_MS };

/** What becomes of a second's requests: how many of so many are violated. */
type Draw = (count: number, nowMs: number) => number;

interface Ended {
  /** Undefined where neither is told within the time. */
  readonly worseMs: number | undefined;
  readonly asGoodMs: number | undefined;
}

/** A second after the other; 5 of 100 requests are the canary's. */
function compared(stableDraw: Draw, canaryDraw: Draw, mostMs = TIME_MS): Ended {
  const stable = { kept: 0, violated: 0 };
  const canary = { kept: 0, violated: 0 };
  const comparison = new Comparison(OPTIONS, { stable: { ...stable }, canary: { ...canary } }, 0);
  let [worseMs, asGoodMs]: (number | undefined)[] = [];
  for (let nowMs = 1000; nowMs <= mostMs; nowMs += 1000) {
    for (const [arm, count, draw] of [
      [stable, 95, stableDraw],
      [canary, 5, canaryDraw],
    ] as const) {
      const violated = draw(count, nowMs);
      arm.violated += violated;
      arm.kept += count - violated;
    }
    comparison.look({ stable, canary }, nowMs);
    if (comparison.evidenceAgainst >= 1) worseMs ??= nowMs;
    if (comparison.evidenceFor >= 1) asGoodMs ??= nowMs;
  }
  return { worseMs, asGoodMs };
}

/** Each by itself. */
function independent(seed: number, stream: number, share: number): Draw {
  const rng = new Rng(seed, stream);
  return (count) => {
    let violated = 0;
    for (let one = 0; one < count; one++) if (rng.nextFloat() < share) violated++;
    return violated;
  };
}

/** In bursts of three seconds that hit all requests of an arm. */
function inBursts(seed: number, stream: number, share: number): Draw {
  const rng = new Rng(seed, stream);
  let left = 0;
  return (count) => {
    if (left === 0 && rng.nextFloat() < share / 3) left = 3;
    if (left === 0) return 0;
    left--;
    return count;
  };
}

/** The same seconds are bad for both arms, as those of a machine that stands still are. */
function together(seed: number, share: number): Draw {
  const bad = new Set<number>();
  const rng = new Rng(seed, 9);
  for (let nowMs = 1000; nowMs <= TIME_MS; nowMs += 1000) {
    if (rng.nextFloat() < share) bad.add(nowMs);
  }
  return (count, nowMs) => (bad.has(nowMs) ? count : 0);
}

const SEEDS = Array.from({ length: casesOf(1000, 25) }, (_, seed) => seed);
/** Of so many with a chance of one in a hundred each; more are drawn once in ten thousand. */
const MOST_MISTAKES = SEEDS.length === 1000 ? 23 : 4;

test.each([
  ["none is violated", () => 0, () => 0],
  ["1 %, each by itself", (s) => independent(s, 1, 0.01), (s) => independent(s, 2, 0.01)],
  ["20 %, each by itself", (s) => independent(s, 1, 0.2), (s) => independent(s, 2, 0.2)],
  ["0.4 % in bursts of its own", (s) => inBursts(s, 1, 0.004), (s) => inBursts(s, 2, 0.004)],
  ["5 % at the same time", (s) => together(s, 0.05), (s) => together(s, 0.05)],
] as [string, (seed: number) => Draw | 0, (seed: number) => Draw | 0][])(
  "a canary that is as good is rarely rolled back: %s",
  (_, stableOf, canaryOf) => {
    const drawOf = (draw: Draw | 0): Draw => (draw === 0 ? () => 0 : draw);
    const given = SEEDS.filter((seed) => {
      return compared(drawOf(stableOf(seed)), drawOf(canaryOf(seed))).worseMs !== undefined;
    });
    expect(given.length).toBeLessThanOrEqual(MOST_MISTAKES);
  },
);

test("a canary worse by twice the tolerance is rarely promoted", () => {
  const taken = SEEDS.filter((seed) => {
    const stable = independent(seed, 1, 0.01);
    return compared(stable, independent(seed, 2, 0.02)).asGoodMs !== undefined;
  });
  expect(taken.length).toBeLessThanOrEqual(MOST_MISTAKES);
});

test.each([
  [1, 20_000],
  [0.2, 30_000],
  [0.05, 120_000],
])("a canary with a failure rate of %d is rolled back within %d ms", (share, mostMs) => {
  for (const seed of SEEDS.slice(0, 50)) {
    const { worseMs } = compared(() => 0, independent(seed, 2, share));
    expect(worseMs).toBeLessThanOrEqual(mostMs);
  }
});

test("a canary that turns bad after a good hour is rolled back as soon", () => {
  const lateBad: Draw = (count, nowMs) => (nowMs > 3_600_000 ? count : 0);
  const { worseMs = 0 } = compared(() => 0, lateBad, 3_660_000);
  expect(worseMs - 3_600_000).toBeLessThanOrEqual(20_000);
});

test("an early disturbance of both bundles does not hide later failures of the canary", () => {
  const disturbed: Draw = (count, nowMs) => (nowMs <= 20_000 ? Math.ceil(count / 2) : 0);
  for (const seed of SEEDS.slice(0, 50)) {
    const fails = independent(seed, 2, 0.1);
    const own: Draw = (count, nowMs) => disturbed(count, nowMs) || fails(count, nowMs);
    expect(compared(disturbed, own).worseMs).toBeLessThanOrEqual(150_000);
  }
});

test("a canary without failures is accepted as soon as its number of requests allows", () => {
  // Each multiplies the boldest bet by 1 + 0.9 * 0.01 / 0.99, of which a fourth of 400 is needed.
  const needed = Math.log(4 / MISTAKE) / Math.log(1 + (0.9 * 0.01) / 0.99);
  const { asGoodMs = 0 } = compared(
    () => 0,
    () => 0,
  );
  expect(asGoodMs).toBeLessThanOrEqual(1000 * Math.ceil(needed / 5 / 5) * 5);
  expect(asGoodMs).toBeGreaterThan(60_000);
});

test("a bet against a true hypothesis gains nothing on average", () => {
  const means = [0.01, 0.1].map((share) => {
    const ends = Array.from({ length: 4000 }, (_, seed) => {
      const bet = new BelowTest();
      const rng = new Rng(seed, 3);
      for (let one = 0; one < 20; one++) {
        const isBad = rng.nextFloat() < share;
        bet.observe(isBad ? 0 : 1, isBad ? 1 : 0, share);
      }
      return bet.evidence;
    });
    return ends.reduce((sum, end) => sum + end, 0) / ends.length;
  });
  for (const mean of means) expect(Math.abs(mean - 1)).toBeLessThan(0.05);
});
