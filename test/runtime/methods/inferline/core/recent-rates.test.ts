import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { RecentRates } from "../../../../../runtime/methods/inferline/core/recent-rates.ts";

/** Requests evenly at a rate over [fromMs, toMs). */
function send(rates: RecentRates, qps: number, fromMs: number, toMs: number): void {
  const count = Math.round((qps * (toMs - fromMs)) / 1000);
  for (let n = 0; n < count; n++) rates.recordRequest(fromMs + (n * 1000) / qps);
}

describe("the recent peak", () => {
  test("is not known before 30 beats are over", () => {
    const rates = new RecentRates(1000);
    send(rates, 10, 1000, 31_000);
    expect(rates.recentPeakQps).toBeNaN();
    expect(rates.advance(30_999)).toBe(false);
    expect(rates.advance(31_000)).toBe(true);
    expect(rates.recentPeakQps).toBe(10);
    expect(rates.windowEndMs).toBe(36_000);
  });

  test("is the highest rate of six windows, and forgets a seventh", () => {
    const rates = new RecentRates(1000);
    send(rates, 100, 0, 5000);
    send(rates, 10, 5000, 30_000);
    rates.advance(30_000);
    expect(rates.recentPeakQps).toBe(100);
    send(rates, 10, 30_000, 35_000);
    rates.advance(34_999);
    expect(rates.recentPeakQps).toBe(100);
    rates.advance(35_000);
    expect(rates.recentPeakQps).toBe(10);
  });

  test("falls to 0 when nothing comes", () => {
    const rates = new RecentRates(1000);
    send(rates, 50, 0, 30_000);
    rates.advance(1_000_000);
    expect(rates.recentPeakQps).toBe(0);
    expect(rates.windowEndMs).toBe(1_005_000);
  });

  test("counts a request at the end of a window in the next one", () => {
    const rates = new RecentRates(1000);
    for (const atMs of [0, 4999, 5000]) rates.recordRequest(atMs);
    rates.advance(30_000);
    expect(rates.recentPeakQps).toBe(2 / 5);
  });

  test("is what counting all requests again gives", () => {
    const gaps = fc.array(fc.oneof(fc.nat(3000), fc.constant(40_000)), { maxLength: 120 });
    fc.assert(
      fc.property(fc.nat(10_000), gaps, (startMs, gapsMs) => {
        const rates = new RecentRates(1000);
        const sentMs: number[] = [];
        let nowMs = startMs;
        for (const gapMs of [0, ...gapsMs]) {
          nowMs += gapMs;
          rates.recordRequest(nowMs);
          sentMs.push(nowMs);
        }
        const whole = Math.floor((nowMs - startMs) / 5000);
        const counts = Array.from({ length: 6 }, (_, back) => {
          const fromMs = startMs + (whole - 1 - back) * 5000;
          return sentMs.filter((ms) => ms >= fromMs && ms < fromMs + 5000).length;
        });
        expect(rates.recentPeakQps).toBe(whole < 6 ? Number.NaN : Math.max(...counts) / 5);
      }),
    );
  });
});
