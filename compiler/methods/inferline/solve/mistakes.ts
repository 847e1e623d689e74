/** Mistakes: what an application asks for that InferLine does not support. */

import { priceMicros } from "stratagem-runtime/internal/bundle/schema";
import { taskGraphOf } from "stratagem-runtime/internal/core/graph/task-graph";
import { fanoutMistakes, rowMistakes, shapeMistakes } from "../../../graph/task-mistakes.ts";
import { orderedTasks, rowsAlong } from "../../../graph/task-order.ts";
import { highestLoad, requestMistakes } from "../../../model/solve-size.ts";
import type { Application, InferlinePolicy, Pool, Task } from "../../../spec/application.ts";
import { conflict, invalid, type Mistake, missing, show } from "../../../spec/document/mistakes.ts";
import { poolWords, profileFor, profileWords } from "../../../spec/pool-profiles.ts";
import { placedOnce } from "./one-each.ts";
import { sampleLengthMs, simulatedMs } from "./sample-length.ts";
import { serviceTimeMs } from "./service-time.ts";

export function* inferlineMistakes(application: Application<InferlinePolicy>): Generator<Mistake> {
  const found = [
    ...loadMistakes(application),
    ...sampleMistakes(application),
    ...priceMistakes(application),
    ...shapeMistakes(application.tasks, "inferline"),
    ...application.tasks.flatMap((task, index) => [
      ...fanoutMistakes(task, index, "inferline"),
      ...hardwareMistakes(task, index, application.cluster.pools),
    ]),
  ];
  if (found.length > 0) return yield* found;
  const { qps } = highestLoad(application.loads);
  const rows = [...rowMistakes(application, mostRequests(application, qps))];
  if (rows.length > 0) return yield* rows;
  yield* roomMistakes(application);
  yield* latencyMistakes(application);
}

/** Least requests of a sample: fewer do not determine a 99th percentile. */
const LEAST_REQUESTS = 100;

/** Length of one sample trace. */
function lengthMs({ policy, arrivals }: Application<InferlinePolicy>, qps: number): number {
  return sampleLengthMs(policy, arrivals.process === "trace" ? arrivals.trace : null, qps);
}

function* loadMistakes(application: Application<InferlinePolicy>): Generator<Mistake> {
  const { loads, arrivals } = application;
  if (loads.kind === "list") {
    const [least = 0] = loads.qps;
    const seconds = lengthMs(application, least) / 1000;
    const requests = least * seconds;
    if (requests < LEAST_REQUESTS) {
      const message =
        `a sample of ${seconds} s at ${least} qps has about ` +
        `${Number(requests.toFixed(1))} requests; expected at least ${LEAST_REQUESTS}, ` +
        "with a longer policy.sampleDuration or a higher load";
      yield conflict(["workload", "loads"], message);
    }
    const isSilent =
      arrivals.process === "trace" &&
      (arrivals.trace.kind === "rates"
        ? arrivals.trace.qps.every((qps) => qps === 0)
        : arrivals.trace.arrivalMs.length < 2);
    if (isSilent) {
      const message =
        "expected a trace of at least two requests, since its rate is scaled to each load";
      yield conflict(["workload", "arrivals", "file"], message);
    }
    return;
  }
  yield {
    code: "INPUT_UNSUPPORTED",
    path: ["workload", "loads", "maxAccuracyStep"],
    message:
      "inferline does not choose accuracies, so levels cannot be placed by them; allowed: " +
      "a list of rates, or from, to and step",
  };
}

/** Yields samples that do not fit into memory, which holds the traces for planning and judging. */
function* sampleMistakes(application: Application<InferlinePolicy>): Generator<Mistake> {
  const { qps } = highestLoad(application.loads);
  const why = "which are those of policy.traces × policy.sampleDuration";
  yield* requestMistakes(application, mostRequests(application, qps), why);
}

/** Counts the requests of all sample traces together, or of a simulation. */
function mostRequests(application: Application<InferlinePolicy>, qps: number): number {
  const { slo, policy } = application;
  const sampleMs = lengthMs(application, qps);
  const ms = Math.max(policy.traces * sampleMs, simulatedMs(slo.latencyMs, sampleMs, qps));
  return (qps * ms) / 1000;
}

/** Yields pools without a price: InferLine minimizes cost. */
function* priceMistakes({ cluster }: Application): Generator<Mistake> {
  for (const [index, pool] of cluster.pools.entries()) {
    const { name, pricePerHour } = pool;
    const isNamed = cluster.pools.length > 1 || name !== "default";
    const path = isNamed ? ["cluster", "pools", index, "pricePerHour"] : ["cluster", "pools"];
    if (pricePerHour === null) {
      const expected = "a price above 0, since inferline minimizes cost";
      yield missing(path, isNamed ? expected : `pools, each with pricePerHour: ${expected}`);
    } else if (!(priceMicros(pool) > 0)) {
      const allowed = "a price above 0, at least a millionth, since inferline minimizes cost";
      yield invalid(path, allowed, String(pricePerHour));
    }
  }
}

