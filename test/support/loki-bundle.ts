import type {
  Leaf,
  LokiBundle,
  LokiLevel,
  LokiOptions,
  PipelinePlan,
  PipelineTask,
  PipelineVariant,
  PlanNode,
  PlannedInstance,
  Pool,
  PoolProfile,
  StagePolicy,
} from "stratagem-runtime/internal/bundle/schema";

interface VariantSketch {
  readonly name: string;
  readonly accuracy: number;
  /** Latency by batch size, ms; batch sizes between are interpolated. */
  readonly latencyMs: Readonly<Record<number, number>>;
  /** By the name of the child; 1 where it is not said. */
  readonly fanouts?: Readonly<Record<string, number>>;
}

export interface TaskSketch {
  readonly name: string;
  readonly parent?: string;
  readonly entryShare?: number;
  /** Of a leaf; by default the leaves weigh the same. */
  readonly weight?: number;
  readonly variants: readonly VariantSketch[];
}

interface InstanceSketch {
  /** `task/variant` */
  readonly of: string;
  readonly batch: number;
  readonly replicas: number;
  readonly pool?: number;
}

export interface LevelSketch {
  readonly loadQps: number;
  readonly step?: PipelinePlan["step"];
  readonly instances: readonly InstanceSketch[];
  /**
   * `task/variant` or `task/variant@instance` of every task from an entry to a leaf, and the share
   * of requests: 1 in all for each leaf.
   */
  readonly paths: readonly { readonly along: readonly string[]; readonly ratio: number }[];
  readonly stages?: readonly (StagePolicy | null)[];
}

export interface LokiSketch {
  readonly tasks: readonly TaskSketch[];
  readonly levels: readonly LevelSketch[];
  readonly sloMs?: number;
  readonly communicationLatencyMs?: number;
  /** Workers of each pool; every profile is the same on all of them. */
  readonly workers?: readonly number[];
  readonly policy?: Partial<LokiOptions>;
}

const POLICY: LokiOptions = {
  sloFraction: 0.5,
  headroom: 0,
  oneBatchPerVariant: true,
  solver: "auto",
  solveLimitMs: 10_000,
  routing: "plan",
  drop: "none",
  stagePolicy: "fixed",
  modelLoadMs: 0,
};

/** A valid bundle in memory of a pipeline and hand-made plans, frozen but for its tables. */
export function lokiBundle(sketch: LokiSketch): LokiBundle {
  const pools = (sketch.workers ?? [4]).map(poolOf);
  const tasks = sketch.tasks.map((task) => taskOf(sketch.tasks, task, pools.length));
  const leaves = leavesOf(sketch.tasks, tasks);
  return freeze({
    application: "pipeline",
    method: "loki",
    slo: { latencyMs: sketch.sloMs ?? 250, maxViolationRate: null, percentile: 99 },
    arrivals: { process: "poisson" },
    cluster: { communicationLatencyMs: sketch.communicationLatencyMs ?? 0, pools },
    tasks,
    leaves,
    policy: { ...POLICY, ...sketch.policy },
    levels: sketch.levels.map((level) => levelOf(sketch, level, tasks, leaves)),
    provenance: { compiler: "pipeline-bundle", inputs: [] },
  });
}

function poolOf(workers: number, index: number): Pool {
  return { name: `pool${index}`, hardware: "none", workers, cores: null, pricePerHour: null };
}

function taskOf(sketches: readonly TaskSketch[], task: TaskSketch, poolCount: number) {
  const parent = sketches.findIndex(({ name }) => name === task.parent);
  const children = sketches.filter((child) => child.parent === task.name);
  const variants = task.variants.map(
    ({ name, accuracy, latencyMs, fanouts }): PipelineVariant => ({
      name,
      accuracy,
      model: null,
      fanouts: children.map((child) => fanouts?.[child.name] ?? 1),
      profiles: Array.from({ length: poolCount }, () => profileOf(name, latencyMs)),
    }),
  );
  return {
    name: task.name,
    parent: parent < 0 ? null : parent,
    entryShare: task.entryShare ?? 1,
    feed: null,
    variants,
  } satisfies PipelineTask;
}

function profileOf(variant: string, latencyMs: VariantSketch["latencyMs"]): PoolProfile {
  const batches = Uint16Array.from(Object.keys(latencyMs), Number).sort();
  const maxBatch = batches.at(-1) ?? 1;
  const measured = Float64Array.from(batches, (batch) => latencyMs[batch] ?? Number.NaN);
  const all = Float64Array.from({ length: maxBatch }, (_, index) =>
    interpolate(batches, measured, index + 1),
  );
  return {
    profile: { file: "sketch.json", variant, hardware: "none", sha256: "0".repeat(64) },
    batches: { dtype: "uint16", shape: [batches.length], data: batches },
    latencyMs: { dtype: "float64", shape: [batches.length], data: measured },
    serviceTimes: {
      percentile: 50,
      decisionMs: { dtype: "float64", shape: [1, maxBatch], data: all },
      quantiles: null,
    },
  };
}

function interpolate(batches: Uint16Array, ms: Float64Array, batch: number): number {
  const above = batches.findIndex((measured) => measured >= batch);
  const [to = 0, toMs = 0] = [batches[above], ms[above]];
  if (above === 0 || to === batch) return toMs;
  const [from = 0, fromMs = 0] = [batches[above - 1], ms[above - 1]];
  return fromMs + ((toMs - fromMs) * (batch - from)) / (to - from);
}

