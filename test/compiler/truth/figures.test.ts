/** How what is measured becomes figures: quantiles, seconds, ratios and shares. */
import { cpus } from "node:os";
import fc from "fast-check";
import { expect, test } from "vitest";
import { parseProcessorTicks, sharesBetween } from "../../../compiler/load/processor-time.ts";
import { processorCounts } from "../../../compiler/profile/serving/machine-time.ts";
import { parseProcessTicks, seenBetween } from "../../../compiler/truth/machine-watch.ts";
import { measuredOutcome, measuredTimes, proportionOf } from "../../../compiler/truth/measured.ts";
import { GatheredTimes, outcomeOf } from "../../../compiler/truth/request-times.ts";
import { timelineOf } from "../../../compiler/truth/timeline.ts";
import { planPoints, thinnedLoads } from "../../../compiler/truth/truth-plan.ts";
import { ownStat } from "../../../runtime/base/control-groups.ts";

test("requests are put in order, and those that were lost violate", () => {
  const gathered = new GatheredTimes();
  gathered.add(20, 30);
  gathered.add(10, Number.NaN);
  gathered.add(5, 7);
  gathered.add(30, 101);
  const times = gathered.times();
  expect([...times.arrivalMs]).toEqual([5, 10, 20, 30]);
  const outcome = outcomeOf(times.latencyMs, 100, 0.9, 3);
  expect(outcome).toMatchObject({ p50Ms: 30, p99Ms: 101, violationRate: 0.5, accuracy: 0.9 });
  expect(outcome.quantilesMs).toHaveLength(101);
  expect([outcome.quantilesMs[0], outcome.quantilesMs[100]]).toEqual([7, 101]);
});

test("without requests nothing violates and there are no quantiles", () => {
  const outcome = outcomeOf(new Float64Array(), 100, null, 0);
  expect(outcome).toMatchObject({ p50Ms: null, violationRate: 0, quantilesMs: [] });
});

test("the interval of a share holds it, and shrinks as more is asked", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 500 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (asked, share) => {
        const few = proportionOf(share * asked, asked);
        const many = proportionOf(share * asked * 10, asked * 10);
        if (few === null || many === null) return false;
        const width = (one: typeof few) => one.upper - one.lower;
        const holds = few.lower <= few.estimate + 1e-12 && few.estimate <= few.upper + 1e-12;
        return holds && width(many) < width(few);
      },
    ),
  );
  expect(proportionOf(0, 0)).toBeNull();
});

test("latencies count from the moment sent, and classes have SLOs of their own", () => {
  const sent = {
    scheduledMs: Float64Array.of(10, 0, 20),
    sentMs: Float64Array.of(15, 0, 20),
    endMs: Float64Array.of(55, 30, 25),
    accuracy: Float64Array.of(0.9, 0.8, Number.NaN),
    score: Float64Array.of(1, 0, Number.NaN),
    isAnswered: Uint8Array.of(1, 1, 0),
    sloMs: Float64Array.of(50, 20, 50),
  };
  expect([...measuredTimes(sent).latencyMs]).toEqual([30, 40, Number.NaN]);
  const lag = { p50: 0, p99: 5, max: 5 };
  const latencyMs = { mean: 35, p50: 30, p95: 40, p99: 40, max: 40, batches: 1 };
  const counted = { errors: { "503": 1 }, latencyMs };
  const outcome = measuredOutcome(sent, { ...counted, sendLagMs: lag }, 50, new Float64Array());
  expect(outcome.violationRate).toBeCloseTo(2 / 3);
  expect(outcome.accuracy).toBe(0.9);
  expect(outcome.batches).toBe(1);
  expect(outcome.accuracyByLabels).toMatchObject({ estimate: 1, asked: 1 });
});