/**
 * Yields tasks with several models: a task is one model, and its variants are for different
 * hardware.
 */
function* hardwareMistakes(
  { name, variants, passThrough }: Task,
  index: number,
  pools: readonly Pool[],
): Generator<Mistake> {
  if (passThrough) return;
  const known = pools.map(poolWords);
  const runners = pools.map((pool) =>
    variants.flatMap((variant, position) => (profileFor(variant, pool) === null ? [] : [position])),
  );
  if (runners.every(({ length }) => length === 0)) {
    const found = variants.flatMap(({ profiles }) => profiles.map(profileWords));
    const message =
      `no pool can run ${show(name)}: its profiles are of ${found.join(", ")}, ` +
      `and the pools are ${known.join(", ")}`;
    yield conflict(["tasks", index, "variants", 0, "profile"], message);
  }
  for (const [pool, [first, second]] of runners.entries()) {
    if (first === undefined || second === undefined) continue;
    const names = `${show(variants[first]?.name)} and ${show(variants[second]?.name)}`;
    const message =
      `inferline does not choose among variants: ${names} can both run in pool ` +
      `${show(pools[pool]?.name)}; expected one for each hardware`;
    yield conflict(["tasks", index, "variants", second], message);
    return;
  }
}

/** Yields pools with too few workers: every task needs its own replica. */
function* roomMistakes({ tasks, cluster }: Application): Generator<Mistake> {
  const working = tasks.filter(({ passThrough }) => !passThrough);
  const hardware = working.map((task) => poolsOf(task, cluster.pools));
  const placed = placedOnce(
    hardware,
    cluster.pools.map(({ workers }) => workers),
  );
  const without = working[placed.indexOf(null)];
  if (without === undefined) return;
  const found = cluster.pools.map(({ name, workers }) => `${name} ${workers}`).join(", ");
  const path = ["cluster", "pools"];
  yield conflict(
    path,
    `the pools have no worker left for ${show(without.name)}: ` +
      `every task needs one of its own, got ${found}`,
  );
}

function poolsOf(
  { variants }: Task,
  pools: readonly Pool[],
): { readonly pool: number; readonly aloneMs: number }[] {
  return pools.flatMap((pool, index) => {
    return variants.flatMap((variant) => {
      const [row] = profileFor(variant, pool)?.rows ?? [];
      return row === undefined ? [] : [{ pool: index, aloneMs: row.latencyMs }];
    });
  });
}

/**
 * Yields paths that take as long as the SLO, even rarely taken ones: nothing is left for waiting.
 * Source: InferLine §4.3, Algorithm 1 line 6.
 */
function* latencyMistakes(application: Application): Generator<Mistake> {
  const { slo, cluster } = application;
  const { tasks, entryBranch } = orderedTasks(application);
  const fastest = tasks.map(({ task }) => {
    const [first, ...others] = poolsOf(task, cluster.pools);
    if (first === undefined) throw new RangeError("task without a pool");
    return others.reduce((best, one) => (one.aloneMs < best.aloneMs ? one : best), first);
  });
  const graph = taskGraphOf({
    tasks: tasks.map(({ task, edges }) => ({
      name: task.name,
      branch: task.branch,
      variants: [],
      edges: edges.map(({ parent, edge }) => ({
        parent,
        share: edge.share,
        feed: null,
        ...rowsAlong(tasks, parent, edge),
      })),
    })),
    entryBranch,
  });
  const leastMs = serviceTimeMs(
    { graph, hopMs: cluster.communicationLatencyMs },
    fastest.map(({ aloneMs }) => aloneMs),
  );
  if (leastMs < slo.latencyMs) return;
  const where = tasks.map(({ task }, index) => {
    const { pool = 0, aloneMs = 0 } = fastest[index] ?? {};
    const { name, hardware } = cluster.pools[pool] ?? {};
    return `${task.name} on ${hardware ?? name} ${ms(aloneMs)}`;
  });
  yield conflict(
    ["slo", "latency"],
    `expected more than the ${ms(leastMs)} that the longest path takes without any waiting, ` +
      `on the fastest hardware (${where.join(", ")}), got ${slo.latencyMs} ms`,
  );
}

function ms(value: number): string {
  return `${Number(value.toFixed(3))} ms`;
}
