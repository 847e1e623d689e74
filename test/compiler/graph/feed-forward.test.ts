import { describe, expect, it } from "vitest";
import { FeedForward } from "../../../compiler/graph/feed-forward.ts";
import { simulateInferline } from "../../../compiler/methods/inferline/simulate/simulate.ts";
import { type RequestTrace, tossWays } from "../../../compiler/simulate/graph/visits.ts";
import type { InferlineBundle } from "../../../runtime/bundle/schema.ts";
import { taskGraphOf } from "../../../runtime/core/graph/task-graph.ts";
import { Rng } from "../../../runtime/core/rng.ts";
import { casesOf } from "../../support/cases.ts";
import { randomFanoutBundle } from "../../support/fanout-random.ts";
import { inferlineBundle } from "../../support/inferline-bundle.ts";
import { problemAndPlan } from "../../support/inferline-problem.ts";
import { randomInferlineBundle } from "../../support/inferline-random.ts";

/** On a grid, so that much happens at the same time; off it every other seed. */
function randomTrace(bundle: InferlineBundle, seed: number, count: number): RequestTrace {
  const rng = new Rng(seed, 78);
  const grid = seed % 2 === 0;
  const arrivalMs = Float64Array.from({ length: count }, () => {
    const ms = 4 * count * rng.nextFloat();
    return grid ? Math.floor(ms) : ms;
  }).sort();
  return { arrivalMs, ...tossWays(taskGraphOf(bundle), count, seed) };
}

function feedForward(bundle: InferlineBundle, trace: RequestTrace): FeedForward {
  const { problem, configuration } = problemAndPlan(bundle);
  const estimate = new FeedForward(problem, trace, problem.sloMs);
  for (const [stage, one] of configuration.entries()) {
    estimate.prepare(stage);
    estimate.serve(stage, one, Number.POSITIVE_INFINITY);
  }
  return estimate;
}

function simulated(bundle: InferlineBundle, trace: RequestTrace) {
  return simulateInferline(bundle, {
    arrivals: { kind: "requests", trace },
    durationMs: 1000,
    seed: 1,
    serviceTimes: "p95",
    withLatencies: true,
  });
}

describe("the feed-forward pass and the discrete-event simulation", () => {
  it("agree bit for bit on random pipelines with joins, chances, batches and ties", () => {
    let joins = 0;
    let late = 0;
    for (let seed = 1; seed <= 400; seed++) {
      const bundle = randomInferlineBundle(seed);
      const trace = randomTrace(bundle, seed, 300);
      const estimate = feedForward(bundle, trace);
      const outcome = simulated(bundle, trace);
      expect(estimate.latenciesMs(), `seed ${seed}`).toEqual(outcome.latencyMsByRequest);
      expect(estimate.misses(), `seed ${seed}`).toBe(outcome.late);
      joins += bundle.tasks.filter(({ edges }) => edges.length > 1).length;
      late += outcome.late;
    }
    // The comparison means something only if these occur.
    expect(joins).toBeGreaterThan(150);
    expect(late).toBeGreaterThan(1000);
  });

  it("agree bit for bit on random pipelines whose rows multiply and are gathered", () => {
    const seen = { spread: 0, gather: 0, windows: 0, nested: 0, joins: 0, late: 0 };
    for (let seed = 1; seed <= casesOf(800, 4); seed++) {
      const bundle = randomFanoutBundle(seed);
      const trace = randomTrace(bundle, seed, 120);
      const estimate = feedForward(bundle, trace);
      const outcome = simulated(bundle, trace);
      expect(estimate.latenciesMs(), `seed ${seed}`).toEqual(outcome.latencyMsByRequest);
      expect(estimate.misses(), `seed ${seed}`).toBe(outcome.late);
      const { scopes } = taskGraphOf(bundle);
      for (const { edges } of bundle.tasks) {
        for (const { fanout, gather } of edges) {
          if (fanout !== undefined) seen.spread++;
          if (gather === "all") seen.gather++;
          if (typeof gather === "number") seen.windows++;
        }
        if (edges.length > 1) seen.joins++;
      }
      seen.nested += scopes.filter(({ parent }) => parent > 0).length;
      seen.late += outcome.late;
    }
    // The comparison means something only if these occur.
    expect(Math.min(...Object.values(seen))).toBeGreaterThan(40);
  });

  it("agree on a long overloaded chain", () => {
    const bundle = inferlineBundle({
      tasks: [
        { name: "a", latencyMs: { 1: 5, 8: 9 } },
        { name: "b", from: { a: 1 }, latencyMs: { 1: 3, 4: 7 } },
      ],
      levels: [
        {
          loadQps: 100,
          stages: [
            [8, 1],
            [4, 2],
          ],
        },
      ],
    });
    const trace = randomTrace(bundle, 2, 20_000);
    expect(feedForward(bundle, trace).latenciesMs()).toEqual(
      simulated(bundle, trace).latencyMsByRequest,
    );
  });
});

describe("the feed-forward pass", () => {
  it("takes what waits when a replica becomes idle, and no more", () => {
    const bundle = inferlineBundle({
      tasks: [{ name: "a", latencyMs: { 1: 10, 2: 12, 4: 16 } }],
      levels: [{ loadQps: 100, stages: [[4, 1]] }],
    });
    // Alone until 10; then the three that came meanwhile, the one at 10 among them, as a batch
    // between two profiled sizes.
    const arrivalMs = Float64Array.from([0, 1, 9, 10]);
    const estimate = feedForward(bundle, { arrivalMs, takenByEdge: [null] });
    expect([...estimate.latenciesMs()]).toEqual([10, 25, 17, 16]);
  });

  it("lets a join wait for the last of its verdicts", () => {
    const bundle = inferlineBundle({
      tasks: [
        { name: "fast", latencyMs: { 1: 2 } },
        { name: "slow", latencyMs: { 1: 9 } },
        { name: "join", from: { fast: 1, slow: 1 }, latencyMs: { 1: 1 } },
      ],
      levels: [
        {
          loadQps: 100,
          stages: [
            [1, 1],
            [1, 1],
            [1, 1],
          ],
        },
      ],
      communicationLatencyMs: 0.5,
    });
    const estimate = feedForward(bundle, {
      arrivalMs: Float64Array.from([0]),
      takenByEdge: [null, null, null, null],
    });
    expect([...estimate.latenciesMs()]).toEqual([0.5 + 9 + 0.5 + 1]);
  });

  it("counts the requests that are late for certain, stage by stage", () => {
    const bundle = inferlineBundle({
      tasks: [
        { name: "a", latencyMs: { 1: 10 } },
        { name: "b", from: { a: 1 }, latencyMs: { 1: 10 } },
      ],
      levels: [
        {
          loadQps: 100,
          stages: [
            [1, 1],
            [1, 1],
          ],
        },
      ],
      sloMs: 25,
    });
    const { problem, configuration } = problemAndPlan(bundle);
    const trace = { arrivalMs: Float64Array.from([0, 1, 2]), takenByEdge: [null, null] };
    const estimate = new FeedForward(problem, trace, problem.sloMs);
    estimate.prepare(0);
    // They leave the first stage at 10, 20 and 30, and need 10 more; deadlines are 25, 26 and 27.
    expect(estimate.serve(0, configuration[0] ?? { hardware: 0, batch: 1, replicas: 1 }, 9)).toBe(
      2,
    );
  });
});
