/** Times in which processors work slowly: their share, and what they make of queues. */
import { describe, expect, test } from "vitest";
import { type SlowSpells, SlowTimes } from "../../../../compiler/simulate/serving/slow-times.ts";
import { Rng } from "../../../../runtime/core/rng.ts";

const SLOW: SlowSpells = { share: 0.3, factor: 1.6, spellMs: 200 };

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
  test("gets less done in the share of the time that is slow", () => {
    expect(10 / meanOf(tookMs(SLOW, 10))).toBeCloseTo(0.7 + 0.3 / 1.6, 2);
  });

  test("takes one of two times, unless the pace changes meanwhile", () => {
    const took = tookMs(SLOW, 1);
    const fast = took.filter((ms) => Math.abs(ms - 1) < 1e-9).length;
    const slow = took.filter((ms) => Math.abs(ms - 1.6) < 1e-9).length;
    expect((fast + slow) / took.length).toBeGreaterThan(0.98);
    const slowMs = slow * 1.6;
    expect(slowMs / (slowMs + fast)).toBeCloseTo(0.3, 1);
  });

  test("is slow for as long as spells last", () => {
    const took = tookMs(SLOW, 1);
    const isSlow = took.map((ms) => ms > 1.5);
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
