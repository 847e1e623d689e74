import { expect, test } from "vitest";
import { PaceMonitor } from "../../../runtime/core/pace.ts";

const ADAPTS = { adapt: true, mayBeFaster: true, beatMs: 1000 };

function monitorOf(workers: number, options = ADAPTS): PaceMonitor {
  const monitor = new PaceMonitor(workers, 4, options);
  for (let worker = 0; worker < workers; worker++) monitor.onReady(worker);
  return monitor;
}

/** Each worker runs batches one after the other, of 4 ms times its pace. */
function run(monitor: PaceMonitor, paces: readonly number[], fromMs: number, untilMs: number) {
  for (let ms = fromMs; ms < untilMs; ms += 20) {
    monitor.look(ms);
    paces.forEach((pace, worker) => void monitor.onRun(worker, 4 * pace, 4, 0.001, 0, ms, 4));
  }
}

test("workers as profiled have pace 1 and need no more than the load", () => {
  const monitor = monitorOf(4);
  run(monitor, [1, 1, 1, 1], 0, 2000);
  expect([monitor.poolPace, monitor.stretch, monitor.isEven]).toEqual([1, 1, true]);
});

test("lost workers stretch the load by what they are missed for", () => {
  const monitor = monitorOf(8);
  for (let worker = 4; worker < 8; worker++) monitor.onLost(worker);
  expect([monitor.poolPace, monitor.stretch]).toEqual([1, 2]);
  monitor.onReady(4);
  expect(monitor.stretch).toBe(8 / 5);
});

test("a machine at half speed has pace 2 within a few batches", () => {
  const monitor = monitorOf(4);
  run(monitor, [2, 2, 2, 2], 0, 100);
  expect(monitor.poolPace).toBeCloseTo(2, 1);
  expect(monitor.stretch).toBeCloseTo(2, 1);
});

test("one worker of eight at a third of the speed is a straggler, and the others are not", () => {
  const monitor = monitorOf(8);
  run(monitor, [3, 1, 1, 1, 1, 1, 1, 1], 0, 3000);
  expect(monitor.isEven).toBe(false);
  expect(monitor.isStraggler(0)).toBe(true);
  expect([1, 2, 3, 4, 5, 6, 7].some((worker) => monitor.isStraggler(worker))).toBe(false);
  expect(monitor.paceOf(0)).toBeGreaterThan(2.3);
  for (let worker = 1; worker < 8; worker++) {
    expect(monitor.paceOf(worker)).toBeGreaterThan(0.75);
    expect(monitor.paceOf(worker)).toBeLessThan(1.2);
  }
  // 7 + 1/3 of 8 workers are left.
  expect(monitor.stretch).toBeGreaterThan(1);
  expect(monitor.stretch).toBeLessThan(1.25);
});

test("spells that come and go on each worker make no worker slower than a spell", () => {
  const monitor = monitorOf(8);
  const slow = (worker: number, ms: number) => Math.floor((ms + 61 * worker) / 200) % 2 === 1;
  for (let ms = 0; ms < 6000; ms += 20) {
    const paces = Array.from({ length: 8 }, (_, worker) => (slow(worker, ms) ? 2 : 1));
    run(monitor, paces, ms, ms + 20);
    if (ms < 1000) continue;
    for (let worker = 0; worker < 8; worker++) expect(monitor.paceOf(worker)).toBeLessThan(2.6);
  }
  expect(monitor.paceOf(0)).toBeGreaterThan(1.9);
});

test("a worker that runs nothing for two beats is as fast as its pool again", () => {
  const monitor = monitorOf(3);
  run(monitor, [3, 1, 1], 0, 2000);
  expect(monitor.isStraggler(0)).toBe(true);
  for (let ms = 2000; ms < 4500; ms += 20) {
    monitor.look(ms);
    monitor.onRun(1, 4, 4, 0.001, 0, ms, 4);
    monitor.onRun(2, 4, 4, 0.001, 0, ms, 4);
  }
  expect(monitor.isStraggler(0)).toBe(false);
});

test("a pool that runs nothing for two beats is as profiled", () => {
  const monitor = monitorOf(2);
  run(monitor, [2, 2], 0, 500);
  monitor.look(3000);
  expect([monitor.poolPace, monitor.stretch]).toEqual([1, 1]);
});

test("a policy that does not adapt sees nothing", () => {
  const monitor = monitorOf(4, { ...ADAPTS, adapt: false });
  run(monitor, [2, 2, 2, 2], 0, 500);
  monitor.onLost(3);
  expect([monitor.poolPace, monitor.stretch, monitor.paceOf(0)]).toEqual([1, 1, 1]);
});

test("a pool is not faster than profiled where the profile has no means", () => {
  const monitor = monitorOf(1, { ...ADAPTS, mayBeFaster: false });
  run(monitor, [0.7], 0, 5000);
  expect(monitor.poolPace).toBe(1);
  const known = monitorOf(1);
  run(known, [0.7], 0, 5000);
  expect(known.poolPace).toBe(0.8);
});

test("a variant whose profile is half of what it takes gets a correction of its own", () => {
  const monitor = monitorOf(1);
  for (let ms = 0; ms < 20_000; ms += 10) {
    monitor.onRun(0, 4, 4, 0.001, 0, ms, 4);
    monitor.onRun(0, 8, 4, 0.001, 1, ms + 5, 4);
  }
  expect(monitor.correctionOf(1) / monitor.correctionOf(0)).toBeGreaterThan(1.25);
  expect(monitor.paceOf(0) * monitor.correctionOf(1)).toBeGreaterThan(1.7);
});
