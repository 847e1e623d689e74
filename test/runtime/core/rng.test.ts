import { describe, expect, it } from "vitest";
import { nextUint32, Rng } from "../../../runtime/core/rng.ts";

function draw(rng: Rng, count: number): number[] {
  return Array.from({ length: count }, () => rng.nextFloat());
}

describe("xoshiro128**", () => {
  it("gives the published outputs of version 1.1 from state 1, 2, 3, 4", () => {
    const state = Uint32Array.of(1, 2, 3, 4);
    const outputs = Array.from({ length: 6 }, () => nextUint32(state));
    expect(outputs).toEqual([11520, 0, 5927040, 70819200, 2031721883, 1637235492]);
  });
});

describe("Rng", () => {
  it("repeats itself for the same seed and stream", () => {
    expect(draw(new Rng(7, 1), 100)).toEqual(draw(new Rng(7, 1), 100));
  });

  it("differs between streams, and between seeds that share their low 32 bits", () => {
    const first = draw(new Rng(7, 1), 10);
    expect(draw(new Rng(7, 2), 10)).not.toEqual(first);
    expect(draw(new Rng(7 + 2 ** 32, 1), 10)).not.toEqual(first);
    expect(draw(new Rng(8, 1), 10)).not.toEqual(first);
  });

  it("is uniform on [0, 1): mean, variance and every tenth within 5 standard errors", () => {
    const count = 100_000;
    const floats = draw(new Rng(3, 0), count);
    const tenths = new Array<number>(10).fill(0);
    expect(floats.every((float) => float >= 0 && float < 1)).toBe(true);
    for (const float of floats) {
      const tenth = Math.floor(float * 10);
      tenths[tenth] = (tenths[tenth] ?? 0) + 1;
    }
    const mean = floats.reduce((sum, x) => sum + x, 0) / count;
    expect(Math.abs(mean - 0.5)).toBeLessThan(5 * Math.sqrt(1 / 12 / count));
    for (const hits of tenths) {
      expect(Math.abs(hits - count / 10)).toBeLessThan(5 * Math.sqrt(count * 0.1 * 0.9));
    }
  });

  it("gives uncorrelated streams of one seed", () => {
    const count = 50_000;
    const a = draw(new Rng(11, 1), count);
    const b = draw(new Rng(11, 2), count);
    const covariance =
      a.reduce((sum, x, i) => sum + (x - 0.5) * ((b[i] ?? Number.NaN) - 0.5), 0) / count;
    expect(Math.abs(covariance)).toBeLessThan(5 / 12 / Math.sqrt(count));
  });
});
