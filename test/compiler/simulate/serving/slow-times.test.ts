/** Times in which processors work slowly: their share, and what they make of queues. */
import { describe, expect, test } from "vitest";
import { SlowTimes } from "../../../../compiler/simulate/serving/slow-times.ts";
import type { SlowSpells } from "../../../../runtime/bundle/schema.ts";
import { Rng } from "../../../../runtime/core/rng.ts";

/** Over work without a rest, as in a profile, the mean is 1. */
const FAST = 0.7 + 0.3 / 1.6;
const SLOW: SlowSpells = { share: 0.3, factor: 1.6, spellMs: 200, fast: FAST };

function tookMs(slow: SlowSpells, eachMs: number) {
  const times = new SlowTimes(slow, new Rng(1, 0));
  const took: number[] = [];
  for (let nowMs = 0; nowMs < 4e6; nowMs += took.at(-1) ?? 0)
    took.push(times.takesMs(nowMs, eachMs));
  return took;
}

const meanOf = (values: readonly number[]) =>
  values.reduce((sum, one) => sum + one) / values.length;

describe("work on a processor that is slow now and then", () => {
  test("takes over a long time what the profile says, which was as slow", () => {
    expect(meanOf(tookMs(SLOW, 10)) / 10).toBeCloseTo(1, 2);
  });

  test("takes one of two times, unless the pace changes meanwhile", () => {
    const took = tookMs(SLOW, 1);
    const fast = took.filter((ms) => Math.abs(ms - FAST) < 1e-9).length;
    const slow = took.filter((ms) => Math.abs(ms - 1.6 * FAST) < 1e-9).length;
    expect((fast + slow) / took.length).toBeGreaterThan(0.98);
    const slowMs = slow * 1.6 * FAST;
    expect(slowMs / (slowMs + fast * FAST)).toBeCloseTo(0.3, 1);
  });

  test("is slow for as long as spells last", () => {
    const took = tookMs(SLOW, 1);
    const isSlow = took.map((ms) => ms > 1.5 * FAST);
    const spells = isSlow.filter((is, index) => is && isSlow[index - 1] !== true).length;
    const slowMs = took.filter((_, index) => isSlow[index]).reduce((sum, one) => sum + one, 0);
    expect(slowMs / spells / SLOW.spellMs).toBeCloseTo(1, 0);
  });

  test("is drawn anew after a long rest, in no time", () => {
    const times = new SlowTimes(SLOW, new Rng(2, 0));
    const slow = Array.from({ length: 2000 }, (_, day) => times.takesMs(86_400_000 * day, 1) > 1);
    expect(slow.filter(Boolean).length / slow.length).toBeCloseTo(0.3, 1);
  });

  test("is the same with the same seed", () => {
    expect(tookMs(SLOW, 50)).toEqual(tookMs(SLOW, 50));
  });
});
