import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { LoadPace } from "../../../../runtime/exec/limits/load-pace.ts";
import { WORKER_LIMITS } from "../../../../runtime/exec/limits/worker-limits.ts";
import { AssignedLoads, AwaitedLoad } from "../../../../runtime/exec/process/awaited-load.ts";

const { startTimeoutMs } = WORKER_LIMITS;
const STEP_MS = 60_000;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function terms(isOnGpu = false) {
  const late: number[] = [];
  const pace = new LoadPace(WORKER_LIMITS);
  return { late, pace, isOnGpu, onLate: (limitMs: number) => void late.push(limitMs) };
}

test("a start that goes on for too long is told once, one that is done is not", () => {
  const own = terms();
  const [slow, quick] = [new AwaitedLoad(own), new AwaitedLoad(own)];
  vi.advanceTimersByTime(5000);
  quick.done();
  vi.advanceTimersByTime(3 * startTimeoutMs);
  expect(own.late).toEqual([startTimeoutMs]);
  slow.end();
  // The next has as long as the one that was seen, and its factor; doubled after the late one.
  expect(own.pace.limitMs()).toBe(2 * WORKER_LIMITS.startFactor * 5000);
});

test("on a GPU steps give time to a load that would be late", () => {
  const own = terms(true);
  const load = new AwaitedLoad(own);
  for (let atMs = 0; atMs < 2 * startTimeoutMs; atMs += STEP_MS) {
    load.onStep(STEP_MS);
    vi.advanceTimersByTime(STEP_MS);
  }
  expect(own.late).toEqual([]);
  vi.advanceTimersByTime(STEP_MS);
  expect(own.late).toHaveLength(1);
});

test("what is loaded after something else has its own time", async () => {
  const own = terms();
  const loads = new AssignedLoads(own);
  const [first, second] = [loads.add(), loads.add()];
  vi.advanceTimersByTime(startTimeoutMs - 1000);
  loads.onDone(1);
  expect(await first).toBe(1);
  vi.advanceTimersByTime(2000);
  expect([own.late, loads.isOpen]).toEqual([[], true]);
  loads.onDone(0);
  expect([await second, loads.isOpen]).toEqual([0, false]);
  expect(() => loads.onDone(0)).toThrow("a worker changes its models only on request");
});

test("what a lost worker was to hold is rejected, and nobody waits for it", async () => {
  const own = terms();
  const loads = new AssignedLoads(own);
  const open = [loads.add(), loads.add()];
  loads.reject("it is lost");
  for (const one of open) await expect(one).rejects.toThrow("it is lost");
  vi.advanceTimersByTime(2 * startTimeoutMs);
  expect(own.late).toEqual([]);
});
