/** Mistakes: specs that the format allows and this version of the solver does not support. */
import { GIVE_UP } from "stratagem-runtime/internal/bundle/schema";
import { bucketsOf } from "../../../model/buckets.ts";
import { about, highestLoad, requestMistakes } from "../../../model/solve-size.ts";
import type { Application, RamsisPolicy } from "../../../spec/application.ts";
import type { KeyPath } from "../../../spec/document/document.ts";
import { conflict, invalid, type Mistake, show } from "../../../spec/document/mistakes.ts";
import { poolWords, profileFor, profileRemedy, profileWords } from "../../../spec/pool-profiles.ts";
import { hasQuantiles } from "./frame.ts";
import { largestBatch } from "./largest-batch.ts";
import { sampleQueries } from "./pooled/sample-size.ts";

type RamsisApplication = Application<RamsisPolicy>;
type Task = RamsisApplication["tasks"][number];
type SpecVariant = Task["variants"][number];

/**
 * Limit on states: more take minutes and gigabytes without benefit. The paper's grid has 3,334.
 */
const MAX_STATES = 500_000;
/** Each has its own row if batches are variable; the paper's problem has 465,000. */
const MAX_CHOICES = 2_000_000;
/** Action tables hold 16-bit indices, of which the last two are reserved. */
const MAX_ACTIONS = GIVE_UP - 1;

/** Choices of maximal batches, whose rows get longer with the number of states. */
const MAX_MAXIMAL_CHOICES = 20_000_000;
/** Cells of the tables of all levels: a bundle is 64 MiB at most, and levels may have two. */
const MAX_CELLS = 2 ** 24;
/** Evaluations of a batch in a state; 4 × 10^7 of them take a second. */
const MAX_LOOKS = 2e11;

export function* ramsisMistakes(application: RamsisApplication): Generator<Mistake> {
  const { policy, cluster, tasks } = application;
  const unsupported = (path: KeyPath, found: string, allowed: string): Mistake => ({
    code: "INPUT_UNSUPPORTED",
    path,
    message: `this version cannot compile ${found} with ramsis yet; allowed: ${allowed}`,
  });
  if (policy.balancer === "pooled") yield* pooledMistakes(policy);
  yield* classMistakes(application, policy);
  yield* bucketedMistakes(application);
  if (policy.serviceTimes === "quantiles" && !tasks.every(hasQuantiles)) yield NO_QUANTILES;
  if (tasks.length !== 1) yield unsupported(["tasks"], `${tasks.length} tasks`, "one task");
  if (cluster.pools.length !== 1) {
    yield unsupported(["cluster", "pools"], `${cluster.pools.length} pools`, "one pool");
  }
  yield* poolMistakes(application);
  const variants = tasks[0]?.variants ?? [];
  yield* sizeMistakes(policy, variants.length);
  yield* workMistakes(application, variants);
}

/** Yields variants that the pool cannot run. */
function* poolMistakes({ tasks, cluster }: RamsisApplication): Generator<Mistake> {
  const [pool, ...others] = cluster.pools;
  if (pool === undefined || others.length > 0) return;
  for (const [task, { variants }] of tasks.entries()) {
    for (const [index, variant] of variants.entries()) {
      if (profileFor(variant, pool) !== null) continue;
      const found = variant.profiles.map(profileWords).join(", ");
      const message =
        `the pool cannot run ${show(variant.name)}: its profiles are of ${found}, ` +
        `and the pool is ${poolWords(pool)}${profileRemedy(pool)}`;
      yield conflict(["tasks", task, "variants", index, "profile"], message);
    }
  }
}

/** Limits the work of all levels together, and the simulations of the highest load. */
function* workMistakes(
  application: RamsisApplication,
  variants: readonly SpecVariant[],
): Generator<Mistake> {
  const { policy, loads, slo, cluster } = application;
  const { discretization, balancer } = policy;
  const largest = Math.max(
    1,
    ...variants.map((variant) => largestBatch(application, variant, new Map())),
  );
  const maxQueue = Math.min(policy.maxQueue, largest);
  const steps = discretization.kind === "fixed" ? discretization.steps : variants.length * maxQueue;
  const levelCount = loads.kind === "list" ? loads.qps.length : 2;
  const bucketCount = variants[0]?.profile.buckets?.length ?? 0;
  const tableCount = Math.max(1, slo.classes?.length ?? 0, bucketCount);
  const cells = levelCount * (maxQueue + 1) * (steps + 1) * tableCount;
  if (cells > MAX_CELLS) {
    const expected =
      `at most ${MAX_CELLS} states in all levels, loads × (maxQueue + 1) × (steps + 1)` +
      `${tableCount > 1 ? ` × ${slo.classes === undefined ? "buckets" : "classes"}` : ""}`;
    yield invalid(["workload", "loads"], expected, `about ${about(cells)}`);
  }
  const looks = cells * variants.length * maxQueue;
  if (balancer === "pooled" && looks > MAX_LOOKS) {
    const expected = `at most ${MAX_LOOKS} evaluations of a batch, states × variants × maxQueue`;
    yield invalid(["policy", "maxQueue"], expected, `about ${about(looks)}`);
  }
  const workers = cluster.pools.reduce((sum, pool) => sum + pool.workers, 0);
  const { qps } = highestLoad(loads);
  const capacityQps = (1000 * workers) / shortestMsPerQuery(variants);
  const requests = sampleQueries({
    arrivalsPerMs: qps / 1000,
    sloMs: slo.latencyMs,
    workerCount: workers,
    isOverloaded: qps > capacityQps,
  });
  yield* requestMistakes(application, requests, "those of a few SLOs");
}

