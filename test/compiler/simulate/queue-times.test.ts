/** Queue times of simulations, by hand: what a server counts, and nothing of the way to it. */
import { expect, test } from "vitest";
import { simulateAccordion } from "../../../compiler/methods/accordion/simulate/simulate.ts";
import { simulateInferline } from "../../../compiler/methods/inferline/simulate/simulate.ts";
import { simulateLoki } from "../../../compiler/methods/loki/simulate/simulate.ts";
import { simulate } from "../../../compiler/methods/ramsis/simulate/simulate.ts";
import { simulateThemis } from "../../../compiler/methods/themis/simulate/simulate.ts";
import type { ArrivalProcess } from "../../../compiler/simulate/arrivals.ts";
import type { LatencySummary } from "../../../compiler/simulate/latency-sample.ts";
import type { ServingPath } from "../../../runtime/bundle/schema.ts";
import { accordionBundle } from "../../support/accordion-bundle.ts";
import { inferlineBundle } from "../../support/inferline-bundle.ts";
import { at } from "../../support/inferline-latencies.ts";
import { lokiBundle } from "../../support/loki-bundle.ts";
import { onMachine, PATH, servingPath } from "../../support/serving-path.ts";
import { themisBundle } from "../../support/themis-bundle.ts";
import { tinyBundle } from "../../support/tiny-bundle.ts";

const OPTIONS = { durationMs: 1000, seed: 1, serviceTimes: "p95" } as const;
const VARIANTS = [{ name: "v", accuracy: 1, latencyMs: { 1: 40 } }];

interface Times {
  readonly queries: number;
  readonly violationRate: number;
  readonly latencyMs: LatencySummary | null;
  readonly queueMs: LatencySummary | null;
}

function arrivalsAt(arrivalMs: readonly number[]): ArrivalProcess {
  return { kind: "trace", trace: { kind: "arrivals", arrivalMs: Float64Array.from(arrivalMs) } };
}

/** One worker on which every request takes 40 ms, alone in its batch. */
const METHODS: Readonly<
  Record<string, (path: ServingPath, arrivalMs: number[], countedFromMs?: number) => Times>
> = {
  ramsis(path, arrivalMs, countedFromMs = 0) {
    const fixed = { name: "v", accuracy: 1, latencyMs: () => 40 };
    const decide = () => ({ variant: 0, batch: 1 });
    const bundle = onMachine(tinyBundle({ variants: [fixed], decide, sloMs: 1000 }), path);
    const counted = { fromMs: countedFromMs, untilMs: Number.POSITIVE_INFINITY };
    return simulate(bundle, { ...OPTIONS, arrivals: arrivalsAt(arrivalMs), counted });
  },
  loki(path, arrivalMs, countedFromMs = 0) {
    const bundle = lokiBundle({
      sloMs: 10_000,
      tasks: [{ name: "a", variants: VARIANTS }],
      workers: [1],
      levels: [
        {
          loadQps: 20,
          instances: [{ of: "a/v", batch: 1, replicas: 1 }],
          paths: [{ along: ["a/v"], ratio: 1 }],
        },
      ],
    });
    const arrivals = arrivalsAt(arrivalMs);
    return simulateLoki(onMachine(bundle, path), {
      ...OPTIONS,
      fanout: "rounded",
      arrivals,
      countedFromMs,
    });
  },
  inferline(path, arrivalMs, countedFromMs = 0) {
    const bundle = inferlineBundle({
      tasks: [{ name: "a", latencyMs: { 1: 40 } }],
      levels: [{ loadQps: 20, stages: [[1, 1]] }],
    });
    const asked = { ...OPTIONS, arrivals: at(arrivalMs), countedFromMs };
    return simulateInferline(onMachine(bundle, path), asked);
  },
  themis(path, arrivalMs, countedFromMs = 0) {
    const bundle = themisBundle({
      tasks: [{ name: "a", latencyMs: [[40], [30]] }],
      levels: [{ loadQps: 10, steady: [[1, 1, 1]] }],
      sloMs: 1000,
    });
    return simulateThemis(onMachine(bundle, path), {
      ...OPTIONS,
      arrivals: at(arrivalMs),
      level: 0,
      countedFromMs,
    });
  },
  accordion(path, arrivalMs, countedFromMs = 0) {
    const models = [{ name: "even", layerMs: [10, 10, 10, 10] }];
    const bundle = accordionBundle({
      models,
      places: 1,
      maxDepth: 1,
      timing: "pipelined",
      sloMs: 1000,
    });
    const queries = {
      arrivalMs: Float64Array.from(arrivalMs),
      model: new Uint16Array(arrivalMs.length),
      batch: new Uint16Array(arrivalMs.length).fill(1),
      isHigh: new Uint8Array(arrivalMs.length).fill(1),
      deadlineMs: Float64Array.from(arrivalMs, (ms) => ms + 1000),
    };
    const arrivals = { kind: "queries", queries } as const;
    return simulateAccordion(onMachine(bundle, path), { ...OPTIONS, arrivals, countedFromMs });
  },
};

