import {
  type Branch,
  fittedMs,
  type LatencyByCores,
  type LatencyFit,
  type ModelFile,
  type ScaledStage,
  type ScaledTask,
  type ScalePlan,
  type ScaleReport,
  type Table,
  type ThemisBundle,
  type ThemisLevel,
  type ThemisOptions,
} from "../../runtime/bundle/schema.ts";

export interface ThemisTaskSketch {
  readonly name: string;
  /**
   * Share by the name of the task before, "requests" for an entry; left out: an entry that all
   * requests take.
   */
  readonly from?: Readonly<Record<string, number>>;
  readonly branch?: Branch;
  readonly accuracy?: number;
  readonly model?: ModelFile;
  /**
   * Mean queries per request; left out: of joins of independent branches, as if their edges were
   * taken independently of each other.
   */
  readonly scaleFactor?: number;
  /** What fills the table where it is not given. */
  readonly fit?: LatencyFit;
  /**
   * ms by cores less one and batch less one, the whole table; then the fit is null, unless it is
   * given as well.
   */
  readonly latencyMs?: readonly (readonly number[])[];
  /** Measured: batch, cores, ms; left out: the whole of `latencyMs`, or none. */
  readonly points?: readonly (readonly [batch: number, cores: number, ms: number])[];
}

/** In the order of the tasks. */
export type InferlineTaskSketches = readonly (readonly [
  batch: number,
  cores: number,
  instances: number,
])[];

export interface ThemisLevelSketch {
  readonly loadQps: number;
  /** The plan that is followed, and the joint one. */
  readonly steady: InferlineTaskSketches;
  /**
   * Left out: the steady batches on as many instances, or on as many cores, as carry the load; null
   * where they do not fit.
   */
  readonly horizontal?: InferlineTaskSketches | null;
  readonly vertical?: InferlineTaskSketches | null;
  readonly joint?: InferlineTaskSketches | null;
  /** Below the load: the level is infeasible. */
  readonly capacityQps?: number;
  readonly solve?: Partial<ScaleReport>;
}

export interface ThemisBundleSketch {
  readonly tasks?: readonly ThemisTaskSketch[];
  readonly levels?: readonly ThemisLevelSketch[];
  readonly entryBranch?: Branch;
  readonly policy?: Partial<ThemisOptions>;
  readonly sloMs?: number;
  readonly maxViolationRate?: number;
  readonly communicationLatencyMs?: number;
  readonly workers?: number;
  /** Of every worker. */
  readonly cores?: number | null;
  /** Batch, cores and instances to add by row, column and task; left out: by brute force. */
  readonly transitions?: readonly (readonly (readonly (readonly [number, number, number])[])[])[];
}

const POLICY: ThemisOptions = {
  maxBatch: 8,
  maxCores: 4,
  queueing: "stochastic",
  quantile: "auto",
  solver: "exact",
  scaling: "joint",
  predictor: "last-max",
  tickMs: 1000,
  stableTicks: 5,
  resizeMs: 100,
  coldStartMs: 5000,
  extraCores: "same",
  dropAfterSlos: 1,
};

const TASKS: readonly ThemisTaskSketch[] = [
  { name: "detect", accuracy: 0.9, fit: { gamma: 20, epsilon: 10, delta: 1, eta: 4 } },
  { name: "rank", from: { detect: 1 }, fit: { gamma: 8, epsilon: 4, delta: 0.5, eta: 2 } },
];

/** One query alone; two cores; two instances of two. */
const LEVELS: readonly ThemisLevelSketch[] = [
  {
    loadQps: 20,
    steady: [
      [1, 1, 1],
      [1, 1, 1],
    ],
  },
  {
    loadQps: 60,
    steady: [
      [2, 2, 1],
      [1, 1, 1],
    ],
  },
  {
    loadQps: 150,
    steady: [
      [4, 2, 2],
      [2, 1, 2],
    ],
  },
];

/**
 * A valid bundle in memory of stages and hand-made plans, frozen but for its tables: by default two
 * stages, one after the other, at three loads.
 */
