/** What the loss of a worker, a node or a zone costs the requests of the seconds after it. */

import { simulateCluster } from "stratagem/internal/methods/ramsis/simulate/cluster-simulation";
import type { RamsisBundle } from "stratagem-runtime/internal/bundle/schema";
import { Rng } from "stratagem-runtime/internal/core/rng";
import type { Experiment, Run } from "../harness/experiment.ts";
import { meanOf, percent, rate } from "../harness/numbers.ts";
import { seedsTo } from "../harness/seeds.ts";
import { LOAD_PER_WORKER_QPS, NODE_COUNTS, POLICY, SEEDS, WORKER_COUNTS, ZONES } from "./cases.ts";
import { LossyCluster } from "./lossy-cluster.ts";
import { scaledBundle } from "./scaled-bundle.ts";

const DURATION_MS = 20_000;
const LOSS_AT_MS = 5000;
const MISSED_AFTER_MS = 3000;

export const losses: Experiment = {
  name: "losses",
  about: "accuracy and violations when a worker, a node or a zone is lost, 10 to 1,000 workers",
  takes: "two minutes",
  run: simulateAll,
};

async function simulateAll({ page, folder }: Run): Promise<void> {
  const rows: (string | number)[][] = [];
  for (const workers of WORKER_COUNTS) {
    const loadQps = LOAD_PER_WORKER_QPS * workers;
    const { bundle } = await scaledBundle(folder, { workers, roundTripMs: 1, loadQps });
    for (const [what, lost] of lostOf(workers)) {
      const outcomes = seedsTo(SEEDS).map((seed) => simulateLoss(bundle, loadQps, lost, seed));
      const missed = outcomes.map((outcome) => outcome.missedRate);
      rows.push([
        ...[workers, what, lost],
        percent(
          meanOf(outcomes, ({ accuracy }) => accuracy),
          3,
        ),
        rate(meanOf(missed, (one) => one)),
        `${rate(Math.min(...missed))} to ${rate(Math.max(...missed))}`,
        Math.round(meanOf(outcomes, ({ heldQueries }) => heldQueries)),
      ]);
    }
  }
  page.say(
    `\n${POLICY}, round trip 1 ms, ${LOAD_PER_WORKER_QPS} queries/s for each worker there was; ` +
      `lost at ${LOSS_AT_MS / 1000} of ${DURATION_MS / 1000} s, ` +
      `missed ${MISSED_AFTER_MS / 1000} s later; ${SEEDS} seeds`,
  );
  const told = ["accuracy", "violations", "least to most", "queries it held"];
  const head = ["workers", "lost", "of them", ...told];
  page.table(head, rows);
}

function simulateLoss(bundle: RamsisBundle, loadQps: number, lost: number, seed: number) {
  const loss = { workers: lost, atMs: LOSS_AT_MS, missedAfterMs: MISSED_AFTER_MS };
  const cluster = new LossyCluster(bundle, loss);
  const { accuracyPerQuery, violationRate, queries } = simulateCluster(bundle, cluster, {
    arrivals: { kind: "poisson", qps: loadQps },
    durationMs: DURATION_MS,
    serviceTimes: "p95",
    arrivalRng: new Rng(seed, 1),
    serviceRng: new Rng(seed, 2),
  });
  const { heldQueries } = cluster;
  const missedRate = violationRate + heldQueries / queries;
  return { accuracy: accuracyPerQuery ?? 0, missedRate, heldQueries };
}

/** What can be lost of so many, on nodes that each have as many of them. */
function lostOf(workers: number): [string, number][] {
  const nodes = NODE_COUNTS.filter((count) => count <= workers).map((count): [string, number] => [
    `a node of ${count}`,
    Math.ceil(workers / count),
  ]);
  return [
    ["nothing", 0],
    ["a worker", 1],
    ...nodes.reverse(),
    ["a zone", Math.ceil(workers / ZONES)],
  ];
}
