/** Promised batch times of bundles, for their measurement. */
import type {
  AccordionBundle,
  Cluster,
  LatencyByCores,
  PoolProfile,
  RamsisBundle,
  Slo,
  ThemisBundle,
} from "../../bundle/schema.ts";
import { KNOT_COUNT, quantileKnots } from "../../core/quantile-distribution.ts";
import { type ProfiledCells, type ProfiledTime, profiledOf } from "./service-times.ts";

/** Kinds are buckets. */
export function ramsisCells({ tasks, buckets, cluster, slo }: RamsisBundle): ProfiledCells {
  const [task] = tasks;
  return {
    sloMs: slo.latencyMs,
    variants: (task?.variants ?? []).map(({ name }) => ({ variant: name })),
    kindLabels: (kind) => (buckets === undefined ? {} : { bucket: buckets[kind]?.name ?? "" }),
    profiled: (variant, rows, kind) => {
      const times = buckets === undefined ? task : buckets[kind];
      return profiledOf(times?.serviceTimes, variant, rows);
    },
    contention: cluster.serving?.contention,
    jitterMs: cluster.serving?.wakeMs.p95,
  };
}

interface PooledBundle {
  readonly slo: Pick<Slo, "latencyMs">;
  readonly cluster: Pick<Cluster, "pools" | "serving">;
  readonly tasks: readonly {
    readonly name: string;
    readonly variants: readonly {
      readonly name: string;
      readonly profiles: readonly (PoolProfile | null)[];
    }[];
  }[];
}

/** Kinds are pools. */
export function pooledCells({ cluster, tasks, slo }: PooledBundle): ProfiledCells {
  const { pools } = cluster;
  const variants = tasks.flatMap((task) => task.variants);
  return {
    sloMs: slo.latencyMs,
    variants: tasks.flatMap(({ name, variants: own }) =>
      own.map((variant) => ({ task: name, variant: variant.name })),
    ),
    kindLabels: (kind) => (pools.length === 1 ? {} : { pool: pools[kind]?.name ?? "" }),
    profiled: (variant, rows, kind) =>
      profiledOf(variants[variant]?.profiles[kind]?.serviceTimes, 0, rows),
    contention: cluster.serving?.contention,
    jitterMs: cluster.serving?.wakeMs.p95,
  };
}

/** The pool of a worker or place, by index. */
export function poolOfWorker({
  cluster,
}: Pick<PooledBundle, "cluster">): (worker: number) => number {
  const poolByWorker = cluster.pools.flatMap(({ workers }, pool) =>
    new Array<number>(workers).fill(pool),
  );
  return (worker) => poolByWorker[worker] ?? 0;
}

/**
 * Kinds are cores; more than were profiled are as the most.
 * @param knotsOf quantiles relative to the times of the table, [maxCores, maxBatch, KNOT_COUNT];
 * null where the profile measured none.
 */
export function scaledCells(
  { tasks, cluster, slo }: ThemisBundle,
  knotsOf: (latency: LatencyByCores) => Float64Array | null,
): ProfiledCells {
  const variants = tasks.flatMap((task) => task.variants);
  const knotsByVariant = variants.map(({ latency }) => knotsOf(latency));
  return {
    sloMs: slo.latencyMs,
    variants: tasks.flatMap(({ name, variants: own }) =>
      own.map((variant) => ({ task: name, variant: variant.name })),
    ),
    kindLabels: (kind) => ({ cores: String(kind) }),
    profiled: (variant, rows, kind) => {
      const { ms } = variants[variant]?.latency ?? {};
      const [maxCores = 0, maxBatch = 0] = ms?.shape ?? [];
      const cell = (Math.min(kind, maxCores) - 1) * maxBatch + rows - 1;
      const decisionMs = rows > maxBatch ? undefined : ms?.data[cell];
      if (decisionMs === undefined) return undefined;
      const time = { p50Ms: decisionMs, decisionMs };
      const knots = knotsByVariant[variant]?.slice(cell * KNOT_COUNT, (cell + 1) * KNOT_COUNT);
      return knots === undefined ? time : { ...time, knots: knots.map((one) => one * decisionMs) };
    },
    contention: cluster.serving?.contention,
    jitterMs: cluster.serving?.wakeMs.p95,
  };
}

/** Variants are the stages of all models, one row at a time; kinds are pools. */
export function stageCells({ tasks, cluster, slo }: AccordionBundle): ProfiledCells {
  const { pools } = cluster;
  const models = tasks.flatMap((task) => task.variants);
  const stages = models.flatMap(({ name, stages: own, pipelines }) =>
    own.map(({ from, to }) => ({ name, from, to, pipelines })),
  );
  return {
    sloMs: slo.latencyMs,
    variants: stages.map(({ name, from, to }) => ({ variant: name, stage: `${from}-${to}` })),
    kindLabels: (kind) => (pools.length === 1 ? {} : { pool: pools[kind]?.name ?? "" }),
    profiled: (variant, _rows, kind) => {
      const stage = stages[variant];
      return stage === undefined ? undefined : stageTimeOf(stage, kind);
    },
    contention: cluster.serving?.contention,
    jitterMs: cluster.serving?.wakeMs.p95,
  };
}

interface Stage {
  readonly from: number;
  readonly to: number;
  readonly pipelines: AccordionBundle["tasks"][number]["variants"][number]["pipelines"];
}

/** Longest time in any pipeline; undefined where no pipeline has the stage on the pool. */
function stageTimeOf({ from, to, pipelines }: Stage, pool: number): ProfiledTime | undefined {
  let found: ProfiledTime | undefined;
  for (const pipeline of pipelines) {
    if (pipeline === null) continue;
    let end = 0;
    for (const [index, layers] of pipeline.cut.entries()) {
      end += layers;
      const isIt = end - layers === from && end === to && pipeline.pools[index] === pool;
      const ms = pipeline.stageMs[index];
      if (!isIt || ms === undefined || ms <= (found?.decisionMs ?? 0)) continue;
      const time = { p50Ms: ms, decisionMs: ms };
      const { p50, p95, p99, mean } = pipeline.stageSpreads?.[index] ?? {};
      found =
        p50 === undefined || p95 === undefined || p99 === undefined || mean === undefined
          ? time
          : { ...time, knots: quantileKnots(p50, p95, p99, mean) };
    }
  }
  return found;
}
