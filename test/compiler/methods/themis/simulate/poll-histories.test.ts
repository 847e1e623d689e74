import { describe, expect, test } from "vitest";
import { pollHistories } from "../../../../../compiler/methods/themis/simulate/poll-histories.ts";
import { simulateThemis } from "../../../../../compiler/methods/themis/simulate/simulate.ts";
import { drawRequests } from "../../../../../compiler/simulate/graph/drawn-requests.ts";
import { beatMsOf } from "../../../../../runtime/core/beat.ts";
import { HISTORY_BEATS } from "../../../../../runtime/core/forecasters.ts";
import { taskGraphOf } from "../../../../../runtime/core/graph/task-graph.ts";
import { themisDispatcherOf } from "../../../../../runtime/methods/themis/core/themis-dispatcher.ts";
import { themisBundle } from "../../../../support/themis-bundle.ts";

const DURATION_MS = 90_000;

/** What the dispatcher sees at each look, and what it is told after it. */
function run(tickMs: number, forecastByPoll: Float64Array) {
  const bundle = themisBundle({
    sloMs: 100,
    policy: { predictor: "lstm", tickMs, scaling: "themis" },
  });
  const trace = drawRequests(taskGraphOf(bundle), { kind: "poisson", qps: 25 }, DURATION_MS, 3);
  const seen: number[][] = [];
  const told: [look: number, qps: number][] = [];
  const result = simulateThemis(bundle, {
    arrivals: { kind: "requests", trace },
    durationMs: DURATION_MS,
    seed: 3,
    startLevel: 0,
    forecastByPoll,
    dispatcherOf: (...values) => {
      const dispatcher = themisDispatcherOf(...values);
      const onWake = dispatcher.onWake.bind(dispatcher);
      const onForecast = dispatcher.onForecast.bind(dispatcher);
      return Object.assign(dispatcher, {
        onWake: (nowMs: number, out: Parameters<typeof onWake>[1]) => {
          const { lookCount } = dispatcher;
          onWake(nowMs, out);
          if (dispatcher.lookCount > lookCount) seen.push([...dispatcher.perBeat]);
        },
        onForecast: (qps: number) => {
          told.push([dispatcher.lookCount, qps]);
          onForecast(qps);
        },
      });
    },
  });
  return { seen, told, result, trace, beatMs: beatMsOf(bundle.slo) };
}

test.each([1000, 700])(
  "every look %i ms after the other has the history that the dispatcher has",
  (tickMs) => {
    const { seen, trace, beatMs } = run(tickMs, new Float64Array(0));
    const { lookCount, perBeat } = pollHistories(trace.arrivalMs, { tickMs, beatMs }, DURATION_MS);
    const histories = Array.from({ length: lookCount }, (_, look) => [
      ...perBeat.subarray(look * HISTORY_BEATS, (look + 1) * HISTORY_BEATS),
    ]);
    // The last requests may be under way for a while longer.
    expect(histories).toEqual(seen.slice(0, lookCount));
    expect(seen.length).toBeLessThanOrEqual(lookCount + 1);
    expect(seen.at(-1)?.some(Number.isNaN)).toBe(false);
  },
);

test("has no polls without requests", () => {
  expect(pollHistories(new Float64Array(0), { tickMs: 1000, beatMs: 1000 }, 60_000).lookCount).toBe(
    0,
  );
});

describe("forecasts", () => {
  test("are used after their polls, until none are left", () => {
    const { told } = run(1000, Float64Array.of(30, 31, 32));
    expect(told).toEqual([
      [1, 30],
      [2, 31],
      [3, 32],
    ]);
  });

  test("decide whether instances follow the load", () => {
    const steady = (qps: number) => run(1000, new Float64Array(100).fill(qps)).result.scaling;
    // Foretold to be as much as no plan carries, the load never agrees with it.
    expect(steady(1000).settled).toBe(0);
    expect(steady(Number.NaN).settled).toBeGreaterThan(0);
  });
});
