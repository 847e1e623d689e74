/** Serving path in profiles. */
import type { Spread } from "stratagem-runtime/internal/bundle/schema";
import type { Cluster, ProfiledServing, Task } from "./application.ts";
import { conflict, invalid, type Mistake } from "./document/mistakes.ts";
import { profileFor } from "./pool-profiles.ts";
import type { ServingSpec } from "./schema/profile-schema.ts";

/** Smallest rate that is not rounded to 0: one in thirty years. */
const MIN_STALLS = 1e-9;

/** Rows of times of the serving path. */
const SPREADS = ["requestMs", "batchMs", "answerMs", "wakeMs", "wireMs"] as const;

/** Converts the path of a profile; a missing row takes no time. */
export function servingOf(spec: ServingSpec): ProfiledServing {
  const { processors, requestBytes, perMiBMs, contention, stalls } = spec;
  return {
    processors,
    requestBytes: Math.round(requestBytes),
    requestMs: spreadOf(spec.requestMs),
    batchMs: spreadOf(spec.batchMs),
    answerMs: spreadOf(spec.answerMs),
    perMiBMs,
    wakeMs: spreadOf(spec.wakeMs),
    wireMs: spreadOf(spec.wireMs),
    contention: contention ?? [1],
    ...(stalls !== undefined && stalls.perSecond >= MIN_STALLS
      ? { stalls: { perSecond: stalls.perSecond, ms: spreadOf(stalls.ms) } }
      : {}),
  };
}

function spreadOf(row: number | Spread = 0): Spread {
  return typeof row === "number" ? { p50: row, p95: row, p99: row, mean: row } : row;
}

export function* servingMistakes(spec: ServingSpec): Generator<Mistake> {
  const rows = [...SPREADS.map((name) => [name, spec[name]] as const)];
  for (const [name, row] of [...rows, ["stalls", spec.stalls?.ms] as const]) {
    const { p50, p95, p99 } = spreadOf(row);
    if (p50 <= p95 && p95 <= p99) continue;
    const found = `p50 = ${p50}, p95 = ${p95}, p99 = ${p99}`;
    yield conflict(["serving", name], `expected p50 ≤ p95 ≤ p99, got ${found}`);
  }
  const { contention = [1] } = spec;
  const path = ["serving", "contention"];
  if (contention[0] !== 1) {
    yield invalid(path, "factors that begin with 1", String(contention[0] ?? "an empty list"));
  }
  const fall = contention.findIndex((factor, index) => factor < (contention[index - 1] ?? 0));
  if (fall > 0) {
    const found = `${contention[fall]} after ${contention[fall - 1]}`;
    yield conflict([...path, fall], `expected factors that do not descend, got ${found}`);
  }
}

/**
 * Returns the cluster with the path of the first variant whose profile has one, in the order of the
 * pools.
 * @param isPlannedWith whether the compiler reserves time for the path.
 */
export function withServing(
  cluster: Cluster,
  tasks: readonly Task[],
  isPlannedWith: boolean,
): Cluster {
  for (const pool of cluster.pools) {
    for (const { variants } of tasks) {
      for (const variant of variants) {
        const serving = profileFor(variant, pool)?.serving;
        if (serving !== undefined) return { ...cluster, serving: { ...serving, isPlannedWith } };
      }
    }
  }
  return cluster;
}