export function themisBundle(sketch: ThemisBundleSketch = {}): ThemisBundle {
  const policy = { ...POLICY, ...sketch.policy };
  const tasks = tasksOf(sketch.tasks ?? TASKS, policy);
  const workers = sketch.workers ?? 8;
  const cores = sketch.cores === undefined ? 4 : sketch.cores;
  const communicationLatencyMs = sketch.communicationLatencyMs ?? 0;
  const frame = { tasks, policy, hopMs: communicationLatencyMs, poolCores: workers * (cores ?? 1) };
  const levels = (sketch.levels ?? LEVELS).map((level) => levelOf(level, frame));
  return freeze({
    application: "scales",
    method: "themis",
    slo: {
      latencyMs: sketch.sloMs ?? 250,
      maxViolationRate: sketch.maxViolationRate ?? null,
      percentile: 99,
    },
    arrivals: { process: "poisson" },
    cluster: {
      communicationLatencyMs,
      pools: [{ name: "default", hardware: "cpu", workers, cores, pricePerHour: null }],
    },
    tasks,
    entryBranch: sketch.entryBranch ?? "independent",
    policy,
    levels,
    transitions: transitionTable(sketch.transitions ?? transitionsOf(levels, tasks)),
    provenance: { compiler: "scale-bundle", inputs: [] },
  });
}

interface Frame {
  readonly tasks: readonly ScaledTask[];
  readonly policy: ThemisOptions;
  readonly hopMs: number;
  readonly poolCores: number;
}

function tasksOf(sketches: readonly ThemisTaskSketch[], policy: ThemisOptions): ScaledTask[] {
  const tasks: ScaledTask[] = [];
  for (const sketch of sketches) {
    const edges = Object.entries(sketch.from ?? { requests: 1 })
      .map(([name, share]) => {
        const parent = tasks.findIndex((other) => other.name === name);
        return { parent: parent < 0 ? null : parent, share, feed: null };
      })
      .sort((a, b) => (a.parent ?? -1) - (b.parent ?? -1));
    const reached = edges.map(
      ({ parent, share }) => share * (parent === null ? 1 : (tasks[parent]?.scaleFactor ?? 1)),
    );
    const [only] = reached;
    const joined = 1 - reached.reduce((product, part) => product * (1 - part), 1);
    tasks.push({
      name: sketch.name,
      edges,
      branch: sketch.branch ?? "independent",
      scaleFactor: sketch.scaleFactor ?? (reached.length === 1 ? (only ?? 1) : joined),
      variants: [
        {
          name: sketch.name,
          accuracy: sketch.accuracy ?? 1,
          model: sketch.model ?? null,
          profile: {
            file: "sketch.json",
            variant: sketch.name,
            hardware: "cpu",
            sha256: "0".repeat(64),
          },
          latency: latencyOf(sketch, policy),
        },
      ],
    });
  }
  return tasks;
}

function latencyOf(
  sketch: ThemisTaskSketch,
  { maxCores, maxBatch }: ThemisOptions,
): LatencyByCores {
  const { latencyMs, points } = sketch;
  const fit = sketch.fit ?? null;
  const rows =
    latencyMs ??
    Array.from({ length: maxCores }, (_, core) =>
      Array.from({ length: maxBatch }, (_unused, batch) =>
        fit === null ? Number.NaN : fittedMs(fit, batch + 1, core + 1),
      ),
    );
  const measured =
    points ??
    (latencyMs ?? []).flatMap((row, core) =>
      row.map((ms, batch) => [batch + 1, core + 1, ms] as const),
    );
  return {
    ms: doubles(rows.flat(), [rows.length, rows[0]?.length ?? 0]),
    fit,
    points: doubles(measured.flat(), [measured.length, 3]),
  };
}

function doubles(values: readonly number[], shape: readonly number[]): Table {
  return { dtype: "float64", shape, data: Float64Array.from(values) };
}

function levelOf(sketch: ThemisLevelSketch, frame: Frame): ThemisLevel {
  const { loadQps, capacityQps = loadQps } = sketch;
  const feasible = capacityQps === loadQps;
  const steady = planOf(sketch.steady, capacityQps, frame);
  const planned = (
    stages: InferlineTaskSketches | null | undefined,
    fallback: InferlineTaskSketches | null,
  ): ScalePlan | null => {
    const chosen = stages === undefined ? fallback : stages;
    const plan = chosen && planOf(chosen, loadQps, frame);
    return plan && plan.cores <= frame.poolCores ? plan : null;
  };
  return {
    loadQps,
    feasible,
    capacityQps,
    horizontal: planned(sketch.horizontal, horizontalOf(sketch, frame)),
    vertical: planned(sketch.vertical, verticalOf(sketch, frame)),
    joint: planned(sketch.joint, feasible ? sketch.steady : null),
    steady,
    solve: {
      method: "exact",
      status: feasible ? "optimal" : "infeasible",
      quantile: frame.policy.queueing === "paper" ? null : 0.95,
      bindingTask: feasible ? null : 0,
      evaluations: 3,
      ...sketch.solve,
    },
  };
}

