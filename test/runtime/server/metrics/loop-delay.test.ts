/** How far the loop is behind, on a clock that the test turns. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { LoopLag } from "../../../../runtime/server/metrics/loop-delay.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout"] });
});
afterEach(() => {
  vi.useRealTimers();
});

const turn = () => new Promise(setImmediate);

test("a loop that comes by at once is not behind", async () => {
  const lag = new LoopLag(() => 0);
  expect([lag.onRequest(), lag.onRequest()]).toEqual([0, 0]);
  await turn();
  expect(lag.onRequest()).toBe(0);
});

test("a request waited for the turn that saw others, and for the one before it", async () => {
  let nowMs = 100;
  const lag = new LoopLag(() => nowMs);
  expect(lag.onRequest()).toBe(0);
  nowMs += 30;
  expect(lag.onRequest()).toBe(30);
  await turn();
  expect(lag.onRequest()).toBe(30);
  await turn();
  // The timer calls, once after requests and once after none.
  vi.advanceTimersByTime(10);
  expect(lag.onRequest()).toBe(0);
});

test("a request waited since a timer should have called", async () => {
  let nowMs = 0;
  const lag = new LoopLag(() => nowMs);
  lag.onRequest();
  await turn();
  // Others had the processor, and the timer is seen after the request.
  nowMs += 80;
  expect(lag.onRequest()).toBeGreaterThanOrEqual(75);
});

test("without a clock of timers nothing is behind", async () => {
  const lag = new LoopLag(undefined);
  expect(lag.onRequest()).toBe(0);
});
