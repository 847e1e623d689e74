/**
 * A level of a bundle whose latencies have the way through the server: what it promises is what a
 * simulation gives with the server's process, contention and service times as they were measured.
 */
import {
  type Expected,
  type RamsisLevel,
  violationCeiling,
} from "stratagem-runtime/internal/bundle/schema";
import type { RamsisFrame } from "../../model/frames.ts";
import { hasBuckets } from "./bucketed-level.ts";
import { classedExpectation, hasClasses } from "./classed-level.ts";
import { boundingFrame } from "./planning-frame.ts";
import { classBound } from "./solve/class-fluid.ts";
import { accuracyBound, keptAt, type LevelTables } from "./solve/ramsis.ts";

/** Enough traffic to tell 1 % to a tenth of it; more where that is near the ceiling. */
const QUERIES = 100_000;
const MOST_QUERIES = 250_000;
const SEED = 1;
const LOOK_QUERIES = 10_000;

/** Whether the bundle says what serving takes beside the models. */
export function hasPath({ cluster }: Pick<RamsisFrame, "cluster">): boolean {
  return cluster.serving !== undefined;
}

/** A look at a level: accuracy per query and the rate of violations over its first queries. */
export function servedLook(
  frame: RamsisFrame,
  level: RamsisLevel,
): { readonly accuracy: number; readonly violationRate: number } {
  const sample = { queries: LOOK_QUERIES, seed: SEED };
  const { accuracyPerQuery, sample: seen } = classedExpectation(frame, level, sample, () => 1);
  const { queries = 1, violations = 0 } = seen ?? {};
  return { accuracy: accuracyPerQuery, violationRate: violations / queries };
}

/** What a level promises, from its tables alone: the same numbers for the same tables. */
export function servedExpectation(frame: RamsisFrame, level: LevelTables): Expected {
  const bounded = boundingFrame(frame);
  const isDivided = hasClasses(frame) || hasBuckets(frame);
  const bound = isDivided ? classBound : accuracyBound;
  const boundAt = (rate: number) => bound(bounded, level.loadQps, rate);
  const expected = classedExpectation(frame, level, { queries: QUERIES, seed: SEED }, boundAt);
  const { sample = { queries: QUERIES, violations: QUERIES } } = expected;
  const ceiling = violationCeiling(frame.slo);
  const isKept = sample.violations <= ceiling * sample.queries;
  // A larger sample says whether a rate is below the ceiling that only its error is not.
  if (!isKept || expected.violationRate <= ceiling) return expected;
  return classedExpectation(frame, level, { queries: MOST_QUERIES, seed: SEED }, boundAt);
}

/** The level with that promise; feasible where it keeps all limits. */
export function servedLevel(frame: RamsisFrame, level: LevelTables): RamsisLevel {
  const expected = servedExpectation(frame, level);
  return { ...level, ...keptAt(frame, level.loadQps, level.capacityQps, expected), expected };
}

/** The level of a load with the tables of another level, and what they promise there. */
export function servedTableAt(
  frame: RamsisFrame,
  loadQps: number,
  level: LevelTables,
): RamsisLevel {
  return servedLevel(frame, { ...level, loadQps });
}
