import type { Configuration } from "stratagem/internal/graph/served-tasks";
import type { ProvisioningProblem } from "stratagem/internal/methods/inferline/solve/problem";
import { provisioningProblem } from "stratagem/internal/methods/inferline/solve/problem-of";
import { type RequestTrace, tossWays } from "stratagem/internal/simulate/graph/visits";
import type { InferlineBundle } from "stratagem-runtime/internal/bundle/schema";
import { Rng } from "stratagem-runtime/internal/core/rng";
import { type InferlineTaskSketch, inferlineBundle } from "./inferline-bundle.ts";

/** The decision problem of a bundle, and the configuration of its first level. */
export function problemAndPlan(bundle: InferlineBundle): {
  readonly problem: ProvisioningProblem;
  readonly configuration: Configuration;
} {
  const { levels, provenance: _, ...frame } = bundle;
  const problem = provisioningProblem({ ...frame, recorded: null });
  const configuration = (levels[0]?.plan.stages ?? []).map(
    ({ variant, pool, batch, replicas }, stage) => ({
      hardware:
        problem.stages[stage]?.hardware.findIndex(
          (one) => one.variant === variant && one.pool === pool,
        ) ?? -1,
      batch,
      replicas,
    }),
  );
  return { problem, configuration };
}

/**
 * Two or three stages on two kinds of hardware, the dearer one faster, with few replicas to be had.
 */
export function smallProblem(seed: number): { problem: ProvisioningProblem; trace: RequestTrace } {
  const rng = new Rng(seed, 5);
  const below = (limit: number): number => Math.floor(limit * rng.nextFloat());
  const count = 2 + below(2);
  const shapes: InferlineTaskSketch["from"][] = [{ requests: 1 }, { a: below(2) === 0 ? 1 : 0.5 }];
  shapes.push([{ b: 1 }, { a: 0.6, b: 1 }, { a: 0.7 }][below(3)]);
  const tasks = shapes.slice(0, count).map((from, index): InferlineTaskSketch => {
    const base = 4 + below(10);
    return {
      name: "abc"[index] ?? "",
      ...(from === undefined ? {} : { from }),
      latencyMs: [
        { 1: 2 * base, 2: 2 * base + 6 + below(8) },
        { 1: base, 2: base + below(4), 4: base + 2 + below(9) },
      ],
    };
  });
  const bundle = inferlineBundle({
    tasks,
    workers: [3 + below(8), 2 + below(8)],
    prices: [0.1 + 0.1 * below(3), 0.3 + 0.1 * below(5)],
    sloMs: 50 + below(60),
    levels: [{ loadQps: 100, stages: tasks.map(() => [1, 1]) }],
  });
  const { problem } = problemAndPlan(bundle);
  return { problem, trace: drawnTrace(problem, { seed, rng, gapMs: 6 + below(14) }) };
}

/** Two or three stages on three kinds of hardware, of which the dearer is the faster. */
export function threeHardwareProblem(seed: number): {
  problem: ProvisioningProblem;
  trace: RequestTrace;
} {
  const rng = new Rng(seed, 7);
  const below = (limit: number): number => Math.floor(limit * rng.nextFloat());
  const tasks = ["a", "b", "c"].slice(0, 2 + below(2)).map((name, index): InferlineTaskSketch => {
    const base = 3 + below(8);
    return {
      name,
      ...(index === 0 ? {} : { from: { ["abc"[index - 1] ?? ""]: 1 } }),
      latencyMs: [
        { 1: (2 + below(3)) * base, 2: 4 * base + below(4 * base) },
        { 1: base + below(base), 2: 2 * base + 2, 4: 3 * base + below(base) },
        { 1: base, 2: base + 1 + below(3), 4: base + 3 + below(6) },
      ],
    };
  });
  const bundle = inferlineBundle({
    tasks,
    workers: [20, 20, 20],
    prices: [0.1 + 0.1 * below(2), 0.3 + 0.1 * below(3), 0.7 + 0.1 * below(8)],
    sloMs: 40 + below(80),
    levels: [{ loadQps: 100, stages: tasks.map(() => [1, 1]) }],
  });
  const { problem } = problemAndPlan(bundle);
  return { problem, trace: drawnTrace(problem, { seed, rng, gapMs: 3 + below(9) }) };
}

/** Requests that a task cuts into pieces, which are looked at and joined again, as above. */
export function fanoutProblem(seed: number): {
  problem: ProvisioningProblem;
  trace: RequestTrace;
} {
  const rng = new Rng(seed, 6);
  const below = (limit: number): number => Math.floor(limit * rng.nextFloat());
  const gather = below(3) === 0 ? 2 : ("all" as const);
  const from: InferlineTaskSketch["from"][] = [
    { requests: 1 },
    { a: { fanout: 1.5 + 0.7 * below(4), share: below(2) === 0 ? 1 : 0.8 } },
    { b: { gather } },
  ];
  const tasks = from.map((edges, index): InferlineTaskSketch => {
    const base = 2 + below(6);
    const alone = [{ 1: 2 * base }, { 1: base }];
    const batched = [
      { 1: 2 * base, 2: 2 * base + 3 + below(4) },
      { 1: base, 4: base + 2 + below(6) },
    ];
    return {
      name: "abc"[index] ?? "",
      ...(edges === undefined ? {} : { from: edges }),
      latencyMs: index === 2 && gather === "all" ? alone : batched,
    };
  });
  const bundle = inferlineBundle({
    tasks,
    workers: [4 + below(6), 3 + below(6)],
    prices: [0.1 + 0.1 * below(3), 0.3 + 0.1 * below(5)],
    sloMs: 50 + below(60),
    levels: [{ loadQps: 100, stages: tasks.map(() => [1, 1]) }],
  });
  const { problem } = problemAndPlan(bundle);
  return { problem, trace: drawnTrace(problem, { seed, rng, gapMs: 6 + below(10) }) };
}

function drawnTrace(
  { graph }: ProvisioningProblem,
  { seed, rng, gapMs }: { readonly seed: number; readonly rng: Rng; readonly gapMs: number },
): RequestTrace {
  const requests = 150;
  let nowMs = 0;
  const arrivalMs = Float64Array.from({ length: requests }, () => {
    nowMs -= gapMs * Math.log(1 - rng.nextFloat());
    return nowMs;
  });
  return { arrivalMs, ...tossWays(graph, requests, seed) };
}
