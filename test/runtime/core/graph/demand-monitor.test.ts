import { expect, test } from "vitest";
import { DemandMonitor } from "../../../../runtime/core/graph/demand-monitor.ts";

function feed(monitor: DemandMonitor, startMs: number, qps: number, seconds: number): void {
  for (let request = 0; request < qps * seconds; request++) {
    monitor.recordRequest(startMs + (request * 1000) / qps);
  }
  monitor.advance(startMs + seconds * 1000);
}

test("demand is unknown until a second has been counted, and then that count", () => {
  const monitor = new DemandMonitor(Number.NaN, 1000);
  for (let request = 0; request < 50; request++) monitor.recordRequest(20 * request);
  expect(monitor.qps).toBeNaN();
  monitor.advance(1000);
  expect(monitor.qps).toBe(50);
});

test("counts are smoothed with a weight of 0.385", () => {
  const monitor = new DemandMonitor(100, 1000);
  feed(monitor, 0, 110, 1);
  expect(monitor.qps).toBeCloseTo(103.85, 9);
  feed(monitor, 1000, 90, 1);
  expect(monitor.qps).toBeCloseTo(103.85 - 0.385 * 13.85, 9);
});

test("a jump is believed as far as it cannot be noise", () => {
  const monitor = new DemandMonitor(100, 1000);
  feed(monitor, 0, 400, 1);
  // 400 less three times 20; the smoothed count alone would be 215.5.
  expect(monitor.qps).toBe(340);
});

test("silent seconds count as zero, however many", () => {
  const monitor = new DemandMonitor(Number.NaN, 1000);
  feed(monitor, 0, 100, 1);
  monitor.advance(4000);
  expect(monitor.qps).toBeCloseTo(100 * 0.615 ** 3, 9);
  expect(monitor.countEndMs).toBe(5000);
});
