/** Draws the queries of a simulation: their times, models, instances and priorities. */
import type { AccordionBundle } from "stratagem-runtime/internal/bundle/schema";
import { assert } from "stratagem-runtime/internal/core/assert";
import { Rng } from "stratagem-runtime/internal/core/rng";
import type { ArrivalProcess } from "../../../simulate/arrivals.ts";
import { drawArrivals } from "../../../simulate/graph/drawn-requests.ts";

/** Queries of a simulation in arrival order; arrays are by query. */
export interface AccordionQueries {
  /** Ascending. */
  readonly arrivalMs: Float64Array;
  /** Index of the variant of the only task. */
  readonly model: Uint16Array;
  /** Instances, from 1 to `policy.maxBatch`. */
  readonly batch: Uint16Array;
  readonly isHigh: Uint8Array;
  readonly deadlineMs: Float64Array;
}

/** A process whose queries are drawn, or recorded queries. */
export type AccordionArrivals =
  | ArrivalProcess
  | { readonly kind: "queries"; readonly queries: AccordionQueries };

/**
 * Random streams of one seed; arrivals have the first. Drawing other batches leaves models and
 * priorities unchanged.
 */
const MODEL_STREAM = 2;
const BATCH_STREAM = 3;
const PRIORITY_STREAM = 4;

/**
 * Draws the queries of a process before the end of a duration: models uniform, instances log-normal
 * (rounded, and clamped to 1 … `policy.maxBatch`, so their mean is slightly off), low priority at
 * random, deadline one SLO after arrival. Source: Accordion §4.3.
 */
export function drawQueries(
  { slo, tasks, policy }: Pick<AccordionBundle, "slo" | "tasks" | "policy">,
  arrivals: ArrivalProcess,
  durationMs: number,
  seed: number,
): AccordionQueries {
  const arrivalMs = drawArrivals(arrivals, durationMs, seed);
  const count = arrivalMs.length;
  const models = new Rng(seed, MODEL_STREAM);
  const batches = new Rng(seed, BATCH_STREAM);
  const priorities = new Rng(seed, PRIORITY_STREAM);
  const modelCount = tasks[0]?.variants.length ?? 0;
  const queries = {
    arrivalMs,
    model: new Uint16Array(count),
    batch: new Uint16Array(count),
    isHigh: new Uint8Array(count),
    deadlineMs: new Float64Array(count),
  };
  for (let query = 0; query < count; query++) {
    queries.model[query] = Math.floor(modelCount * models.nextFloat());
    queries.batch[query] = drawBatch(policy, batches);
    queries.isHigh[query] = priorities.nextFloat() < policy.lowShare ? 0 : 1;
    queries.deadlineMs[query] = (arrivalMs[query] ?? Number.NaN) + slo.latencyMs;
  }
  return queries;
}

/** Returns the queries of a process, or the recorded ones. */
export function queriesOf(
  bundle: AccordionBundle,
  arrivals: AccordionArrivals,
  durationMs: number,
  seed: number,
): AccordionQueries {
  if (arrivals.kind !== "queries") return drawQueries(bundle, arrivals, durationMs, seed);
  const { queries } = arrivals;
  const count = queries.arrivalMs.length;
  const lengths = [queries.model, queries.batch, queries.isHigh, queries.deadlineMs];
  assert(
    lengths.every(({ length }) => length === count),
    "every query has a model, instances, a priority and a deadline",
  );
  assert(
    queries.arrivalMs.every(
      (ms, query) => query === 0 || ms >= (queries.arrivalMs[query - 1] ?? 0),
    ),
    "queries are in arrival order",
  );
  return queries;
}

/**
 * Log-normal of a given mean: with σ of the logarithm, its logarithm has mean ln(mean) − σ² / 2.
 */
function drawBatch(
  { meanBatch, batchSigma, maxBatch }: AccordionBundle["policy"],
  rng: Rng,
): number {
  const mu = Math.log(meanBatch) - batchSigma ** 2 / 2;
  const drawn = Math.round(Math.exp(mu + batchSigma * standardNormal(rng)));
  return Math.min(maxBatch, Math.max(1, drawn));
}

/** Box–Muller, one of the pair. */
function standardNormal(rng: Rng): number {
  const radius = Math.sqrt(-2 * Math.log(1 - rng.nextFloat()));
  return radius * Math.cos(2 * Math.PI * rng.nextFloat());
}
