import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LoadMonitor } from "../../../runtime/core/load-monitor.ts";

/** The definition over the whole history: arrivals but the first, in the current 10-ms bucket or the 49 before it. */
function naiveLoadQps(arrivalsMs: readonly number[], nowMs: number): number {
  const [startMs, ...counted] = arrivalsMs;
  if (startMs === undefined || nowMs - startMs < 50) return Number.NaN;
  const firstBucket = Math.floor(nowMs / 10) - 49;
  const inWindow = counted.filter((arrivalMs) => Math.floor(arrivalMs / 10) >= firstBucket);
  return (inWindow.length * 1000) / (nowMs - Math.max(firstBucket * 10, startMs));
}

describe("LoadMonitor", () => {
  it("agrees with a recount of the whole history", () => {
    const gaps = fc.oneof(
      fc.double({ min: 0, max: 30, noNaN: true }),
      fc.constant(0),
      fc.constantFrom(10, 495, 500, 3000),
    );
    fc.assert(
      fc.property(fc.nat(1000), fc.array(gaps, { maxLength: 150 }), (startMs, gapsMs) => {
        const monitor = new LoadMonitor();
        const arrivalsMs: number[] = [];
        let nowMs = startMs;
        for (const gapMs of gapsMs) {
          nowMs += gapMs;
          expect(monitor.loadQps(nowMs)).toBe(naiveLoadQps(arrivalsMs, nowMs));
          monitor.recordArrival(nowMs);
          arrivalsMs.push(nowMs);
        }
      }),
    );
  });

  it("does not know the load before the first arrival, nor in the 50 ms after it", () => {
    const monitor = new LoadMonitor();
    expect(monitor.loadQps(1000)).toBeNaN();
    monitor.recordArrival(1000);
    expect(monitor.loadQps(1049)).toBeNaN();
    expect(monitor.loadQps(1050)).toBe(0);
  });

  it("forgets a burst once the window has passed over it", () => {
    const monitor = new LoadMonitor();
    for (let arrival = 0; arrival < 100; arrival++) monitor.recordArrival(5);
    expect(monitor.loadQps(55)).toBe((99 * 1000) / 50);
    expect(monitor.loadQps(505)).toBe(0);
  });

  it("refuses a clock that goes back", () => {
    const monitor = new LoadMonitor();
    monitor.recordArrival(100);
    expect(() => monitor.recordArrival(80)).toThrow("time does not go back");
  });
});
