/** Checks an InferLine bundle so that its plans can be followed without further checks. */

import { MAX_PIPELINE_WORKERS, MAX_SPAN_MS } from "../../../bundle/limits.ts";
import { checkProfile } from "../../../bundle/profile-semantics.ts";
import {
  type InferlineBundle,
  type InferlineLevel,
  MICROS,
  type Pool,
  type ProvisioningPlan,
  priceMicros,
  type StagePlan,
  type StageTask,
  type StageVariant,
  type TrafficEnvelope,
  violationCeiling,
} from "../../../bundle/schema.ts";
import { checkMargin } from "../../../bundle/serving-semantics.ts";
import { checkRequests, checkSeats, checkWorkers } from "../../../bundle/size-semantics.ts";
import {
  checkBranches,
  checkClose,
  checkEdges,
  checkGathered,
  checkRows,
  TOLERANCE,
} from "../../../bundle/stage-semantics.ts";
import {
  checkAscending,
  checkModel,
  checkShape,
  checkUnique,
  refuse,
} from "../../../bundle/table-semantics.ts";

/** Enough windows to double from the shortest to the longest; the tuner counts requests in each. */
const MAX_WINDOWS = 64;

/** @throws BundleError BUNDLE_SEMANTICS at the first contradiction. */
export function checkInferlineSemantics(bundle: InferlineBundle): void {
  const { tasks, levels, cluster } = bundle;
  const workers = checkWorkers(cluster, MAX_PIPELINE_WORKERS);
  checkMargin(cluster, bundle.slo);
  checkPools(cluster.pools);
  checkUnique(tasks, "tasks");
  for (const [index, task] of tasks.entries()) {
    checkEdges(task.edges, index, `tasks[${index}].edges`);
    checkVariants(task.variants, cluster.pools.length, `tasks[${index}]`);
    checkGathered(task.edges, largestBatchOf([task]), `tasks[${index}].variants`);
  }
  checkRows(bundle);
  checkBranches(bundle);
  checkSeats(workers, largestBatchOf(tasks), "batches");
  checkAscending(levels);
  for (const [index, level] of levels.entries()) checkLevel(level, bundle, `levels[${index}]`);
}

function largestBatchOf(tasks: readonly StageTask[]): number {
  const profiles = tasks.flatMap(({ variants }) => variants.flatMap((variant) => variant.profiles));
  return profiles.reduce((most, profile) => Math.max(most, profile?.batches.data.at(-1) ?? 0), 0);
}

function checkPools(pools: readonly Pool[]): void {
  checkUnique(pools, "cluster.pools");
  for (const [index, { pricePerHour }] of pools.entries()) {
    if (pricePerHour !== null && pricePerHour > 0) continue;
    refuse(`cluster.pools[${index}].pricePerHour`, pricePerHour ?? "null", "a price above 0");
  }
}

/** Checks that every pool runs one variant at most, and some pool runs one. */
function checkVariants(variants: readonly StageVariant[], poolCount: number, path: string): void {
  checkUnique(variants, `${path}.variants`);
  const variantByPool = new Map<number, number>();
  for (const [index, { model, profiles }] of variants.entries()) {
    const at = `${path}.variants[${index}]`;
    if (profiles.length !== poolCount) {
      refuse(`${at}.profiles.length`, profiles.length, `${poolCount}, one per pool`);
    }
    checkModel(model, `${at}.model`);
    for (const [pool, profile] of profiles.entries()) {
      if (profile === null) continue;
      const other = variantByPool.get(pool);
      if (other !== undefined) {
        refuse(`${at}.profiles[${pool}]`, "a profile", `null, since variant ${other} has one`);
      }
      variantByPool.set(pool, index);
      checkProfile(profile, `${at}.profiles[${pool}]`);
    }
  }
  if (variantByPool.size === 0) refuse(`${path}.variants`, "no profile", "a profile for some pool");
}

function checkLevel(level: InferlineLevel, bundle: InferlineBundle, path: string): void {
  checkFeasible(level, bundle, path);
  checkPlan(level, bundle, path);
  checkEnvelope(level.sample.envelope, `${path}.sample.envelope`);
  const { durationMs } = level.expected;
  checkRequests(level.loadQps, durationMs, `${path}.expected.durationMs`);
  const { traces, met } = level.expected.heldOut;
  if (met > traces) refuse(`${path}.expected.heldOut.met`, met, `at most ${traces}, all traces`);
}