/** Worker time per query of any measured batch. */
function shortestMsPerQuery(variants: readonly SpecVariant[]): number {
  const all = variants.flatMap(({ profile }) => profile.rows);
  return all.reduce((least, { batch, latencyMs }) => Math.min(least, latencyMs / batch), Infinity);
}

/** Limits that no machine should exceed. */
function* sizeMistakes(policy: RamsisPolicy, variantCount: number): Generator<Mistake> {
  const { discretization, maxQueue, batching } = policy;
  const isFixed = discretization.kind === "fixed";
  const slackCount = isFixed ? discretization.steps + 1 : variantCount * maxQueue + 2;
  const states = maxQueue * slackCount;
  if (states > MAX_STATES) {
    const per = isFixed ? "(steps + 1)" : "(variants × maxQueue + 2)";
    const expected = `at most ${MAX_STATES} states, maxQueue × ${per}`;
    yield invalid(["policy"], expected, String(states));
  }
  const choices = (states * variantCount * maxQueue) / 2;
  if (batching === "variable" && choices > MAX_CHOICES) {
    const expected =
      `at most ${MAX_CHOICES} choices with variable batching, ` +
      "states × variants × maxQueue / 2";
    yield invalid(["policy"], expected, String(choices));
  }
  if (batching === "maximal" && states * variantCount > MAX_MAXIMAL_CHOICES) {
    const expected = `at most ${MAX_MAXIMAL_CHOICES} choices, states × variants`;
    yield invalid(["policy"], expected, String(states * variantCount));
  }
  const actions = variantCount * (maxQueue + 1);
  if (actions > MAX_ACTIONS) {
    const expected = `at most ${MAX_ACTIONS} actions, variants × (maxQueue + 1)`;
    yield invalid(["policy", "maxQueue"], expected, String(actions));
  }
}

/** Yields options that buckets do not support: they need a common queue, and queries of one SLO. */
function* bucketedMistakes({ tasks, policy, slo }: RamsisApplication): Generator<Mistake> {
  for (const task of tasks) {
    const names = bucketsOf(task)?.map(({ name }) => name);
    if (names === undefined) continue;
    if (policy.balancer !== "pooled") {
      const message =
        `expected "pooled", since requests are of the buckets ${names.join(", ")}, ` +
        `got "${policy.balancer}"`;
      yield conflict(["policy", "balancer"], message);
    }
    if (slo.classes !== undefined) {
      const message =
        `expected slo.latency, since requests are of the buckets ${names.join(", ")}, ` +
        "got classes; allowed: one of both, or an application for each class";
      yield conflict(["slo", "classes"], message);
    }
  }
}

const NO_QUANTILES = conflict(
  ["policy", "serviceTimes"],
  '"quantiles" needs p50, p95, p99 and mean of every variant, ' +
    'and a profile has one number per batch; allowed: "p95"',
);

/**
 * Yields options that a pooled policy does not support: it uses batches of any size, judged by its
 * queries.
 */
function* pooledMistakes({ objective, discretization }: RamsisPolicy): Generator<Mistake> {
  if (objective !== "per-query") {
    const message =
      `a pooled policy has the objective "per-query", got "${objective}"; ` +
      "or choose another balancer";
    yield conflict(["policy", "objective"], message);
  }
  if (discretization.kind !== "fixed") {
    const message =
      `a pooled policy has a grid of fixed steps, got "${discretization.kind}"; ` +
      "or choose another balancer";
    yield conflict(["policy", "discretization"], message);
  }
}

/** Yields separate workers for more classes than there are workers. */
function* classMistakes(
  { slo, cluster }: RamsisApplication,
  { classes }: RamsisPolicy,
): Generator<Mistake> {
  const count = slo.classes?.length ?? 0;
  const workers = cluster.pools.reduce((sum, pool) => sum + pool.workers, 0);
  if (classes !== "separate" || workers >= count) return;
  const message =
    `"separate" needs a worker for each of the ${count} classes, got ${workers}; ` +
    `allowed: "auto" or "shared"`;
  yield conflict(["policy", "classes"], message);
}
