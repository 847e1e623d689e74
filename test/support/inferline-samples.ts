import type { InferlineBundle, InferlineLevel } from "../../runtime/bundle/schema.ts";
import { type InferlineBundleSketch, inferlineBundle } from "./inferline-bundle.ts";

/**
 * Mean queries per request that reach each task of the pipeline below; a join is skipped only if
 * both before it are.
 */
const SCALE_FACTORS = [1, 0.6, 0.3, 0.72];

/**
 * Finds objects, reads what 60 % and 30 % of the images need, and ranks what was read; on three
 * kinds of hardware.
 */
const SKETCH: InferlineBundleSketch = {
  tasks: [
    {
      name: "detect",
      accuracy: 0.9,
      latencyMs: [
        { 1: 120, 2: 220 },
        { 1: 30, 2: 40, 4: 60, 8: 100 },
        { 1: 10, 2: 12, 4: 16, 8: 24 },
      ],
    },
    {
      name: "faces",
      accuracy: 0.8,
      from: { detect: 0.6 },
      latencyMs: [null, { 1: 20, 2: 25, 4: 35 }, { 1: 8, 2: 10, 4: 14 }],
    },
    {
      name: "plates",
      accuracy: 0.85,
      from: { detect: 0.3 },
      latencyMs: [{ 1: 50, 2: 90 }, { 1: 15, 2: 20, 4: 30 }, null],
    },
    {
      name: "rank",
      from: { faces: 1, plates: 1 },
      latencyMs: [{ 1: 5, 2: 8, 4: 14, 8: 26 }, null, null],
    },
  ],
  sloMs: 250,
  communicationLatencyMs: 1,
  workers: [16, 6, 4],
  prices: [0.0665, 0.634, 2.1],
  policy: { tuner: "relative", margin: "auto", traces: 3 },
  levels: [
    {
      loadQps: 40,
      stages: [
        [4, 1, 1],
        [2, 1, 1],
        [1, 1, 0],
        [4, 1, 0],
      ],
      envelope: [
        [155, 17],
        [310, 26],
        [620, 42],
        [1240, 70],
        [60_000, 2460],
      ],
      peakQps: 51.4,
    },
    {
      loadQps: 120,
      stages: [
        [8, 3, 1],
        [4, 2, 1],
        [1, 4, 0],
        [8, 2, 0],
      ],
    },
    {
      loadQps: 300,
      stages: [
        [8, 2, 2],
        [4, 3, 1],
        [2, 9, 0],
        [8, 3, 0],
      ],
    },
    {
      loadQps: 600,
      stages: [
        [8, 4, 2],
        [4, 6, 1],
        [2, 9, 0],
        [8, 4, 0],
      ],
    },
  ],
};

/** What sets the levels apart that a sketch does not say. */
const FIGURES: readonly ((level: InferlineLevel) => InferlineLevel)[] = [
  (level) => ({
    ...level,
    sample: { ...level.sample, margin: 0.05, estimate: { p99Ms: 188.25, missRate: 0.0004 } },
    solve: { ...level.solve, greedyCostPerHour: 1.5345, evaluations: 812 },
    expected: {
      ...level.expected,
      latencyMsP99: 196.5,
      violationRate: 0.0012,
      heldOut: { traces: 20, met: 20, missRate: 0.0008 },
    },
  }),
  (level) => ({
    ...level,
    sample: { ...level.sample, margin: 0.05, estimate: { p99Ms: 231, missRate: 0.003 } },
    solve: {
      ...level.solve,
      status: "feasible",
      provenGap: 0.0625,
      greedyCostPerHour: 4.236,
      evaluations: 20_513,
    },
    expected: {
      ...level.expected,
      latencyMsP99: 244,
      violationRate: 0.008,
      costPerHour: 3.71,
      heldOut: { traces: 20, met: 19, missRate: 0.004 },
    },
  }),
  (level) => ({
    ...level,
    sample: { ...level.sample, estimate: { p99Ms: 244, missRate: 0.009 } },
    expected: { ...level.expected, latencyMsP99: 239, violationRate: 0.0075, costPerHour: 7.2 },
  }),
  (level) => ({
    ...level,
    feasible: false,
    capacityQps: 480,
    sample: { ...level.sample, estimate: { p99Ms: 247, missRate: 0.0095 } },
    solve: { ...level.solve, status: "infeasible", greedyCostPerHour: null, provenGap: 0.2 },
    expected: {
      ...level.expected,
      latencyMsP99: 1930,
      violationRate: 0.31,
      heldOut: { traces: 20, met: 3, missRate: 0.06 },
    },
  }),
];

/**
 * A pipeline with branches and a join, its plans for four loads, the last of which is beyond what
 * the pools carry.
 */
export function inferlineSample(policy?: InferlineBundleSketch["policy"]): InferlineBundle {
  const bundle = inferlineBundle({ ...SKETCH, policy: { ...SKETCH.policy, ...policy } });
  return {
    ...bundle,
    levels: bundle.levels.map((level, index) => scaled(FIGURES[index]?.(level) ?? level)),
  };
}

function scaled(level: InferlineLevel): InferlineLevel {
  const meanQps = level.capacityQps;
  return {
    ...level,
    sample: { ...level.sample, meanQps, peakQps: Math.max(level.sample.peakQps, meanQps) },
    plan: {
      ...level.plan,
      stages: level.plan.stages.map((stage, task) => {
        const scaleFactor = SCALE_FACTORS[task] ?? 1;
        const { replicas, throughputQps } = stage;
        const provisioningRatio = (meanQps * scaleFactor) / (replicas * throughputQps);
        return { ...stage, scaleFactor, provisioningRatio };
      }),
    },
  };
}
