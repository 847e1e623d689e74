/** Mistakes: what an application asks for that Loki does not support. */

import { type FlatTask, flatTasks } from "../../../graph/flat-tasks.ts";
import type { Application, LokiPolicy, Variant } from "../../../spec/application.ts";
import { conflict, invalid, type Mistake, show } from "../../../spec/document/mistakes.ts";
import { poolWords, profileFor, profileWords } from "../../../spec/pool-profiles.ts";
import { type LeafAccuracies, leavesOf, MAX_TABLE_PATHS, variantsOf } from "./leaves.ts";
import { latencyLimitMs } from "./problem.ts";

/** Maximum paths to one leaf if accuracies are products: the simulator numbers paths. */
const MAX_PATHS = 2 ** 32;
/** Maximum tasks on the path to one leaf. */
const MAX_DEPTH = 15;

export function* lokiMistakes(application: Application<LokiPolicy>): Generator<Mistake> {
  const { policy, tasks } = application;
  const joins = [...joinMistakes(application)];
  if (joins.length > 0) return yield* joins;
  const flat = flatTasks(tasks);
  const unfit = [...poolMistakes(application, flat), ...sizeMistakes(flat, policy)];
  if (unfit.length > 0) return yield* unfit;
  for (const leaf of leavesOf(flat, policy)) {
    yield* accuracyMistakes(leaf, flat);
    yield* latencyMistakes(leaf, flat, application);
  }
}

/** Yields joins. Source: Loki §2.1, a pipeline is a rooted tree. */
function* joinMistakes({ tasks }: Application): Generator<Mistake> {
  const parentOf = new Map<string, string>();
  for (const [index, { name, to }] of tasks.entries()) {
    for (const [edge, { task, gather }] of to.entries()) {
      if (gather !== undefined) {
        yield {
          code: "INPUT_UNSUPPORTED",
          path: ["tasks", index, "to", edge, "gather"],
          message:
            `loki does not join rows again that come from ${show(name)} to ${show(task)}; ` +
            "inferline and themis do",
        };
      }
      const other = parentOf.get(task);
      parentOf.set(task, name);
      if (other === undefined) continue;
      yield {
        code: "INPUT_UNSUPPORTED",
        path: ["tasks", index, "to", edge, "task"],
        message:
          `loki plans trees, and edges lead to ${show(task)} from ${show(other)} and ` +
          `${show(name)}; allowed: one, or method inferline or themis, which plan joins`,
      };
    }
  }
}

function* poolMistakes(
  { tasks, cluster }: Application,
  flat: readonly FlatTask[],
): Generator<Mistake> {
  const { pools } = cluster;
  const workers = pools.reduce((sum, pool) => sum + pool.workers, 0);
  if (workers < flat.length) {
    const expected = `at least ${flat.length} workers, one for each task`;
    yield invalid(["cluster"], expected, `${workers}`);
  }
  const known = pools.map(poolWords);
  for (const [taskIndex, { variants }] of tasks.entries()) {
    for (const [index, variant] of variants.entries()) {
      if (pools.some((pool) => profileFor(variant, pool) !== null)) continue;
      const found = variant.profiles.map(profileWords).join(", ");
      yield conflict(
        ["tasks", taskIndex, "variants", index, "profile"],
        `no pool can run ${show(variant.name)}: its profiles are of ${found}, ` +
          `and the pools are ${known.join(", ")}`,
      );
    }
  }
}

function* sizeMistakes(tasks: readonly FlatTask[], { accuracyOf }: LokiPolicy): Generator<Mistake> {
  const maxPaths = accuracyOf.kind === "product" ? MAX_PATHS : MAX_TABLE_PATHS;
  const paths = new Map<number | null, { readonly count: number; readonly depth: number }>();
  paths.set(null, { count: 1, depth: 0 });
  for (const [index, { task, parent }] of tasks.entries()) {
    const before = paths.get(parent) ?? { count: 0, depth: 0 };
    const count = before.count * task.variants.length;
    paths.set(index, { count, depth: before.depth + 1 });
    if (count > maxPaths) {
      const found = `${count} of them to ${show(task.name)}`;
      return yield invalid(["tasks"], `at most ${maxPaths} paths of variants to a task`, found);
    }
    if (before.depth + 1 > MAX_DEPTH) {
      const found = `${before.depth + 1} to ${show(task.name)}`;
      return yield invalid(["tasks"], `at most ${MAX_DEPTH} tasks one after another`, found);
    }
  }
}

function* accuracyMistakes(
  { path, shape, accuracies }: LeafAccuracies,
  tasks: readonly FlatTask[],
): Generator<Mistake> {
  if (accuracies === null) return;
  const cell = accuracies.findIndex((accuracy) => !(accuracy >= 0 && accuracy <= 1));
  if (cell < 0) return;
  const names = variantsOf(cell, shape).map(
    (variant, position) => tasks[path[position] ?? -1]?.task.variants[variant]?.name,
  );
  yield invalid(
    ["policy", "accuracyOf"],
    "an accuracy between 0 and 1 for every path",
    `${accuracies[cell]} for ${names.join("|")}`,
  );
}

/** Yields leaves that no choice of variants, batches and pools reaches in time. */
function* latencyMistakes(
  { task, path }: LeafAccuracies,
  tasks: readonly FlatTask[],
  { slo, cluster, policy }: Application<LokiPolicy>,
): Generator<Mistake> {
  const steps = path.map((at) => fastestOf(tasks[at]?.task.variants ?? [], cluster.pools));
  const leastMs = steps.reduce((sum, { latencyMs }) => sum + latencyMs, 0);
  const limitMs = latencyLimitMs({ slo, policy, cluster }, path.length);
  if (!(leastMs > limitMs)) return;
  const way = steps.map(({ name, batch }) => `${name} ×${batch}`).join(", ");
  const leaf = show(tasks[task]?.task.name ?? "");
  yield conflict(
    ["slo", "latency"],
    `the leaf ${leaf} can never be reached in time: the fastest path, ${way}, ` +
      `takes ${ms(leastMs)}, ` +
      `${ms(leastMs - limitMs)} more than the ${ms(limitMs)} that sloFraction ` +
      `${policy.sloFraction} of ${slo.latencyMs} ms leaves for execution`,
  );
}

interface Fastest {
  readonly name: string;
  readonly batch: number;
  readonly latencyMs: number;
}

function fastestOf(variants: readonly Variant[], pools: Application["cluster"]["pools"]): Fastest {
  let fastest: Fastest = { name: "", batch: 0, latencyMs: Number.POSITIVE_INFINITY };
  for (const variant of variants) {
    for (const pool of pools) {
      for (const { batch, latencyMs } of profileFor(variant, pool)?.rows ?? []) {
        if (latencyMs < fastest.latencyMs) fastest = { name: variant.name, batch, latencyMs };
      }
    }
  }
  return fastest;
}

function ms(value: number): string {
  return `${Number(value.toFixed(3))} ms`;
}
