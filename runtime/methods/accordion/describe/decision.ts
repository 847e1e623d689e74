/** Decision of the scheduler about a query in a state, for programs. */

import { RuntimeError } from "../../../base/errors.ts";
import type { AccordionBundle } from "../../../bundle/schema.ts";
import { classOfPlaces } from "../core/pipeline-table.ts";
import { inspectState, type PlaceDecision } from "./state-view.ts";

/** A query, and the free places. */
interface PlaceQuery {
  /** Name of the requested model. */
  readonly model: string;
  /** Number of instances. */
  readonly batch: number;
  /** Free places of each pool, in the order of the bundle. */
  readonly free: readonly number[];
  /** Time to its deadline. */
  readonly slackMs: number;
}

/** @throws RuntimeError RUNTIME_USAGE for an impossible query or places. */
export function placeDecision(
  bundle: AccordionBundle,
  _level: number,
  state: PlaceQuery,
): PlaceDecision {
  const { model, batch, free, slackMs } = state ?? {};
  const { maxBatch } = bundle.policy;
  const names = bundle.tasks.flatMap(({ variants }) => variants.map(({ name }) => name));
  if (!names.includes(model)) refuse("model", `one of ${names.join(", ")}`, model);
  if (!Number.isInteger(batch) || batch < 1 || batch > maxBatch) {
    refuse("batch", `a whole number from 1 to ${maxBatch}`, batch);
  }
  if (!Number.isFinite(slackMs)) refuse("slackMs", "a number of milliseconds", slackMs);
  const most = bundle.cluster.pools.map(() => 0);
  for (const pool of classOfPlaces(bundle)) most[pool] = (most[pool] ?? 0) + 1;
  const isFree = (count: number | undefined, pool: number): boolean =>
    Number.isInteger(count) && Number(count) >= 0 && Number(count) <= (most[pool] ?? 0);
  if (free?.length !== most.length || !free.every(isFree)) {
    const pools = most.map((count) => `0 to ${count}`).join(", ");
    refuse("free", `free places of each pool, [${pools}]`, JSON.stringify(free));
  }
  const [found] = inspectState(bundle, { batch, free, slackMs, models: [model] }).models;
  if (found === undefined) throw new RangeError("one model is asked for, so one answers");
  return found.decision;
}

function refuse(field: string, allowed: string, found: unknown): never {
  throw new RuntimeError("RUNTIME_USAGE", `state.${field}: expected ${allowed}, got ${found}`);
}
