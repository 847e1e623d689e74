/** Overhead of servers that do not state run times, from their statistics. */
import { afterEach, expect, test } from "vitest";
import { Hops } from "../../../runtime/remote/hops.ts";
import { computedOf, hopOf } from "../../../runtime/remote/stated-hops.ts";
import { batchOf, closeAll, echo, executorOf, otherServer } from "./remote-site.ts";

afterEach(closeAll);

test("the overhead is the time of batches minus the server's own time", () => {
  const last = { count: 10, ms: 500 };
  expect(hopOf({ count: 4, ms: 100, last }, { count: 14, ms: 560 })).toBe(10);
  // One that is on its way is counted on one side alone.
  expect(hopOf({ count: 4, ms: 100, last }, { count: 15, ms: 575 })).toBe(10);
  expect(hopOf({ count: 4, ms: 100, last }, { count: 14, ms: 700 })).toBe(0);
});

test.each([
  ["before the first look", null, { count: 4, ms: 10 }],
  ["where others use the server", { count: 0, ms: 0 }, { count: 9, ms: 10 }],
  ["after the server began anew", { count: 100, ms: 99 }, { count: 4, ms: 10 }],
])("the overhead is unknown %s", (_, last, now) => {
  expect(hopOf({ count: 4, ms: 100, last }, now)).toBeNull();
});

test("statistics are read in Triton's format, as numbers or strings", () => {
  const duration = (ns: number | string) => ({ count: typeof ns === "string" ? "3" : 3, ns });
  const of = (scale: (ns: number) => number | string) => ({
    model_stats: [
      {
        name: "m",
        inference_stats: {
          success: duration(scale(9e6)),
          queue: duration(scale(5e6)),
          compute_input: duration(scale(1e6)),
          compute_infer: duration(scale(2e6)),
          compute_output: duration(scale(500_000)),
        },
      },
    ],
  });
  expect(computedOf(of((ns) => ns))).toEqual({ count: 3, ms: 3.5 });
  expect(computedOf(of(String))).toEqual({ count: 3, ms: 3.5 });
  expect(computedOf({ model_stats: [] })).toBeNull();
  expect(computedOf(null)).toBeNull();
});

test("the overhead of a server of another vendor is measured by its statistics", async () => {
  const ran = { count: 0, ns: 0 };
  const stats = () => ({
    model_stats: [{ name: "m", inference_stats: { compute_infer: { ...ran } } }],
  });
  const pages = {
    get "/v2/models/m/stats"() {
      return stats();
    },
  };
  const { url } = await otherServer((tensor, response, request) => {
    ran.count++;
    ran.ns += 1000;
    echo(tensor, response, request);
  }, pages);
  const hops = new Hops(0, () => {});
  const limits = { heartbeatMs: 5, heartbeatAnswerMs: 10_000, backoffMs: 10, statisticsMs: 5 };
  const { executor } = await executorOf([url], { hops, limits });
  for (;;) {
    await executor.run(0, batchOf(1));
    if (hops.recentMs(url) !== null) break;
  }
  expect(hops.recentMs(url)).toBeGreaterThan(0);
});
