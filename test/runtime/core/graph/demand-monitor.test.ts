import { expect, test } from "vitest";
import { DemandMonitor } from "../../../../runtime/core/graph/demand-monitor.ts";

/** A beat is a second. */
function feed(monitor: DemandMonitor, startMs: number, qps: number, beats: number): void {
  for (let request = 0; request < qps * beats; request++) {
    monitor.recordRequest(startMs + (request * 1000) / qps);
  }
  monitor.advance(startMs + beats * 1000);
}

test("demand is unknown until a beat has been counted, and then that count", () => {
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
  // 246 in 0.615 s are surely twice as many as 100, and the beat begins anew.
  expect(monitor.qps).toBeCloseTo(325, 0);
  feed(monitor, 1000, 400, 1);
  expect(monitor.qps).toBeGreaterThan(340);
});

test("a demand ten times as high is seen in a third of a beat, requests at once are not", () => {
  const monitor = new DemandMonitor(100, 1000);
  for (let request = 0; request < 300; request++) monitor.recordRequest(request);
  expect(monitor.qps).toBeGreaterThan(750);
  const other = new DemandMonitor(100, 1000);
  for (let request = 0; request < 200; request++) other.recordRequest(0);
  expect(other.qps).toBe(100);
});

test("silent beats count as zero, however many", () => {
  const monitor = new DemandMonitor(Number.NaN, 1000);
  feed(monitor, 0, 100, 1);
  monitor.advance(4000);
  expect(monitor.qps).toBeLessThan(100 * 0.5 * 0.7 ** 2);
  expect(monitor.qps).toBeGreaterThan(100 * 0.5 * 0.6 ** 2);
  expect(monitor.countEndMs).toBe(5000);
});

test("counts of a beat ten times as long are rates all the same, and ten times as sure", () => {
  const monitor = new DemandMonitor(Number.NaN, 10_000);
  feed(monitor, 0, 100, 10);
  expect(monitor.qps).toBe(100);
  // A thousand requests, and 31.6 for their deviation, in ten seconds.
  expect(monitor.noiseQps).toBeCloseTo(Math.sqrt(1000) / 10, 9);
  feed(monitor, 10_000, 200, 10);
  // Three deviations less than 2000 are more than the smoothed count.
  expect(monitor.qps).toBeCloseTo(200 - (3 * Math.sqrt(2000)) / 10, 9);
});

test("the mean of many counts is surer than one count, until a jump is believed", () => {
  const monitor = new DemandMonitor(Number.NaN, 1000);
  feed(monitor, 0, 100, 1);
  expect(monitor.noiseQps).toBeCloseTo(10, 9);
  for (let beat = 1; beat < 30; beat++) feed(monitor, 1000 * beat, 100, 1);
  // What an exponential mean has left of a variance in the end.
  expect(monitor.noiseQps).toBeCloseTo(10 * Math.sqrt(0.385 / (2 - 0.385)), 6);
  feed(monitor, 30_000, 400, 1);
  expect(monitor.noiseQps).toBeGreaterThan(Math.sqrt(340));
});
