/**
 * A level whose queries are bound to workers when they arrive. Its chain gives accuracy and
 * violations, and a simulation gives the latencies.
 */
import type {
  Expected,
  ExpectedLatency,
  RamsisLevel,
} from "stratagem-runtime/internal/bundle/schema";
import { ramsisMissed } from "stratagem-runtime/internal/methods/ramsis/tell/missed";
import type { RamsisFrame } from "../../model/frames.ts";
import { latencyPromise } from "../../simulate/latency-sample.ts";
import { simulateLevel } from "./classed-level.ts";
import { latencyObjective, targetExcess } from "./solve/latency-objective.ts";
import { type LevelTables, ramsis } from "./solve/ramsis.ts";

/** Queries and seed of the simulation that measures latencies. */
const QUERIES = 30_000;
const SEED = 1;
/** Prices of latency that are tried while a target is missed: each is so many times the last. */
const PRICE_STEP = 4;
const MOST_PRICES = 8;
/** Prices tried between the last that misses a target and the first that keeps it. */
const BISECTIONS = 3;
/** The first price that is tried for a target is above this one. */
const LEAST_PRICE = 1e-4;

/** The same frame and load give the same level, bit for bit. */
export function boundLevel(frame: RamsisFrame, loadQps: number): RamsisLevel {
  const level = solvedAt(frame, loadQps);
  if (!missesTarget(frame, level) || frame.policy.objective === "per-decision") return level;
  const at = (latencyPrice: number): RamsisLevel =>
    solvedAt({ ...frame, policy: { ...frame.policy, latencyPrice } }, loadQps);
  let low = Math.max(LEAST_PRICE, latencyObjective(frame.policy).safePrice);
  let high = low;
  let kept = level;
  for (let tried = 0; missesTarget(frame, kept); tried++) {
    if (tried === MOST_PRICES) return level;
    [low, high] = [high, PRICE_STEP * high];
    kept = at(high);
  }
  for (let tried = 0; tried < BISECTIONS; tried++) {
    const middle = Math.sqrt(low * high);
    const found = at(middle);
    if (missesTarget(frame, found)) low = middle;
    else [kept, high] = [found, middle];
  }
  return kept;
}

/** Computes the promises of a level from its tables alone: equal tables give equal numbers. */
export function boundExpectation(frame: RamsisFrame, level: RamsisLevel): Expected {
  return { ...ramsis.expectedOf(frame, level), latencyMs: latenciesOf(frame, level) };
}

/** The level of a load with the tables of another level, and what they promise there. */
export function boundTableAt(frame: RamsisFrame, loadQps: number, level: LevelTables): RamsisLevel {
  return withLatencies(frame, ramsis.withTableOf(frame, loadQps, level));
}

function solvedAt(frame: RamsisFrame, loadQps: number): RamsisLevel {
  return withLatencies(frame, ramsis.solveLevel(frame, loadQps));
}

function withLatencies(frame: RamsisFrame, level: RamsisLevel): RamsisLevel {
  const expected = { ...level.expected, latencyMs: latenciesOf(frame, level) };
  const feasible = ramsisMissed(frame, { ...level, expected }).length === 0;
  return { ...level, feasible, expected };
}

function missesTarget({ slo }: RamsisFrame, { expected: { latencyMs } }: RamsisLevel): boolean {
  const { p50 = 0, p95 = 0 } = latencyMs ?? {};
  return targetExcess(slo, { p50, p95 }) > 0;
}

function latenciesOf(frame: RamsisFrame, level: RamsisLevel): ExpectedLatency {
  const durationMs = (1000 * QUERIES) / level.loadQps;
  return latencyPromise(simulateLevel(frame, level, { durationMs, seed: SEED }).latencyMs);
}