test("a second has what arrived in it, what the log says and what was looked at", () => {
  const times = (latencyMs: number[]) => ({
    arrivalMs: Float64Array.of(100, 900, 1500),
    latencyMs: Float64Array.from(latencyMs),
  });
  const timeline = timelineOf({
    durationMs: 2000,
    sloMs: 50,
    measured: times([10, Number.NaN, 60]),
    predicted: times([10, 20, 30]),
    served: [{ timeMs: 5100, queueMs: 3, computeMs: 6 }],
    startEpochMs: 5000,
    samples: [
      { fromMs: 750, untilMs: 1000, stealShare: 0.2, serverShare: 0.5 },
      { fromMs: 1000, untilMs: 1250, stealShare: null, serverShare: 0.7 },
    ],
  });
  const [first, second] = timeline;
  expect(timeline).toHaveLength(2);
  expect(first).toMatchObject({ arrived: 2, late: 1, p50Ms: 10, predictedP50Ms: 10, queueMs: 3 });
  expect(first).toMatchObject({ stealShare: 0.2, serverShare: 0.5, predictedLate: 0 });
  expect(second).toMatchObject({ arrived: 1, late: 1, p99Ms: 60, queueMs: null });
  expect(second).toMatchObject({ stealShare: null, serverShare: 0.7 });
});

test("shares of the processors are those of the ticks between two looks", () => {
  const stat = (user: number, idle: number, steal: number) =>
    `cpu  ${user} 0 10 ${idle} 5 0 0 ${steal} 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n`;
  const before = parseProcessorTicks(stat(100, 1000, 3));
  const after = parseProcessorTicks(stat(160, 1030, 13));
  expect(sharesBetween(before, after)).toEqual({ stealShare: 0.1, busyShare: 0.6 });
  expect(sharesBetween(before, before)).toBeNull();
  expect(sharesBetween(null, after)).toBeNull();
  expect(parseProcessorTicks("intr 1 2 3")).toBeNull();
  expect(parseProcessTicks("7 (a ) b) S 1 2 3 4 5 6 7 8 9 10 30 12 0 0")).toBe(42);
});

test("processors that this process may not use are no part of the machine", () => {
  const stat =
    "cpu  60 0 0 60 0 0 0 3 0 0\ncpu0 10 0 0 20 0 0 0 1 0 0\ncpu1 50 0 0 40 0 0 0 2 0 0\nintr 5\n";
  const at = (...numbers: number[]) => ownStat(stat, new Set(numbers));
  expect(parseProcessorTicks(at(0))).toEqual({ total: 31, idle: 20, steal: 1 });
  expect(at(0, 1)).toBe(stat);
  expect(ownStat(stat, null)).toBe(stat);
  expect(processorCounts(at(1))).toEqual([{ busy: 50, steal: 2 }]);
});

test("looks outside a run say nothing of it", () => {
  const look = (epochMs: number, steal: number) => ({
    epochMs,
    ticks: { total: epochMs, idle: 0, steal },
    processTicks: epochMs / 10,
    throttling: { periods: epochMs, throttled: epochMs / 4, throttledMs: epochMs },
    runMs: new Map([[7, 0.75 * cpus().length * epochMs]]),
  });
  const looks = [look(500, 0), look(1000, 0), look(1250, 25), look(1500, 25), look(5000, 900)];
  const seen = seenBetween(looks, 1000, 1500);
  // All was busy but what was stolen, and the run had three quarters of it.
  expect(seen.neighbourShare).toBeCloseTo(0.2);
  expect(seen.stealShare).toBeCloseTo(0.05);
  expect(seen.serverShare).toBeCloseTo(1);
  expect(seen.throttledShare).toBeCloseTo(0.25);
  expect(seen.samples.map(({ fromMs }) => fromMs)).toEqual([0, 250]);
});

test("loads are spread from the lowest to the highest that is feasible", () => {
  const levels = [10, 20, 30, 40, 50].map((loadQps) => ({ loadQps, feasible: loadQps < 50 }));
  const loads = (count: number) => thinnedLoads({ levels }, count);
  expect(loads(3)).toEqual([10, 30, 40]);
  expect(loads(2)).toEqual([10, 40]);
  expect(loads(1)).toEqual([40]);
  expect(loads(9)).toEqual([10, 20, 30, 40]);
});

test("no two runs have arrivals in common, those before them counted", () => {
  const seeds = planPoints([1, 2, 3], 3, 5).flatMap(({ seed }) => [seed, seed + 1]);
  expect(new Set(seeds).size).toBe(18);
});
