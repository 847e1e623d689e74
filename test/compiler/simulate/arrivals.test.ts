import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { ArrivalFeed } from "../../../compiler/simulate/arrival-feed.ts";
import { type ArrivalProcess, arrivalSource } from "../../../compiler/simulate/arrivals.ts";
import { Rng } from "../../../runtime/core/rng.ts";

/** All arrivals before `endMs`. */
function arrivalsBefore(endMs: number, process: ArrivalProcess, seed = 1): number[] {
  const feed = new ArrivalFeed(arrivalSource(process, new Rng(seed, 0)), endMs);
  const arrivalsMs: number[] = [];
  for (; feed.nextMs < Number.POSITIVE_INFINITY; feed.advance()) arrivalsMs.push(feed.nextMs);
  return arrivalsMs;
}

function gapsOf(arrivalsMs: readonly number[]): number[] {
  return arrivalsMs.map((arrivalMs, i) => arrivalMs - (arrivalsMs[i - 1] ?? 0));
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function isAscending(values: readonly number[]): boolean {
  return values.every((value, i) => value >= (values[i - 1] ?? 0));
}

describe("arrivalSource", () => {
  it.each([
    { name: "poisson", cv2: 1, process: { kind: "poisson", qps: 200 } },
    { name: "gamma, bursty", cv2: 4, process: { kind: "gamma", qps: 200, cv2: 4 } },
    { name: "gamma, regular", cv2: 0.25, process: { kind: "gamma", qps: 200, cv2: 0.25 } },
  ] as const)(
    "$name: gaps have the mean and the squared coefficient of variation asked for",
    ({ cv2, process }) => {
      const gapsMs = gapsOf(arrivalsBefore(1_000_000, process));
      const meanMs = mean(gapsMs);
      const varianceMs2 = mean(gapsMs.map((gapMs) => (gapMs - meanMs) ** 2));
      // Standard errors of a sample mean and variance; a gamma has excess kurtosis 6 cv2.
      const meanError = Math.sqrt(cv2 / gapsMs.length);
      const varianceError = Math.sqrt((2 + 6 * cv2) / gapsMs.length);
      expect(Math.abs(meanMs / 5 - 1)).toBeLessThan(5 * meanError);
      expect(Math.abs(varianceMs2 / (cv2 * 25) - 1)).toBeLessThan(5 * varianceError);
    },
  );

  it.each([
    {
      name: "bursty",
      cv2: 4,
      sha256: "cf5ba8a1a5560aefd1d0d183df197a0258749a23c719ce25fc68af266addb15c",
    },
    {
      name: "regular",
      cv2: 0.25,
      sha256: "564b9390c421e79de234abed654876fda563af38f1da12c16fdb58a132beb977",
    },
  ])("gamma, $name: the same to the last bit on every Node", ({ cv2, sha256 }) => {
    const arrivalsMs = new Float64Array(100_000);
    arrivalSource({ kind: "gamma", qps: 200, cv2 }, new Rng(1, 0)).fill(arrivalsMs);
    expect(createHash("sha256").update(arrivalsMs).digest("hex")).toBe(sha256);
  });

  it("poisson: counts in disjoint windows have a variance equal to their mean", () => {
    const counts = new Array<number>(10_000).fill(0);
    for (const arrivalMs of arrivalsBefore(1_000_000, { kind: "poisson", qps: 200 })) {
      const window = Math.floor(arrivalMs / 100);
      counts[window] = (counts[window] ?? 0) + 1;
    }
    const meanCount = mean(counts);
    const variance = mean(counts.map((count) => (count - meanCount) ** 2));
    expect(Math.abs(variance / meanCount - 1)).toBeLessThan(5 * Math.sqrt(2 / counts.length));
  });

  it("a trace of rates: every piece has its own rate, and a rate of 0 no arrivals", () => {
    const qps = Float64Array.of(500, 0, 2000);
    const startMs = Float64Array.of(0, 20_000, 30_000);
    const trace = { kind: "rates", startMs, qps, endMs: 40_000 } as const;
    const arrivalsMs = arrivalsBefore(Number.POSITIVE_INFINITY, { kind: "trace", trace });
    expect(isAscending(arrivalsMs)).toBe(true);
    const [first, second, third] = [
      arrivalsMs.filter((ms) => ms < 20_000).length,
      arrivalsMs.filter((ms) => ms >= 20_000 && ms < 30_000).length,
      arrivalsMs.filter((ms) => ms >= 30_000 && ms < 40_000).length,
    ];
    expect(Math.abs(first - 10_000)).toBeLessThan(5 * Math.sqrt(10_000));
    expect(second).toBe(0);
    expect(Math.abs(third - 20_000)).toBeLessThan(5 * Math.sqrt(20_000));
    expect(first + third).toBe(arrivalsMs.length);
  });

  it("a trace of arrivals: the times themselves, over several blocks", () => {
    const arrivalMs = Float64Array.from({ length: 10_000 }, (_, i) => Math.floor(i / 3));
    const process: ArrivalProcess = { kind: "trace", trace: { kind: "arrivals", arrivalMs } };
    expect(arrivalsBefore(Number.POSITIVE_INFINITY, process)).toEqual([...arrivalMs]);
    expect(arrivalsBefore(1000, process)).toEqual([...arrivalMs.subarray(0, 3000)]);
  });

  it("an empty trace has no arrivals", () => {
    const empty = new Float64Array();
    expect(
      arrivalsBefore(10, { kind: "trace", trace: { kind: "arrivals", arrivalMs: empty } }),
    ).toEqual([]);
    const rates = { kind: "rates", startMs: empty, qps: empty, endMs: 0 } as const;
    expect(arrivalsBefore(10, { kind: "trace", trace: rates })).toEqual([]);
  });

  it("repeats itself for a seed and differs between seeds", () => {
    const process: ArrivalProcess = { kind: "gamma", qps: 1000, cv2: 2 };
    expect(arrivalsBefore(1000, process, 4)).toEqual(arrivalsBefore(1000, process, 4));
    expect(arrivalsBefore(1000, process, 4)).not.toEqual(arrivalsBefore(1000, process, 5));
  });
});
