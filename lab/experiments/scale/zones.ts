/** What it costs that some workers are farther away, by what the policy takes for granted. */

import { simulateCluster } from "stratagem/internal/methods/ramsis/simulate/cluster-simulation";
import type { RamsisBundle } from "stratagem-runtime/internal/bundle/schema";
import { Rng } from "stratagem-runtime/internal/core/rng";
import { dispatcherOf } from "stratagem-runtime/internal/methods/ramsis/core/dispatcher-of";
import type { Experiment, Run } from "../harness/experiment.ts";
import { mean, percent, rate } from "../harness/numbers.ts";
import { seedsTo } from "../harness/seeds.ts";
import { LOAD_PER_WORKER_QPS, POLICY, SEEDS, WORKER_COUNTS } from "./cases.ts";
import { FarCluster } from "./far-cluster.ts";
import { scaledBundle } from "./scaled-bundle.ts";

/** Round trips of the front end's own zone and of two others, with a third of the workers each. */
const ROUND_TRIPS_MS: readonly [number, ...number[]] = [0.2, 1, 4];
const DURATION_MS = 20_000;

export const zones: Experiment = {
  name: "zones",
  about: "accuracy and violations with workers in three zones, 10 to 1,000 workers",
  takes: "three minutes",
  isExtra: true,
  options: { workers: "how many there are, with commas between; 10,100,1000" },
  run: simulateAll,
};

async function simulateAll({ page, folder, flags }: Run): Promise<void> {
  const rows: (string | number)[][] = [];
  for (const workers of flags.numbers("workers") ?? WORKER_COUNTS) {
    const loadQps = LOAD_PER_WORKER_QPS * workers;
    const bundles: [number, RamsisBundle][] = [];
    for (const roundTripMs of ROUND_TRIPS_MS) {
      const { bundle } = await scaledBundle(folder, { workers, roundTripMs, loadQps });
      bundles.push([roundTripMs, bundle]);
    }
    const [[, nearest] = []] = bundles;
    if (nearest === undefined) return;
    for (const [roundTripMs, policy] of bundles) {
      const outcomes = seedsTo(SEEDS).map((seed) => simulated(nearest, policy, loadQps, seed));
      const accuracies = outcomes.map(({ accuracyPerQuery }) => accuracyPerQuery ?? 0);
      const missed = outcomes.map(({ violationRate }) => violationRate);
      const [least, most] = [Math.min(...missed), Math.max(...missed)];
      const spread = `${rate(least)} to ${rate(most)}`;
      rows.push([workers, roundTripMs, percent(mean(accuracies), 3), rate(mean(missed)), spread]);
    }
  }
  page.say(
    `\n${POLICY}, a third of the workers at round trips of ${ROUND_TRIPS_MS.join(", ")} ms each, ` +
      `${LOAD_PER_WORKER_QPS} queries/s for each worker, ${DURATION_MS / 1000} s; ${SEEDS} seeds`,
  );
  page.table(["workers", "compiled for ms", "accuracy", "violations", "least to most"], rows);
}

/** Times are those of the nearest zone, and the others' ways are longer. */
function simulated(nearest: RamsisBundle, policy: RamsisBundle, loadQps: number, seed: number) {
  const core = dispatcherOf(policy);
  const extraMs = extrasOf(core.workerCount, ROUND_TRIPS_MS);
  const maxBatch = nearest.tasks[0]?.serviceTimes.decisionMs.shape[1] ?? 1;
  return simulateCluster(nearest, new FarCluster(core, extraMs, maxBatch), {
    arrivals: { kind: "poisson", qps: loadQps },
    durationMs: DURATION_MS,
    serviceTimes: "p95",
    arrivalRng: new Rng(seed, 1),
    serviceRng: new Rng(seed, 2),
  });
}

/** [worker]: round trip beyond that of the first zone, ms; zones in turn. */
export function extrasOf(workers: number, [nearest, ...others]: readonly [number, ...number[]]) {
  const extras = [0, ...others.map((roundTripMs) => roundTripMs - nearest)];
  return Array.from({ length: workers }, (_, worker) => extras[worker % extras.length] ?? 0);
}
