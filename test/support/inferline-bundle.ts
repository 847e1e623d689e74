import { nextMeasuredTimes } from "stratagem/internal/model/service-time";
import type {
  Branch,
  InferlineBundle,
  InferlineLevel,
  InferlineOptions,
  Pool,
  PoolProfile,
  StageEdge,
  StagePlan,
  StageTask,
  TrafficEnvelope,
} from "stratagem-runtime/internal/bundle/schema";

/** An edge that makes rows or gathers them; its share is 1 if it is left out. */
export type EdgeSketch = { readonly share?: number } & Pick<StageEdge, "fanout" | "gather">;

export interface InferlineTaskSketch {
  readonly name: string;
  /**
   * Share by the name of the task before, "requests" for an entry; left out: an entry that all
   * requests take.
   */
  readonly from?: Readonly<Record<string, number | EdgeSketch>>;
  readonly branch?: Branch;
  readonly accuracy?: number;
  /**
   * Latency by measured batch size, ms, on each pool; null where it cannot run. One for all pools
   * if it is not a list.
   */
  readonly latencyMs:
    | Readonly<Record<number, number>>
    | readonly (Readonly<Record<number, number>> | null)[];
}

export interface InferlineLevelSketch {
  readonly loadQps: number;
  /** In the order of the tasks: batch, replicas, pool (0 if left out). */
  readonly stages: readonly (readonly [batch: number, replicas: number, pool?: number])[];
  /**
   * Requests at most in windows of these lengths; left out: of one request a window of the mean
   * rate, rounded up, plus one.
   */
  readonly envelope?: readonly (readonly [windowMs: number, requests: number])[];
  readonly peakQps?: number;
}

export interface InferlineBundleSketch {
  readonly tasks: readonly InferlineTaskSketch[];
  readonly levels: readonly InferlineLevelSketch[];
  readonly entryBranch?: Branch;
  readonly sloMs?: number;
  readonly communicationLatencyMs?: number;
  /** Workers of each pool. */
  readonly workers?: readonly number[];
  /** Price of a worker of each pool; 1 if left out. */
  readonly prices?: readonly number[];
  readonly policy?: Partial<InferlineOptions>;
}

const POLICY: InferlineOptions = {
  refine: "exact",
  margin: 0,
  traces: 1,
  sampleDurationMs: 120_000,
  sampleSeed: 1,
  solveLimitMs: 20_000,
  betweenBatches: "next",
  tuner: "none",
  tolerance: 0,
  activationMs: 5000,
};

/** A valid bundle in memory of stages and hand-made plans, frozen but for its tables. */
export function inferlineBundle(sketch: InferlineBundleSketch): InferlineBundle {
  const pools = (sketch.workers ?? [8]).map((workers, index) =>
    poolOf(workers, sketch.prices?.[index] ?? 1, index),
  );
  const tasks = sketch.tasks.map((task) => taskOf(task, sketch.tasks, pools.length));
  return freeze({
    application: "stages",
    method: "inferline",
    slo: { latencyMs: sketch.sloMs ?? 250, maxViolationRate: null, percentile: 99 },
    arrivals: { process: "poisson" },
    cluster: { communicationLatencyMs: sketch.communicationLatencyMs ?? 0, pools },
    tasks,
    entryBranch: sketch.entryBranch ?? "independent",
    policy: { ...POLICY, ...sketch.policy },
    levels: sketch.levels.map((level) => levelOf(level, tasks, pools)),
    provenance: { compiler: "stage-bundle", inputs: [] },
  });
}

function poolOf(workers: number, pricePerHour: number, index: number): Pool {
  return { name: `pool${index}`, hardware: `hardware${index}`, workers, cores: null, pricePerHour };
}

