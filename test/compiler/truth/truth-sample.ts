/** A run that went as predicted, for tests to spoil. */
import type {
  MeasuredOutcome,
  Outcome,
  TimelineSecond,
  TruthDocument,
  TruthPoint,
  Verdict,
} from "../../../compiler/truth/truth-document.ts";

export const PREDICTED: Outcome = {
  p50Ms: 10,
  p95Ms: 20,
  p99Ms: 50,
  violationRate: 0.001,
  accuracy: 0.97,
  quantilesMs: Array.from({ length: 101 }, (_, percent) => 1 + percent / 2),
  batches: 2000,
};

export const MEASURED: MeasuredOutcome = {
  ...PREDICTED,
  accuracyByLabels: null,
  sendLagMs: { p50: 0.4, p99: 1.5 },
  errors: {},
};

export const SECOND: TimelineSecond = {
  second: 0,
  arrived: 100,
  late: 0,
  p50Ms: 10,
  p99Ms: 50,
  queueMs: 4,
  computeMs: 5,
  predictedLate: 0,
  predictedP50Ms: 10,
  predictedP99Ms: 50,
  stealShare: 0.001,
  serverShare: 0.3,
};

export const POINT: TruthPoint = {
  loadQps: 100,
  run: 1,
  seed: 1,
  durationMs: 2000,
  queries: 200,
  promised: { violationRate: 0.001, accuracy: 0.97 },
  predicted: PREDICTED,
  ablation: { withoutPath: null, withoutContention: null, withoutBoth: null, asItWas: null },
  measured: MEASURED,
  machine: {
    stealShare: 0.001,
    generatorShare: 0.1,
    busyShare: 0.6,
    serverShare: 0.3,
    neighbourShare: 0.01,
    throttledShare: null,
    pace: 1.04,
  },
  alarms: [],
  checks: [],
  holds: true,
  verdict: "holds",
  cause: null,
  timeline: [SECOND, { ...SECOND, second: 1 }],
  earlier: [],
};

export function documentWith(points: readonly TruthPoint[]): TruthDocument {
  const countOf = (wanted: Verdict) => points.filter(({ verdict }) => verdict === wanted).length;
  return {
    format: "truth/1",
    application: "digits",
    method: "ramsis",
    machine: { processors: 2, quota: null, cpu: "a processor", profileStealShare: 0.01 },
    slo: { latencyMs: 100, ceiling: 0.01 },
    latenciesWithout: [],
    serviceTimes: "sampled",
    points,
    held: countOf("holds"),
    better: countOf("better"),
    of: points.length,
    holds: countOf("broken") === 0,
  };
}
