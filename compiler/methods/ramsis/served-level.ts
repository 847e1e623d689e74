/**
 * A level of a bundle whose latencies have the way through the server: what it promises is what a
 * simulation gives with the server's process, contention and service times as they were measured.
 */
import type { Expected, RamsisLevel } from "stratagem-runtime/internal/bundle/schema";
import { ramsisMissed } from "stratagem-runtime/internal/methods/ramsis/tell/missed";
import type { RamsisFrame } from "../../model/frames.ts";
import { hasBuckets } from "./bucketed-level.ts";
import { classedExpectation, hasClasses } from "./classed-level.ts";
import { boundingFrame } from "./planning-frame.ts";
import { classBound } from "./solve/class-fluid.ts";
import { accuracyBound } from "./solve/ramsis.ts";

/** A minute of traffic, and at least as much as tells 1 % to about a tenth of it. */
const SIMULATED_S = 60;
const LEAST_QUERIES = 50_000;
const MOST_QUERIES = 250_000;
const SEED = 1;

/** Whether the bundle says what serving takes beside the models. */
export function hasPath({ cluster }: Pick<RamsisFrame, "cluster">): boolean {
  return cluster.serving !== undefined;
}

/** What a level promises, from its tables alone: the same numbers for the same tables. */
export function servedExpectation(frame: RamsisFrame, level: RamsisLevel): Expected {
  const bounded = boundingFrame(frame);
  const isDivided = hasClasses(frame) || hasBuckets(frame);
  const bound = isDivided ? classBound : accuracyBound;
  const boundAt = (rate: number) => bound(bounded, level.loadQps, rate);
  const wanted = Math.ceil(SIMULATED_S * level.loadQps);
  const queries = Math.min(MOST_QUERIES, Math.max(LEAST_QUERIES, wanted));
  return classedExpectation(frame, level, { queries, seed: SEED }, boundAt);
}

/** The level with that promise; feasible where it keeps all limits. */
export function servedLevel(frame: RamsisFrame, level: RamsisLevel): RamsisLevel {
  const expected = servedExpectation(frame, level);
  const missed = ramsisMissed(frame, { ...level, expected });
  // A load that is carried is within capacity, whatever the times are that decisions reckon with.
  const isKept = missed.length === 0;
  const capacityQps = isKept ? Math.max(level.capacityQps, level.loadQps) : level.capacityQps;
  return { ...level, capacityQps, feasible: isKept, expected };
}

/** The level of a load with the tables of another level, and what they promise there. */
export function servedTableAt(
  frame: RamsisFrame,
  loadQps: number,
  level: RamsisLevel,
): RamsisLevel {
  return servedLevel(frame, { ...level, loadQps });
}
