/** Promised batch times of bundles, for their measurement. */
import type {
  AccordionBundle,
  Cluster,
  PoolProfile,
  RamsisBundle,
  ThemisBundle,
} from "../../bundle/schema.ts";
import { type ProfiledCells, profiledOf } from "./service-times.ts";

/** Kinds are buckets. */
export function ramsisCells({ tasks, buckets, cluster }: RamsisBundle): ProfiledCells {
  const [task] = tasks;
  return {
    variants: (task?.variants ?? []).map(({ name }) => ({ variant: name })),
    kindLabels: (kind) => (buckets === undefined ? {} : { bucket: buckets[kind]?.name ?? "" }),
    profiled: (variant, rows, kind) => {
      const times = buckets === undefined ? task : buckets[kind];
      return profiledOf(times?.serviceTimes, variant, rows);
    },
    contention: cluster.serving?.contention,
  };
}

interface PooledBundle {
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
export function pooledCells({ cluster, tasks }: PooledBundle): ProfiledCells {
  const { pools } = cluster;
  const variants = tasks.flatMap((task) => task.variants);
  return {
    variants: tasks.flatMap(({ name, variants: own }) =>
      own.map((variant) => ({ task: name, variant: variant.name })),
    ),
    kindLabels: (kind) => (pools.length === 1 ? {} : { pool: pools[kind]?.name ?? "" }),
    profiled: (variant, rows, kind) =>
      profiledOf(variants[variant]?.profiles[kind]?.serviceTimes, 0, rows),
    contention: cluster.serving?.contention,
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

/** Kinds are cores; more than were profiled are as the most. */
export function scaledCells({ tasks, cluster }: ThemisBundle): ProfiledCells {
  const variants = tasks.flatMap((task) => task.variants);
  return {
    variants: tasks.flatMap(({ name, variants: own }) =>
      own.map((variant) => ({ task: name, variant: variant.name })),
    ),
    kindLabels: (kind) => ({ cores: String(kind) }),
    profiled: (variant, rows, kind) => {
      const { ms } = variants[variant]?.latency ?? {};
      const [maxCores = 0, maxBatch = 0] = ms?.shape ?? [];
      if (ms === undefined || rows > maxBatch) return undefined;
      const decisionMs = ms.data[(Math.min(kind, maxCores) - 1) * maxBatch + rows - 1];
      return decisionMs === undefined ? undefined : { p50Ms: decisionMs, decisionMs };
    },
    contention: cluster.serving?.contention,
  };
}

/** Variants are the stages of all models, one row at a time; kinds are pools. */
export function stageCells({ tasks, cluster }: AccordionBundle): ProfiledCells {
  const { pools } = cluster;
  const models = tasks.flatMap((task) => task.variants);
  const stages = models.flatMap(({ name, stages: own, pipelines }) =>
    own.map(({ from, to }) => ({ name, from, to, pipelines })),
  );
  return {
    variants: stages.map(({ name, from, to }) => ({ variant: name, stage: `${from}-${to}` })),
    kindLabels: (kind) => (pools.length === 1 ? {} : { pool: pools[kind]?.name ?? "" }),
    profiled: (variant, _rows, kind) => {
      const stage = stages[variant];
      const decisionMs = stage === undefined ? undefined : stageMsOf(stage, kind);
      return decisionMs === undefined ? undefined : { p50Ms: decisionMs, decisionMs };
    },
    contention: cluster.serving?.contention,
  };
}

interface Stage {
  readonly from: number;
  readonly to: number;
  readonly pipelines: AccordionBundle["tasks"][number]["variants"][number]["pipelines"];
}

/** Longest time in any pipeline; undefined where no pipeline has the stage on the pool. */
function stageMsOf({ from, to, pipelines }: Stage, pool: number): number | undefined {
  let found: number | undefined;
  for (const pipeline of pipelines) {
    if (pipeline === null) continue;
    let end = 0;
    for (const [index, layers] of pipeline.cut.entries()) {
      end += layers;
      const isIt = end - layers === from && end === to && pipeline.pools[index] === pool;
      const ms = pipeline.stageMs[index];
      if (isIt && ms !== undefined && !(ms <= (found ?? 0))) found = ms;
    }
  }
  return found;
}
