/**
 * A level whose queries are bound to workers when they arrive. Its Markov chain gives accuracy and
 * violations, and a simulation gives the latencies.
 */
import type { RamsisLevel } from "stratagem-runtime/internal/bundle/schema";
import type { RamsisFrame } from "../../model/frames.ts";
import { withLatencies } from "./promise.ts";
import { latencyObjective, targetExcess } from "./solve/latency-objective.ts";
import { ramsis } from "./solve/ramsis.ts";

/** Factor between the prices of latency that are tried while a target is missed. */
const PRICE_STEP = 4;
const MOST_PRICES = 8;
/** Prices tried between the last that misses a target and the first that keeps it. */
const BISECTIONS = 3;
/** The first price tried for a target is above this one. */
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

function solvedAt(frame: RamsisFrame, loadQps: number): RamsisLevel {
  return withLatencies(frame, ramsis.solveLevel(frame, loadQps));
}

function missesTarget({ slo }: RamsisFrame, { expected: { latencyMs } }: RamsisLevel): boolean {
  const { p50 = 0, p95 = 0 } = latencyMs ?? {};
  return targetExcess(slo, { p50, p95 }) > 0;
}
