/** Checks the buckets of a RAMSIS bundle against each other and the rest of the bundle. */

import { isDeepStrictEqual } from "node:util";
import { MAX_SEATS } from "../../../bundle/limits.ts";
import type { Bucket, RamsisBundle, RamsisLevel } from "../../../bundle/schema.ts";
import { bucketNames } from "../../../bundle/schema.ts";
import { checkSlackOf } from "../../../bundle/serving-semantics.ts";
import {
  checkRows,
  checkServiceTimes,
  checkShape,
  checkTable,
  checkUnique,
  refuse,
} from "../../../bundle/table-semantics.ts";
import { checkShares, type Surroundings } from "./class-semantics.ts";

/**
 * @throws BundleError BUNDLE_SEMANTICS unless buckets agree with each other, with the task and with
 * the models.
 */
export function checkBuckets(bundle: RamsisBundle): void {
  const { buckets, cluster, slo, policy, tasks, decisionSpace } = bundle;
  checkUnique(buckets ?? [], "buckets");
  checkModels(bundle);
  if (buckets === undefined) return;
  checkShares(buckets, "buckets");
  if (policy.balancer !== "pooled") {
    refuse("policy.balancer", policy.balancer, '"pooled", since there are buckets');
  }
  if (slo.classes !== undefined) refuse("slo.classes", "a value", "nothing, as there are buckets");
  const [task] = tasks;
  for (const [index, bucket] of buckets.entries()) {
    const path = `buckets[${index}]`;
    const { serviceTimes, queued, maxQueue, slackMs } = bucket;
    checkServiceTimes(serviceTimes, task?.variants.length ?? 0, `${path}.serviceTimes`);
    const shape = task?.serviceTimes.decisionMs.shape ?? [];
    checkShape(serviceTimes.decisionMs, shape, `${path}.serviceTimes.decisionMs`);
    if ((serviceTimes.quantiles === null) !== (task?.serviceTimes.quantiles === null)) {
      refuse(`${path}.serviceTimes.quantiles`, "another kind", "nil or tables as of the task");
    }
    if (queued !== undefined) checkRows(queued, maxQueue, `${path}.queued`);
    checkSlackOf(slackMs, cluster, slo.latencyMs, [path, "slo.latencyMs"]);
  }
  const capacity = 1 + Math.max(...buckets.map(({ maxQueue }) => maxQueue));
  if (buckets.length * capacity > MAX_SEATS) {
    const found = `queues of ${capacity} for ${buckets.length} buckets`;
    refuse("buckets", found, `at most ${MAX_SEATS} queries in all queues`);
  }
  const { actions: _, ...axes } = decisionSpace;
  const last = buckets[buckets.length - 1];
  if (!isDeepStrictEqual(task?.serviceTimes, last?.serviceTimes)) {
    refuse("tasks[0].serviceTimes", "other times", "those of the last of buckets");
  }
  if (!isDeepStrictEqual(axes, last && axesOf(last))) {
    refuse("decisionSpace", "other axes", "those of the last of buckets");
  }
}

/** Checks that the bucket sizes of the models are those of the tables. */
function checkModels({ tasks, buckets = [] }: RamsisBundle): void {
  const names = buckets.map(({ name }) => name).join(", ");
  for (const [taskIndex, { variants }] of tasks.entries()) {
    for (const [index, { model }] of variants.entries()) {
      if (model === null) continue;
      const own = bucketNames(model.buckets);
      const found = (own.length === 1 ? [] : own).join(", ");
      if (found === names) continue;
      const path = `tasks[${taskIndex}].variants[${index}].model.buckets`;
      refuse(path, found || "none", names === "" ? "none, as buckets" : `${names}, as buckets`);
    }
  }
}

function axesOf({ maxQueue, queued, slackMs }: Bucket): object {
  return { ...(queued === undefined ? {} : { queued }), maxQueue, slackMs };
}

/** @throws BundleError BUNDLE_SEMANTICS unless a level has all figures of every bucket. */
export function checkBucketLevel(
  bundle: RamsisBundle,
  level: RamsisLevel,
  around: Surroundings,
): void {
  const { buckets = [] } = bundle;
  const { expected } = level;
  const { path } = around;
  checkCount(expected.byBucket ?? [], buckets, `${path}.expected.byBucket`);
  checkBucketTables(bundle, level, around);
}

/** @throws BundleError BUNDLE_SEMANTICS unless a level has a valid table for each bucket. */
export function checkBucketTables(
  { buckets = [], decisionSpace }: RamsisBundle,
  { actionByState, bucketTables = [], mixture }: BucketedTables,
  { batchByAction, rule, path }: Surroundings,
): void {
  checkCount(bucketTables, buckets, `${path}.bucketTables`);
  if (buckets.length === 0) return;
  if (mixture !== null) refuse(`${path}.mixture`, "a value", "nil, as there are buckets");
  for (const [index, table] of bucketTables.entries()) {
    const { name: _name, share: _share, serviceTimes: _times, ...axes } = buckets[index] as Bucket;
    const space = { ...axes, actions: decisionSpace.actions };
    checkTable(table, space, batchByAction, rule, `${path}.bucketTables[${index}]`);
  }
  if (!isDeepStrictEqual(actionByState.data, bucketTables.at(-1)?.data)) {
    refuse(`${path}.actionByState`, "another table", "that of the last of bucketTables");
  }
}

type BucketedTables = Pick<RamsisLevel, "actionByState" | "bucketTables" | "mixture">;

function checkCount(found: readonly unknown[], buckets: readonly Bucket[], at: string): void {
  if (found.length === buckets.length) return;
  const allowed =
    buckets.length === 0 ? "nothing, as buckets" : `${buckets.length}, one for each of buckets`;
  refuse(at, found.length === 0 ? "nothing" : `${found.length} items`, allowed);
}
