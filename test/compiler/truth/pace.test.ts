/** Runs are judged at the pace that the server measured. */
import { expect, test } from "vitest";
import { checksOf, verdictOf } from "../../../compiler/truth/checks.ts";
import { batchWork, paceFor, stretchBetween } from "../../../compiler/truth/measured-pace.ts";
import { expected, promisedAt, stretchOf } from "../../../compiler/truth/predicted.ts";
import { loadBundle } from "../../../runtime/bundles/load-bundle.ts";
import { ramsisBundle } from "../../support/ramsis-bundle.ts";
import { MEASURED } from "./truth-sample.ts";

const LOAD_QPS = 430;
const bundle = ramsisBundle((await loadBundle("policies/letters/bundle.msgpack")).bundle);
const watch = {
  nowMs: () => 0,
  jobs: 1,
  onProgress: () => {},
  signal: new AbortController().signal,
};

test("the promise is the level's for the measured pace, of the slower one between two", () => {
  const stated = bundle.levels.find(({ loadQps }) => loadQps === LOAD_QPS)?.expected;
  const slowest = stated?.byPace?.at(-1);
  expect(promisedAt(bundle, LOAD_QPS, 1)).toEqual({
    violationRate: stated?.violationRate,
    accuracy: stated?.accuracyPerSatisfied,
  });
  expect(promisedAt(bundle, LOAD_QPS, 2.2)).toEqual({
    violationRate: slowest?.violationRate,
    accuracy: (slowest?.accuracyPerQuery ?? 0) / (1 - (slowest?.violationRate ?? 0)),
  });
  expect(promisedAt(bundle, LOAD_QPS, 9)).toEqual({ violationRate: null, accuracy: null });
});

test("a machine at half speed is slower than at pace 1, and as promised at its own", async () => {
  const run = {
    arrivals: { kind: "poisson", qps: LOAD_QPS },
    durationMs: 4000,
    seed: 1,
    stations: {},
  } as const;
  const at = async (pace: number) => {
    const { outcome } = await expected(bundle, { ...run, pace }, "sampled", watch);
    return outcome;
  };
  const [asProfiled, slow] = [await at(1), await at(2)];
  const measured = { ...MEASURED, ...slow };
  const verdictAt = (pace: number, predicted: typeof slow) =>
    verdictOf(
      checksOf({
        promised: promisedAt(bundle, LOAD_QPS, pace),
        predicted,
        measured,
        ceiling: 0.01,
        requests: 1000,
      }),
    );
  expect(verdictAt(1, asProfiled)).toBe("slower");
  expect(verdictAt(2, slow)).toBe("holds");
});

test("a prediction of few requests is drawn until its percentiles need no interval", async () => {
  const run = {
    arrivals: { kind: "poisson", qps: 20 },
    durationMs: 4000,
    seed: 1,
    pace: 1,
    stations: {},
  } as const;
  const { outcome, times } = await expected(bundle, run, "sampled", watch);
  expect(times.latencyMs.length).toBeLessThan(120);
  expect(outcome.batches).toBeGreaterThanOrEqual(1000);
  expect(outcome).not.toHaveProperty("intervalsMs");
  // Each draw has service times of its own: those of one have fewer distinct percentiles.
  expect(new Set(outcome.quantilesMs).size).toBe(101);
  const exact = await expected(bundle, run, "p95", watch);
  expect(exact.outcome.batches).toBeLessThan(120);
  expect(exact.outcome).not.toHaveProperty("intervalsMs");
});

test("the stretch of batches comes from two readings of the metrics", () => {
  const text = (measured: number, expected: number): string =>
    `stratagem_work_seconds_total{time="measured"} ${measured}\n` +
    `stratagem_work_seconds_total{time="expected"} ${expected}`;
  const [before, after] = [batchWork(text(4, 2)), batchWork(text(7, 4))];
  expect(stretchBetween(before, after)).toBe(1.5);
  expect(stretchBetween(before, before)).toBe(null);
  expect(stretchBetween(batchWork("stratagem_pace 1"), after)).toBe(null);
});

test("a simulation at some pace finds that pace again", async () => {
  const run = {
    arrivals: { kind: "poisson", qps: LOAD_QPS },
    durationMs: 20_000,
    seed: 1,
    stations: {},
  } as const;
  const at = (pace: number) => stretchOf(bundle, { ...run, pace }, "sampled", watch);
  const [one = null, two = null] = [await at(1), await at(1.7)];
  expect((two ?? 0) / (one ?? 0)).toBeCloseTo(1.7, 1);
});

test("the pace is found although contention depends on it", async () => {
  // Twice as slow, batches meet more often: they take 1 + pace / 4 times as long beside each other.
  const simulated = async (pace: number) => pace * (1 + pace / 4);
  expect(await paceFor(2 * 1.5, simulated)).toBeCloseTo(2, 1);
  expect(await paceFor(0.5 * 1.125, simulated)).toBeCloseTo(0.5, 2);
  expect(await paceFor(2, async () => null)).toBe(null);
});
