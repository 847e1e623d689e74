/**
 * The estimator on an hour of 300 requests/s, and plans for four stages on three kinds of hardware.
 */

import { FeedForward } from "stratagem/internal/graph/feed-forward";
import { simulateInferline } from "stratagem/internal/methods/inferline/simulate/simulate";
import { provision } from "stratagem/internal/methods/inferline/solve/provision";
import { drawRequests } from "stratagem/internal/simulate/graph/drawn-requests";
import type { InferlineBundle } from "stratagem-runtime/internal/bundle/schema";
import { taskGraphOf } from "stratagem-runtime/internal/core/graph/task-graph";
import { bench, describe } from "vitest";
import { type InferlineTaskSketch, inferlineBundle } from "../../test/support/inferline-bundle.ts";
import { problemAndPlan } from "../../test/support/inferline-problem.ts";

const HOUR_MS = 3_600_000;
const LATENCY = { 1: 20, 2: 24, 4: 32, 8: 48, 16: 80 };

const CHAIN: readonly InferlineTaskSketch[] = [
  { name: "a", latencyMs: LATENCY },
  { name: "b", from: { a: 1 }, latencyMs: { 1: 8, 2: 10, 4: 14, 8: 22 } },
  { name: "c", from: { b: 1 }, latencyMs: LATENCY },
];

const JOIN: readonly InferlineTaskSketch[] = [
  { name: "a", latencyMs: { 1: 8, 2: 10, 4: 14, 8: 22 } },
  { name: "b", from: { a: 1 }, latencyMs: LATENCY },
  { name: "c", from: { a: 0.6 }, latencyMs: LATENCY },
  { name: "d", from: { b: 1, c: 1 }, latencyMs: { 1: 8, 2: 10, 4: 14, 8: 22 } },
  { name: "e", from: { d: 0.5 }, latencyMs: LATENCY },
];

function served(tasks: readonly InferlineTaskSketch[]): InferlineBundle {
  return inferlineBundle({
    tasks,
    sloMs: 350,
    workers: [100],
    levels: [{ loadQps: 300, stages: tasks.map(() => [8, 6]) }],
  });
}

describe("1.08 million requests, an hour of 300/s, CV² 4", () => {
  for (const [name, tasks] of [
    ["three stages", CHAIN],
    ["five stages with a join", JOIN],
  ] as const) {
    const bundle = served(tasks);
    const arrivals = { kind: "gamma", qps: 300, cv2: 4 } as const;
    const trace = drawRequests(taskGraphOf(bundle), arrivals, HOUR_MS, 1);
    const { problem, configuration } = problemAndPlan(bundle);
    const estimate = new FeedForward(problem, trace, problem.sloMs);
    bench(
      `feed-forward, ${name}`,
      () => {
        for (const [stage, one] of configuration.entries()) {
          estimate.prepare(stage);
          estimate.serve(stage, one, Number.POSITIVE_INFINITY);
        }
        if (estimate.misses() === estimate.requestCount) throw new Error("some are in time");
      },
      { iterations: 10, time: 0 },
    );
    bench(
      `discrete events, ${name}`,
      () => {
        const options = { durationMs: HOUR_MS, seed: 1, serviceTimes: "p95" } as const;
        simulateInferline(bundle, { ...options, arrivals: { kind: "requests", trace } });
      },
      { iterations: 2, time: 0, warmupIterations: 0, warmupTime: 0 },
    );
  }
});

describe("a plan for four stages on three kinds of hardware, 120 s of 150/s, CV² 4", () => {
  const bundle = inferlineBundle({
    tasks: [60, 100, 30, 50].map((ms, index) => ({
      name: `stage${index}`,
      ...(index === 0 ? {} : { from: { [`stage${index - 1}`]: index === 2 ? 0.6 : 1 } }),
      latencyMs: [1, 0.25, 0.1].map((part, pool) => {
        const slope = [0.9, 0.3, 0.12][pool] ?? 1;
        return Object.fromEntries(
          [1, 2, 4, 8, 16].map((batch) => [batch, part * ms * (1 + slope * (batch - 1))]),
        );
      }),
    })),
    sloMs: 300,
    workers: [1000, 1000, 1000],
    prices: [0.0665, 0.7005, 2.5945],
    levels: [{ loadQps: 150, stages: [60, 100, 30, 50].map(() => [1, 1]) }],
  });
  const arrivals = { kind: "gamma", qps: 150, cv2: 4 } as const;
  const trace = drawRequests(taskGraphOf(bundle), arrivals, 120_000, 1);
  const { problem } = problemAndPlan(bundle);
  for (const refine of ["none", "exact"] as const) {
    bench(
      refine === "none" ? "greedy" : "greedy and exact",
      () => {
        const options = { sloMs: problem.sloMs, refine, queryLimit: 4e8 };
        const { configuration } = provision(problem, [trace], options);
        if (configuration === null) throw new Error("there is a plan");
      },
      { iterations: 5, time: 0 },
    );
  }
});
