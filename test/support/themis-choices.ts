/** Frames of scaled tasks with several variants and pools, drawn or made by hand. */

import { themis } from "../../compiler/methods/themis/solve/themis.ts";
import type { ThemisFrame } from "../../compiler/model/frames.ts";
import type {
  Pool,
  ScaledTask,
  ScaledVariant,
  ThemisBundle,
  ThemisOptions,
} from "../../runtime/bundle/schema.ts";
import { Rng } from "../../runtime/core/rng.ts";
import { themisBundle } from "./themis-bundle.ts";

export interface VariantSketch {
  readonly name: string;
  readonly accuracy: number;
  readonly pool?: number;
  /** ms by cores less one and batch less one. */
  readonly latencyMs: readonly (readonly number[])[];
}

export interface ChoiceSketch {
  /** By task, each behind the one before. */
  readonly tasks: readonly (readonly VariantSketch[])[];
  readonly pools: readonly Pick<Pool, "workers" | "cores" | "pricePerHour">[];
  readonly sloMs: number;
  readonly policy?: Partial<ThemisOptions>;
}

/** A chain of tasks. */
export function choiceFrame({ tasks, pools, sloMs, policy = {} }: ChoiceSketch): ThemisFrame {
  const { levels: _, transitions: __, provenance: ___, ...plain } = themisBundle({ sloMs });
  return {
    ...plain,
    cluster: {
      communicationLatencyMs: 0,
      pools: pools.map((pool, index) => ({ name: `pool-${index}`, hardware: "cpu", ...pool })),
    },
    tasks: tasks.map((variants, task): ScaledTask => {
      const parent = task === 0 ? null : task - 1;
      return {
        name: `task-${task}`,
        edges: [{ parent, share: 1, feed: null }],
        branch: "independent",
        scaleFactor: 1,
        variants: variants.map(variantOf),
      };
    }),
    policy: { ...plain.policy, maxBatch: 8, maxCores: 8, ...policy },
  };
}

/** Its levels and what becomes of them at once. */
export function choiceBundle(sketch: ChoiceSketch, loadsQps: readonly number[]): ThemisBundle {
  const frame = choiceFrame(sketch);
  const scaler = themis.open(frame);
  const levels = loadsQps.map((loadQps) => scaler.scaleLevel(loadQps));
  const provenance = { compiler: "choice-bundle", inputs: [] };
  return { ...frame, levels, transitions: scaler.transitions(levels), provenance };
}

function variantOf({ name, accuracy, pool = 0, latencyMs }: VariantSketch): ScaledVariant {
  const shape = [latencyMs.length, latencyMs[0]?.length ?? 0];
  return {
    name,
    accuracy,
    model: null,
    profile: { file: "sketch.json", variant: name, hardware: "cpu", sha256: "0".repeat(64) },
    ...(pool === 0 ? {} : { pool }),
    latency: {
      ms: { dtype: "float64", shape, data: Float64Array.from(latencyMs.flat()) },
      fit: null,
      points: { dtype: "float64", shape: [0, 3], data: new Float64Array(0) },
    },
  };
}

/** One or two tasks of up to three variants, in up to two pools of small machines. */
export function randomChoices(seed: number): { sketch: ChoiceSketch; loadQps: number } {
  const rng = new Rng(seed, 0);
  const whole = (most: number): number => 1 + Math.floor(rng.nextFloat() * most);
  const pools = Array.from({ length: whole(2) }, () => ({
    workers: whole(3),
    cores: whole(3),
    pricePerHour: whole(9) / 7,
  }));
  const tasks = Array.from({ length: whole(2) }, (_, task) =>
    Array.from({ length: whole(3) }, (_unused, index) => index).flatMap((index) => {
      const accuracy = 0.6 + whole(4) / 10;
      const runs = pools.flatMap((pool, at) => (rng.nextFloat() < 0.7 ? [{ pool, at }] : []));
      const [first] = pools;
      const where = runs.length === 0 && first !== undefined ? [{ pool: first, at: 0 }] : runs;
      return where.map(({ pool, at }): VariantSketch => {
        const aloneMs = 5 + 20 * rng.nextFloat();
        const latencyMs = Array.from({ length: pool.cores }, (_one, cores) =>
          [1, 2].map((batch) => (aloneMs * (0.5 + batch / 2)) / (1 + 0.7 * cores)),
        );
        return { name: `v${task}${index}`, accuracy, pool: at, latencyMs };
      });
    }),
  );
  const policy = { queueing: "paper", maxBatch: 2, maxCores: 3 } as const;
  const sketch = { tasks, pools, sloMs: 15 + 30 * rng.nextFloat(), policy };
  return { sketch, loadQps: 20 + 180 * rng.nextFloat() };
}

/**
 * A bundle whose tasks have a second variant each, twice as fast, that some of the plans have; by
 * the seed it is in a second pool like the first.
 */
export function withSecondVariants(bundle: ThemisBundle, seed: number): ThemisBundle {
  const rng = new Rng(seed, 0);
  const hasPools = rng.nextFloat() < 0.5;
  const tasks = bundle.tasks.map((task): ScaledTask => {
    const [first] = task.variants;
    if (first === undefined) throw new RangeError("a task has a variant");
    const { shape, data } = first.latency.ms;
    const ms = {
      dtype: "float64",
      shape,
      data: Float64Array.from(data, (one) => one / 2),
    } as const;
    const second = { ...first, name: `${first.name}-2`, accuracy: first.accuracy / 2 };
    const latency = { ...first.latency, ms };
    return { ...task, variants: [first, { ...second, ...(hasPools ? { pool: 1 } : {}), latency }] };
  });
  const levels = bundle.levels.map((level) => {
    const stages = level.steady.stages.map((stage) =>
      rng.nextFloat() < 0.5 ? { ...stage, variant: 1 } : stage,
    );
    return { ...level, steady: { ...level.steady, stages } };
  });
  const { pools } = bundle.cluster;
  const others = hasPools ? pools.map((pool) => ({ ...pool, name: "second" })) : [];
  return { ...bundle, tasks, levels, cluster: { ...bundle.cluster, pools: [...pools, ...others] } };
}
