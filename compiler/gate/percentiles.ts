/**
 * Computes latency percentiles that levels do not state by simulating their loads; deterministic
 * for a bundle.
 */

import { setImmediate } from "node:timers/promises";
import type { Bundle } from "stratagem-runtime/internal/bundle/schema";
import * as z from "zod";
import type { Figures, NamedFigures } from "../methods/level-promises.ts";
import type { CompilerMethod } from "../methods/method.ts";
import { methodOf } from "../methods/registry.ts";
import type { SimulateWatch } from "../processes/simulate-watch.ts";
import { steadyArrivals } from "../simulate/arrivals.ts";
import { longerFor } from "../simulate/latency-sample.ts";
import type { ServiceTimeMode } from "../simulate/service-times.ts";
import type { Scope } from "../spec/document/clause.ts";
import type { Figure } from "../spec/schema/promise-figures.ts";
import type { Requirement } from "../spec/schema/requirement.ts";
import { levelsInScope } from "./levels-in-scope.ts";
import type { PromisedBundle, PromisedLevel } from "./promised-bundle.ts";

const PERCENTILES = ["p50", "p95", "p99"] as const;
type Percentile = (typeof PERCENTILES)[number];

/** Simulated duration, extended to enough queries for a stable 99th percentile. */
const SIMULATED_S = 60;
const LEAST_QUERIES = 10_000;
const MOST_QUERIES = 100_000;
const SEED = 1;

/** Levels that need a percentile. */
export interface AskedPercentiles {
  readonly scope: Scope;
  readonly percentile: Percentile;
}

export function askedPercentile(figure: Figure | "feasible", scope: Scope): AskedPercentiles[] {
  const percentile = PERCENTILES.find((one) => one === figure);
  return percentile === undefined ? [] : [{ scope, percentile }];
}

export function askedByRequirements(requirements: readonly Requirement[]): AskedPercentiles[] {
  return requirements.flatMap(({ demand, scope }) =>
    demand.kind === "level" ? askedPercentile(demand.figure, scope) : [],
  );
}

/** Adds the requested percentiles that the promises do not state. */
export async function withPercentiles(
  promised: PromisedBundle,
  bundle: Bundle,
  asked: readonly AskedPercentiles[],
  watch: SimulateWatch,
): Promise<PromisedBundle> {
  const lacking = new Set(
    asked.flatMap(({ scope, percentile }) => {
      const { levels } = levelsInScope(scope, promised.levels);
      return levels.filter(({ figures }) => figures[percentile] === undefined);
    }),
  );
  const levels: PromisedLevel[] = [];
  for (const level of promised.levels) {
    levels.push(lacking.has(level) ? await simulatedLevel(bundle, level, watch) : level);
  }
  return { ...promised, levels };
}

const latenciesSchema = z
  .object({ p50: z.number(), p95: z.number(), p99: z.number(), batches: z.number().optional() })
  .nullish();
const partsSchema = z.record(z.string(), z.object({ latencyMs: latenciesSchema })).optional();
/** Results common to every method's simulation; null if no query was answered. */
const resultSchema = z.object({
  latencyMs: latenciesSchema,
  byClass: partsSchema,
  byBucket: partsSchema,
});

async function simulatedLevel(
  bundle: Bundle,
  level: PromisedLevel,
  watch: SimulateWatch,
): Promise<PromisedLevel> {
  // A simulation blocks the event loop, so signals are handled between two of them.
  await setImmediate();
  watch.signal.throwIfAborted();
  const method = await methodOf(bundle);
  const { loadQps } = level;
  const wanted = Math.ceil(SIMULATED_S * loadQps);
  const queries = Math.min(MOST_QUERIES, Math.max(LEAST_QUERIES, wanted));
  const simulated = async (longer: number) => {
    const asked = {
      arrivals: steadyArrivals(bundle.arrivals, loadQps),
      durationMs: (1000 * longer * queries) / loadQps,
      seed: SEED,
      serviceTimes: defaultServiceTimes(bundle, method),
      fanout: "rounded" as const,
      stations: {},
      baseline: null,
    };
    return resultSchema.parse((await method.simulate(bundle, asked, watch)).json);
  };
  const first = await simulated(1);
  const { byClass = {}, byBucket = {} } = first;
  const parts = [first, ...Object.values(byClass), ...Object.values(byBucket)];
  const longer = Math.max(...parts.map(({ latencyMs }) => longerFor(latencyMs?.batches)));
  const found = longer === 1 ? first : await simulated(longer);
  const figures = { ...figuresOf(found.latencyMs), ...level.figures };
  return {
    ...level,
    figures,
    classes: withLatencies(level.classes, found.byClass),
    buckets: withLatencies(level.buckets, found.byBucket),
    simulated: PERCENTILES.filter((name) => level.figures[name] === undefined),
  };
}

function figuresOf(latencyMs: z.output<typeof latenciesSchema>): Figures {
  const { batches: _, ...figures } = latencyMs ?? {};
  return figures;
}

function withLatencies(
  parts: readonly NamedFigures[],
  found: z.output<typeof partsSchema>,
): NamedFigures[] {
  return parts.map((part) => {
    const figures = { ...figuresOf(found?.[part.name]?.latencyMs), ...part.figures };
    return { ...part, figures };
  });
}

/**
 * Samples service times if the bundle has quantiles and a serving path, so that latencies are
 * comparable with measured ones; otherwise uses percentiles, like the promises.
 */
function defaultServiceTimes(bundle: Bundle, method: CompilerMethod): ServiceTimeMode {
  const isServed = bundle.cluster.serving !== undefined;
  return isServed && method.hasServiceTimeQuantiles(bundle) ? "sampled" : "p95";
}
