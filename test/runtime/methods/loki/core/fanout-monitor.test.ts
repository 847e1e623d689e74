import { expect, test } from "vitest";
import { FanoutMonitor } from "../../../../../runtime/methods/loki/core/fanout-monitor.ts";

test("observed means take over from compiled ones as fast as they are certain", () => {
  const monitor = new FanoutMonitor(Float64Array.of(2, 5));
  for (let query = 0; query < 2000; query++) monitor.record(0, 4);
  expect(monitor.fanout[0]).toBe(2);
  monitor.heartbeat();
  // 2000 queries weigh as much as what was known.
  expect([...monitor.fanout]).toEqual([3, 5]);
  monitor.heartbeat();
  expect([...monitor.fanout]).toEqual([3, 5]);
});