test.each(Object.entries(METHODS))(
  "%s: latency is queue time and service where no path is",
  (_, run) => {
    // They begin at 0, 40 and 80.
    const { latencyMs, queueMs } = run(servingPath(), [0, 10, 25]);
    expect(queueMs).toEqual({ mean: (30 + 55) / 3, p50: 30, p95: 55, p99: 55, max: 55 });
    for (const name of ["mean", "p50", "p99", "max"] as const) {
      expect(latencyMs?.[name]).toBeCloseTo(40 + (queueMs?.[name] ?? Number.NaN), 9);
    }
  },
);

test.each(Object.entries(METHODS))(
  "%s: the path is in the latency and not in the queue time",
  (_, run) => {
    // Read at 2 + 0.25 + 2 and 2 ms later. The first computes, after the worker woke, until 44.5;
    // the second begins then, and its client has the answer 1 + 0.5 + 2 ms after it was computed.
    const { latencyMs, queueMs } = run(PATH, [0, 0]);
    expect(queueMs?.p50).toBe(0);
    expect(queueMs?.max).toBeCloseTo(44.5 - 6.25, 9);
    expect(latencyMs?.max).toBeCloseTo(6.25 + (44.5 - 6.25) + 40 + 3.5, 9);
  },
);

test("in a pipeline the wait for the first batch counts, from the end of the hop to it", () => {
  const bundle = inferlineBundle({
    tasks: [
      { name: "a", latencyMs: { 1: 4 } },
      { name: "b", from: { a: 1 }, latencyMs: { 1: 30 } },
    ],
    levels: [
      {
        loadQps: 20,
        stages: [
          [1, 1],
          [1, 1],
        ],
      },
    ],
  });
  const hopping = { ...bundle, cluster: { ...bundle.cluster, communicationLatencyMs: 3 } };
  const { queueMs, latencyMs } = simulateInferline(hopping, { ...OPTIONS, arrivals: at([0, 1]) });
  expect(queueMs).toMatchObject({ p50: 0, max: 3 });
  // The second waits for the 30 ms of the first between its tasks, too.
  expect(latencyMs?.max).toBe(3 + 4 + 3 + 30 + 30 - 1);
});

test.each(Object.entries(METHODS))(
  "%s: requests that come before the counted ones are left out, and are waited for",
  (_, run) => {
    const { queries, latencyMs, queueMs, violationRate } = run(servingPath(), [0, 10, 25], 10);
    expect([queries, violationRate]).toEqual([2, 0]);
    expect(queueMs).toMatchObject({ mean: (30 + 55) / 2, p50: 30 });
    expect(latencyMs?.mean).toBeCloseTo((70 + 95) / 2, 9);
  },
);
