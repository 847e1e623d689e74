/** Runs are judged at the pace that the server measured. */
import { expect, test } from "vitest";
import { checksOf, verdictOf } from "../../../compiler/truth/checks.ts";
import { samplePace } from "../../../compiler/truth/pace-samples.ts";
import { expected, promisedAt } from "../../../compiler/truth/predicted.ts";
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

test("the pace of a run is the mean of its samples, those around it left out", async () => {
  let nowMs = 0;
  let sample = (): void => {};
  const text = (paces: readonly number[]): string =>
    [
      'stratagem_queries_total{model="digits",outcome="satisfied"} 1',
      ...paces.map((pace, worker) => `stratagem_pace{pool="cpu",worker="${worker}"} ${pace}`),
    ].join("\n");
  const answers = [text([4]), text([1, 1]), text([1, 3]), text([4])];
  const read = async (): Promise<string> => answers.shift() ?? Promise.reject(new Error("gone"));
  const samples = samplePace(
    "digits",
    () => nowMs,
    read,
    (_, callback) => {
      sample = callback;
      return () => {};
    },
  );
  for (nowMs = 1; nowMs <= 5; nowMs++) {
    sample();
    await new Promise((resolve) => setImmediate(resolve));
  }
  // Two workers share the load by how fast they are: 2 / (1 + 1 / 3) is 1.5.
  expect(samples.between(2, 3)).toBeCloseTo(1.25);
  expect(samples.between(5, 9)).toBeNull();
});
