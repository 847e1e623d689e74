import type { ScalingProblem, ScalingTask } from "../../compiler/methods/themis/solve/problem.ts";
import type { ScalingMode } from "../../compiler/methods/themis/solve/task-options.ts";
import { Rng } from "../../runtime/core/rng.ts";
import { endToEndMs } from "./themis-check.ts";

export interface RandomScaling {
  readonly problem: ScalingProblem;
  readonly modes: readonly ScalingMode[];
}

/**
 * A zigzag is the least graph that is not series-parallel: of two entries one leads to both ends,
 * the other to one.
 */
type Shape = "chain" | "graph" | "zigzag";

interface Size {
  readonly stages: number;
  readonly maxBatch: number;
  readonly maxCores: number;
}

/**
 * The same problem and modes for the same seed. Often times are whole, and the SLO is exactly what
 * some combination takes.
 */
export function randomScaling(seed: number, shape: Shape, most: Size): RandomScaling {
  const rng = new Rng(seed, 17);
  const upTo = (limit: number) => Math.floor(limit * rng.nextFloat());
  const between = (low: number, high: number) => low + (high - low) * rng.nextFloat();
  const isWhole = rng.nextFloat() < 0.4;
  const count =
    shape === "zigzag" ? 4 : shape === "chain" ? 1 + upTo(most.stages) : most.stages - upTo(3);
  const loadQps = isWhole ? ([1, 2, 5, 10, 20][upTo(5)] ?? 1) : between(0.5, 40);
  const density = between(0.2, 0.9);
  const stages = Array.from({ length: count }, (_, at): ScalingTask => {
    const maxBatch = 1 + upTo(most.maxBatch);
    const maxCores = 1 + upTo(most.maxCores);
    return {
      parents: parentsOf(shape, at, () => rng.nextFloat() < density),
      scale: isWhole || rng.nextFloat() < 0.5 ? 1 : between(0.2, 3),
      maxBatch,
      maxCores,
      latencyMs: randomTable(rng, maxBatch, maxCores, isWhole),
    };
  });
  const hopMs = rng.nextFloat() < 0.5 ? 0 : isWhole ? 2 : between(0, 10);
  const draft = { loadQps, hopMs, sloMs: 1, stages };
  const someMs = endToEndMs(
    draft,
    stages.map(({ maxBatch, maxCores }) => {
      return { batch: 1 + upTo(maxBatch), cores: 1 + upTo(maxCores), instances: 1 };
    }),
  );
  const isTight = rng.nextFloat() < 0.6 && someMs < Number.POSITIVE_INFINITY;
  const sloMs = isTight ? someMs : between(20, 400 * count);
  const instances = stages.map(() => 1 + upTo(6));
  const modes: readonly ScalingMode[] = [
    { kind: "joint" },
    { kind: "horizontal" },
    { kind: "vertical", instances: stages.map(() => 1) },
    { kind: "vertical", instances },
    { kind: "vertical", instances, leastCores: stages.map(({ maxCores }) => 1 + upTo(maxCores)) },
    { kind: "sized", cores: stages.map(({ maxCores }) => 1 + upTo(maxCores)) },
  ];
  return { problem: { ...draft, sloMs }, modes };
}

function parentsOf(shape: Shape, at: number, isEdge: () => boolean): readonly number[] {
  if (shape === "zigzag") return [[], [], [0], [0, 1]][at] ?? [];
  const before = Array.from({ length: at }, (_, parent) => parent);
  return shape === "chain" ? before.slice(-1) : before.filter(isEdge);
}

/**
 * From one of two families: l(b, c) as it is fitted, or rows with no order at all and cells that
 * may not run.
 */
function randomTable(rng: Rng, maxBatch: number, maxCores: number, isWhole: boolean): Float64Array {
  const isFitted = rng.nextFloat() < 0.5;
  const [gamma, epsilon, delta, eta] = [80, 60, 20, 30].map((top) => top * rng.nextFloat());
  return Float64Array.from({ length: maxBatch * maxCores }, (_, at) => {
    const batch = 1 + (at % maxBatch);
    const cores = 1 + Math.floor(at / maxBatch);
    if (!isFitted && at > 0 && rng.nextFloat() < 0.1) return Number.POSITIVE_INFINITY;
    const ms = isFitted
      ? ((gamma ?? 0) * batch + (epsilon ?? 0)) / cores + (delta ?? 0) * batch + (eta ?? 0)
      : 300 * rng.nextFloat();
    return isWhole ? Math.ceil(ms) + 1 : ms + 0.1;
  });
}