function leavesOf(sketches: readonly TaskSketch[], tasks: readonly PipelineTask[]): Leaf[] {
  const indices = tasks.flatMap((_, task) => (tasks.some((t) => t.parent === task) ? [] : [task]));
  return indices.map((task) => {
    const path = pathTo(tasks, task).map((along) => tasks[along]?.variants ?? []);
    const products = path.reduce<number[]>(
      (all, variants) => all.flatMap((a) => variants.map(({ accuracy }) => a * accuracy)),
      [1],
    );
    return {
      task,
      weight: sketches[task]?.weight ?? 1 / indices.length,
      accuracyByPath: {
        dtype: "float64",
        shape: path.map(({ length }) => length),
        data: Float64Array.from(products),
      },
    };
  });
}

function pathTo(tasks: readonly PipelineTask[], leaf: number): number[] {
  const path: number[] = [];
  for (let task: number | null = leaf; task !== null; task = tasks[task]?.parent ?? null) {
    path.unshift(task);
  }
  return path;
}

function levelOf(
  sketch: LokiSketch,
  level: LevelSketch,
  tasks: readonly PipelineTask[],
  leaves: readonly Leaf[],
): LokiLevel {
  const instances = level.instances.map((instance) => instanceOf(tasks, instance));
  const nodes = nodesOf(tasks, leaves, level);
  const expected = { accuracyPerSatisfied: 0, accuracyPerQuery: 0, violationRate: 0 };
  return {
    loadQps: level.loadQps,
    feasible: true,
    capacityQps: sketch.levels.at(-1)?.loadQps ?? 0,
    plan: {
      step: level.step ?? "accuracy",
      demandQps: level.loadQps,
      servers: instances.reduce((total, { replicas }) => total + replicas, 0),
      accuracy: planAccuracy(leaves, instances, nodes),
      instances,
      nodes,
    },
    stages: level.stages ?? null,
    transition: { modelLoadsFromBelow: null, modelLoadsFromAbove: null },
    expected: { ...expected, latencyMsP50: 0, latencyMsP99: 0, seed: 1, durationMs: 1 },
    solve: { method: "sketch", status: "feasible", gap: 1, rows: 0, columns: 0, nodes: 0 },
  };
}

function instanceOf(tasks: readonly PipelineTask[], sketch: InstanceSketch): PlannedInstance {
  const { task, variant } = lookUp(tasks, sketch.of);
  const pool = sketch.pool ?? 0;
  const profile = tasks[task]?.variants[variant]?.profiles[pool];
  const latencyMs = profile?.serviceTimes.decisionMs.data[sketch.batch - 1];
  if (latencyMs === undefined) throw new Error(`${sketch.of} has no batch of ${sketch.batch}`);
  const { batch, replicas } = sketch;
  return {
    task,
    variant,
    pool,
    batch,
    replicas,
    latencyMs,
    throughputQps: (1000 * batch) / latencyMs,
  };
}

function lookUp(tasks: readonly PipelineTask[], name: string): { task: number; variant: number } {
  const [taskName, variantName] = name.split("/");
  const task = tasks.findIndex((t) => t.name === taskName);
  const variant = tasks[task]?.variants.findIndex((v) => v.name === variantName) ?? -1;
  if (variant < 0) throw new Error(`there is no ${name}`);
  return { task, variant };
}

/**
 * The tree of the paths; where paths of several leaves share their beginning, those of the first
 * leaf count.
 */
function nodesOf(tasks: readonly PipelineTask[], leaves: readonly Leaf[], level: LevelSketch) {
  const byPrefix = new Map<string, { parent: number | null; instance: number; ratio: number }>();
  const indexOf = [] as string[];
  const seen = new Map<string, number>();
  for (const leaf of leaves) {
    for (const { along, ratio } of level.paths) {
      const last = along.at(-1)?.split("@")[0] ?? "";
      if (lookUp(tasks, last).task !== leaf.task) continue;
      let parent: number | null = null;
      for (let length = 1; length <= along.length; length++) {
        const prefix = along.slice(0, length).join(" ");
        let node = byPrefix.get(prefix);
        if (node === undefined) {
          node = { parent, instance: instanceIndex(level, along[length - 1] ?? ""), ratio: 0 };
          byPrefix.set(prefix, node);
          seen.set(prefix, leaf.task);
          indexOf.push(prefix);
        }
        if (seen.get(prefix) === leaf.task) node.ratio += ratio;
        parent = indexOf.indexOf(prefix);
      }
    }
  }
  return [...byPrefix.values()] satisfies PlanNode[];
}

function instanceIndex(level: LevelSketch, name: string): number {
  const [of, at] = name.split("@");
  const index = at === undefined ? level.instances.findIndex((i) => i.of === of) : Number(at);
  if (level.instances[index]?.of !== of) throw new Error(`no instance runs ${name}`);
  return index;
}

function planAccuracy(
  leaves: readonly Leaf[],
  instances: readonly PlannedInstance[],
  nodes: readonly PlanNode[],
): number {
  let accuracy = 0;
  for (const { task, weight, accuracyByPath } of leaves) {
    if (accuracyByPath === null) throw new Error("samples have tables");
    for (const node of nodes) {
      if (instances[node.instance]?.task !== task) continue;
      let cell = 0;
      let stride = 1;
      let axis = accuracyByPath.shape.length - 1;
      for (let at: PlanNode | undefined = node; at; axis--) {
        cell += stride * (instances[at.instance]?.variant ?? 0);
        stride *= accuracyByPath.shape[axis] ?? 1;
        at = at.parent === null ? undefined : nodes[at.parent];
      }
      accuracy += weight * node.ratio * (accuracyByPath.data[cell] ?? Number.NaN);
    }
  }
  return accuracy;
}

function freeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return value;
  for (const field of Object.values(value)) freeze(field);
  return Object.freeze(value);
}
