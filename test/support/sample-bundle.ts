import type {
  ModelFile,
  RamsisBundle,
  RamsisLevel,
  Table,
  Variant,
} from "stratagem-runtime/internal/bundle/schema";

const MAX_QUEUE = 4;
const MAX_BATCH = MAX_QUEUE + 1;
const SLACK_STEPS = 6;
const SLO_MS = 120;
const ACCURACY = [0.6, 0.75] as const;

/**
 * A valid bundle with every kind of field filled in: 2 variants, 2 levels, greedy tables of 5 × 7
 * states.
 */
export function sampleBundle(): RamsisBundle {
  const slackMs = Float64Array.from(
    { length: SLACK_STEPS + 1 },
    (_, j) => (SLO_MS * j) / SLACK_STEPS,
  );
  const actions = Uint16Array.from({ length: 2 * 2 * MAX_BATCH }, (_, cell) => {
    const action = cell >> 1;
    return cell % 2 === 0 ? Math.floor(action / MAX_BATCH) : (action % MAX_BATCH) + 1;
  });
  return {
    application: "sample",
    method: "ramsis",
    slo: { latencyMs: SLO_MS, maxViolationRate: 0.05, percentile: 99 },
    arrivals: { process: "poisson" },
    cluster: {
      communicationLatencyMs: 0,
      pools: [{ name: "default", hardware: "cpu", workers: 4, cores: null, pricePerHour: 0.5 }],
    },
    tasks: [
      {
        name: "classify",
        variants: [variant("small", ACCURACY[0], model()), variant("lärge", ACCURACY[1], null)],
        serviceTimes: {
          percentile: 95,
          decisionMs: times(1),
          quantiles: {
            p50Ms: times(0.8),
            p95Ms: times(1),
            p99Ms: times(1.1),
            meanMs: times(0.85),
          },
        },
      },
    ],
    policy: {
      objective: "per-query",
      discretization: { kind: "fixed", steps: SLACK_STEPS },
      batching: "maximal",
      maxQueue: MAX_QUEUE,
      balancer: "round-robin",
      serviceTimes: "p95",
      drop: false,
    },
    decisionSpace: {
      maxQueue: MAX_QUEUE,
      slackMs: { dtype: "float64", shape: [SLACK_STEPS + 1], data: slackMs },
      actions: { dtype: "uint16", shape: [2 * MAX_BATCH, 2], data: actions },
    },
    levels: [level(40, 0, slackMs), level(80.5, 30, slackMs)],
    provenance: {
      compiler: "sample/1",
      inputs: [
        { path: "app.yaml", sha256: "0".repeat(64) },
        { path: "../profiles/sample.json", sha256: "1".repeat(64) },
      ],
    },
  };
}

function serviceMs(variantIndex: number, batch: number): number {
  return (variantIndex === 0 ? 5 : 20) + batch * (variantIndex === 0 ? 8 : 16);
}

function times(ratio: number): Table {
  const data = Float64Array.from(
    { length: 2 * MAX_BATCH },
    (_, cell) => ratio * serviceMs(Math.floor(cell / MAX_BATCH), (cell % MAX_BATCH) + 1),
  );
  return { dtype: "float64", shape: [2, MAX_BATCH], data };
}

/** The more accurate variant where it leaves `reserveMs` of the slack, else the fast one. */
function level(loadQps: number, reserveMs: number, slackMs: Float64Array): RamsisLevel {
  const data = Uint16Array.from({ length: MAX_BATCH * slackMs.length }, (_, cell) => {
    const batch = Math.floor(cell / slackMs.length) + 1;
    const slack = slackMs[cell % slackMs.length] ?? 0;
    return (serviceMs(1, batch) + reserveMs <= slack ? MAX_BATCH : 0) + batch - 1;
  });
  return {
    loadQps,
    feasible: true,
    capacityQps: 444.4,
    expected: {
      accuracyPerSatisfied: 0.7,
      accuracyPerQuery: 0.69,
      violationRate: 0.01,
      upperBoundAccuracy: 0.75,
      byBatch: { accuracy: { median: 0.7, p99: 0.6 }, violationRate: { median: 0, p99: 1 } },
    },
    solve: { method: "greedy", iterations: 1, residual: 1e-9, states: data.length },
    actionByState: { dtype: "uint16", shape: [MAX_BATCH, slackMs.length], data },
    mixture: null,
  };
}

function variant(name: string, accuracy: number, model: ModelFile | null): Variant {
  const profile = { file: "sample.json", variant: name, hardware: "cpu", sha256: "1".repeat(64) };
  return { name, accuracy, dominated: false, model, profile };
}

function model(): ModelFile {
  return {
    file: "small.onnx",
    sha256: "2".repeat(64),
    inputs: [{ name: "image", dtype: "float32", shape: [-1, 3, 32, 32] }],
    outputs: [{ name: "label", dtype: "int64", shape: [] }],
  };
}