function taskOf(
  task: InferlineTaskSketch,
  all: readonly InferlineTaskSketch[],
  poolCount: number,
): StageTask {
  const edges = Object.entries(task.from ?? { requests: 1 }).map(([name, sketch]) => {
    const parent = all.findIndex((other) => other.name === name);
    const { share = 1, ...rows } = typeof sketch === "number" ? { share: sketch } : sketch;
    return { parent: parent < 0 ? null : parent, share, feed: null, ...rows };
  });
  const { latencyMs } = task;
  const rows = Array.isArray(latencyMs) ? latencyMs : Array(poolCount).fill(latencyMs);
  return {
    name: task.name,
    edges: edges.sort((a, b) => (a.parent ?? -1) - (b.parent ?? -1)),
    branch: task.branch ?? "independent",
    variants: [
      {
        name: task.name,
        accuracy: task.accuracy ?? 1,
        model: null,
        profiles: Array.from({ length: poolCount }, (_, pool) =>
          rows[pool] ? stageProfile(task.name, rows[pool], pool) : null,
        ),
      },
    ],
  };
}

function stageProfile(
  variant: string,
  latencyMs: Readonly<Record<number, number>>,
  pool: number,
): PoolProfile {
  const rows = Object.entries(latencyMs)
    .map(([batch, ms]) => ({ batch: Number(batch), ms }))
    .sort((a, b) => a.batch - b.batch);
  const decisionMs = nextMeasuredTimes(rows);
  return {
    profile: {
      file: "sketch.json",
      variant,
      hardware: `hardware${pool}`,
      sha256: "0".repeat(64),
    },
    batches: {
      dtype: "uint16",
      shape: [rows.length],
      data: Uint16Array.from(rows, ({ batch }) => batch),
    },
    latencyMs: {
      dtype: "float64",
      shape: [rows.length],
      data: Float64Array.from(rows, ({ ms }) => ms),
    },
    serviceTimes: {
      percentile: 50,
      decisionMs: { dtype: "float64", shape: [1, decisionMs.length], data: decisionMs },
      quantiles: null,
    },
  };
}

function levelOf(
  { loadQps, stages, envelope, peakQps }: InferlineLevelSketch,
  tasks: readonly StageTask[],
  pools: readonly Pool[],
): InferlineLevel {
  const planned = stages.map(([batch, replicas, pool = 0], task): StagePlan => {
    const profile = tasks[task]?.variants[0]?.profiles[pool];
    const latencyMs = profile?.serviceTimes.decisionMs.data[batch - 1] ?? Number.NaN;
    const throughputQps = (1000 * batch) / latencyMs;
    return {
      variant: 0,
      pool,
      batch,
      replicas,
      latencyMs,
      throughputQps,
      scaleFactor: 1,
      provisioningRatio: loadQps / (replicas * throughputQps),
    };
  });
  const micros = planned.reduce(
    (sum, { pool, replicas }) =>
      sum + replicas * Math.round(1e6 * (pools[pool]?.pricePerHour ?? Number.NaN)),
    0,
  );
  return {
    loadQps,
    feasible: true,
    capacityQps: loadQps,
    plan: { costPerHour: micros / 1e6, stages: planned },
    sample: {
      requests: Math.ceil(loadQps * 120),
      durationMs: 120_000,
      meanQps: loadQps,
      peakQps: peakQps ?? loadQps,
      margin: 0,
      estimate: { p99Ms: 100, missRate: 0 },
      envelope: envelopeOf(envelope ?? defaultEnvelope(loadQps)),
    },
    expected: {
      violationRate: 0,
      latencyMsP50: 50,
      latencyMsP99: 100,
      costPerHour: micros / 1e6,
      seed: 1,
      durationMs: 120_000,
      heldOut: { traces: 20, met: 20, missRate: 0 },
    },
    solve: {
      method: "branch-and-bound",
      status: "optimal",
      greedyCostPerHour: micros / 1e6,
      provenGap: 0,
      evaluations: 1,
    },
  };
}

function defaultEnvelope(loadQps: number): [number, number][] {
  return [100, 1000, 10_000, 60_000].map((ms) => [ms, Math.ceil((loadQps * ms) / 1000) + 1]);
}

function envelopeOf(rows: readonly (readonly [number, number])[]): TrafficEnvelope {
  return {
    windowMs: {
      dtype: "float64",
      shape: [rows.length],
      data: Float64Array.from(rows, ([ms]) => ms),
    },
    requests: {
      dtype: "float64",
      shape: [rows.length],
      data: Float64Array.from(rows, ([, requests]) => requests),
    },
  };
}

function freeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return value;
  Object.freeze(value);
  for (const child of Object.values(value)) freeze(child);
  return value;
}