function checkFeasible(level: InferlineLevel, { slo }: InferlineBundle, path: string): void {
  const { feasible, loadQps, capacityQps, sample, solve } = level;
  if (feasible ? capacityQps !== loadQps : capacityQps > loadQps) {
    const allowed = `${feasible ? "" : "at most "}${loadQps}, the load`;
    refuse(`${path}.capacityQps`, capacityQps, allowed);
  }
  if (solve.status === "optimal" && solve.provenGap !== 0) {
    refuse(`${path}.solve.provenGap`, solve.provenGap, "0, since the plan is optimal");
  }
  if (!feasible) return;
  if (solve.status === "infeasible") refuse(`${path}.feasible`, "true", "false, as solve.status");
  const ceiling = violationCeiling(slo);
  if (sample.estimate.missRate > ceiling + TOLERANCE) {
    const found = `true with a miss rate of ${sample.estimate.missRate}`;
    refuse(`${path}.feasible`, found, `true only up to a miss rate of ${ceiling}`);
  }
}

function checkPlan({ plan, sample }: InferlineLevel, bundle: InferlineBundle, at: string): void {
  const { tasks, cluster } = bundle;
  const path = `${at}.plan`;
  if (plan.stages.length !== tasks.length) {
    refuse(`${path}.stages.length`, plan.stages.length, `${tasks.length}, one per task`);
  }
  for (const [index, stage] of plan.stages.entries()) {
    checkStage(stage, tasks[index], sample.meanQps, `${path}.stages[${index}]`);
  }
  checkReplicas(plan, cluster.pools, path);
}

/** Checks that a stage matches the profile of its variant, at the rate of the sample. */
function checkStage(
  stage: StagePlan,
  task: StageTask | undefined,
  meanQps: number,
  path: string,
): void {
  const { variant, pool, batch, replicas, latencyMs, throughputQps, scaleFactor } = stage;
  const profiles = task?.variants[variant]?.profiles;
  if (profiles === undefined) refuse(`${path}.variant`, variant, "the index of a variant");
  const profile = profiles[pool];
  if (profile === undefined || profile === null) {
    refuse(`${path}.pool`, pool, "the index of a pool the variant has a profile for");
  }
  if (!profile.batches.data.includes(batch)) {
    refuse(`${path}.batch`, batch, `a profiled size: ${[...profile.batches.data].join(", ")}`);
  }
  const ms = profile.serviceTimes.decisionMs.data[batch - 1] ?? Number.NaN;
  if (latencyMs !== ms) refuse(`${path}.latencyMs`, latencyMs, `${ms}, that of the profile`);
  checkClose(
    throughputQps,
    (1000 * batch) / ms,
    `${path}.throughputQps`,
    "as batch and latency say",
  );
  const ratio = (meanQps * scaleFactor) / (replicas * throughputQps);
  checkClose(stage.provisioningRatio, ratio, `${path}.provisioningRatio`, "as the sample says");
}

function checkReplicas(plan: ProvisioningPlan, pools: readonly Pool[], path: string): void {
  const replicasByPool = pools.map(() => 0);
  for (const { pool, replicas } of plan.stages) {
    replicasByPool[pool] = (replicasByPool[pool] ?? 0) + replicas;
  }
  let micros = 0;
  for (const [index, pool] of pools.entries()) {
    const count = replicasByPool[index] ?? 0;
    if (count > pool.workers) {
      refuse(`${path}.stages`, `${count} replicas in pool ${index}`, `at most ${pool.workers}`);
    }
    micros += count * priceMicros(pool);
  }
  const costPerHour = micros / MICROS;
  if (plan.costPerHour !== costPerHour) {
    refuse(`${path}.costPerHour`, plan.costPerHour, `${costPerHour}, the price of the replicas`);
  }
}

function checkEnvelope({ windowMs, requests }: TrafficEnvelope, path: string): void {
  const [windowCount = 0] = windowMs.shape;
  if (windowCount > MAX_WINDOWS) {
    refuse(`${path}.windowMs.shape`, `[${windowMs.shape}]`, `[at most ${MAX_WINDOWS}]`);
  }
  checkShape(requests, windowMs.shape, `${path}.requests`);
  let previousMs = 0;
  windowMs.data.forEach((ms, window) => {
    // The comparisons also refuse NaN.
    if (!(ms > previousMs && ms <= MAX_SPAN_MS))
      refuse(`${path}.windowMs.data[${window}]`, ms, `more than ${previousMs}`);
    previousMs = ms;
  });
  let previous = 1;
  requests.data.forEach((count, window) => {
    if (!Number.isSafeInteger(count) || count < previous) {
      const allowed = `a whole number from ${previous}`;
      refuse(`${path}.requests.data[${window}]`, count, allowed);
    }
    previous = count;
  });
}