function horizontalOf(
  { steady, loadQps }: ThemisLevelSketch,
  { tasks }: Frame,
): InferlineTaskSketches | null {
  return steady.map(([batch], task) => {
    const neededQps = loadQps * (tasks[task]?.scaleFactor ?? 1);
    return [batch, 1, Math.ceil(neededQps / throughputQps(tasks[task], batch, 1))] as const;
  });
}

function verticalOf(
  { steady, loadQps }: ThemisLevelSketch,
  { tasks }: Frame,
): InferlineTaskSketches | null {
  const stages = steady.map(([batch], task) => {
    const neededQps = loadQps * (tasks[task]?.scaleFactor ?? 1);
    const cores = leastCores(tasks[task], batch, neededQps, 1);
    return [batch, cores ?? 0, 1] as const;
  });
  return stages.every(([, cores]) => cores > 0) ? stages : null;
}

function planOf(
  sketches: InferlineTaskSketches,
  loadQps: number,
  { tasks, hopMs }: Frame,
): ScalePlan {
  const stages = sketches.map(
    ([batch, cores, instances]): ScaledStage => ({ batch, cores, instances }),
  );
  const endMs: number[] = [];
  for (const [task, { batch, cores }] of stages.entries()) {
    const queueMs = (1000 * (batch - 1)) / (loadQps * (tasks[task]?.scaleFactor ?? 1));
    const ready = (tasks[task]?.edges ?? []).map(({ parent }) =>
      parent === null ? 0 : (endMs[parent] ?? 0),
    );
    endMs.push(Math.max(0, ...ready) + hopMs + queueMs + latencyMs(tasks[task], batch, cores));
  }
  const longestMs = Math.max(...endMs);
  return {
    cores: stages.reduce((sum, { cores, instances }) => sum + cores * instances, 0),
    latencyMs: longestMs,
    stages,
    expected: {
      violationRate: 0.001,
      latencyMsP50: longestMs / 2,
      latencyMsP99: longestMs,
      requests: 10_000,
      seed: 1,
    },
  };
}

function latencyMs(task: ScaledTask | undefined, batch: number, cores: number): number {
  const ms = task?.variants[0]?.latency.ms;
  const [maxCores = 0, maxBatch = 0] = ms?.shape ?? [];
  if (batch > maxBatch || cores > maxCores) return Number.NaN;
  return ms?.data[(cores - 1) * maxBatch + batch - 1] ?? Number.NaN;
}

function throughputQps(task: ScaledTask | undefined, batch: number, cores: number): number {
  return (1000 * batch) / latencyMs(task, batch, cores);
}

function leastCores(
  task: ScaledTask | undefined,
  batch: number,
  neededQps: number,
  fromCores: number,
): number | null {
  const maxCores = task?.variants[0]?.latency.ms.shape[0] ?? 0;
  for (let cores = fromCores; cores <= maxCores; cores++) {
    if (throughputQps(task, batch, cores) >= neededQps) return cores;
  }
  return null;
}

/**
 * The batch of the column's plan on as few cores, the row's at least, as carry the column's load,
 * and instances beside them where all cores do not.
 */
function transitionsOf(
  levels: readonly ThemisLevel[],
  tasks: readonly ScaledTask[],
): [number, number, number][][][] {
  return levels.map((row, from) =>
    levels.map((column, to) =>
      row.steady.stages.map((now, task): [number, number, number] => {
        if (to <= from) return [now.batch, now.cores, 0];
        const batch = column.steady.stages[task]?.batch ?? 0;
        const neededQps = column.capacityQps * (tasks[task]?.scaleFactor ?? 1);
        const cores = leastCores(tasks[task], batch, neededQps / now.instances, now.cores);
        if (cores !== null) return [batch, cores, 0];
        const maxCores = tasks[task]?.variants[0]?.latency.ms.shape[0] ?? 0;
        const instances = Math.ceil(neededQps / throughputQps(tasks[task], batch, maxCores));
        return [batch, maxCores, instances - now.instances];
      }),
    ),
  );
}

function transitionTable(
  rows: readonly (readonly (readonly (readonly [number, number, number])[])[])[],
): Table {
  return {
    dtype: "uint16",
    shape: [rows.length, rows[0]?.length ?? 0, rows[0]?.[0]?.length ?? 0, 3],
    data: Uint16Array.from(rows.flat(3)),
  };
}

function freeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return value;
  Object.freeze(value);
  for (const child of Object.values(value)) freeze(child);
  return value;
}
