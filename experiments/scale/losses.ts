/** What the loss of a worker, a node or a zone costs the requests of the seconds after it. */

import { simulateCluster } from "stratagem/internal/methods/ramsis/simulate/cluster-simulation";
import { Rng } from "stratagem-runtime/internal/core/rng";
import { openBundle } from "../harness/cli.ts";
import type { Experiment, Run } from "../harness/experiment.ts";
import { percent, rate } from "../harness/numbers.ts";
import { LOAD_PER_WORKER_QPS, NODES, POLICY, WORKER_COUNTS, ZONES } from "./cases.ts";
import { LossyCluster } from "./lossy-cluster.ts";
import { scaledBundle } from "./scaled-bundle.ts";

const DURATION_MS = 20_000;
const LOSS_AT_MS = 5000;
const MISSED_AFTER_MS = 3000;
const nowMs = (): number => performance.now();

export const losses: Experiment = {
  name: "losses",
  about: "accuracy and violations when a worker, a node or a zone is lost, 10 to 1,000 workers",
  takes: "two minutes",
  run: simulateAll,
};

async function simulateAll({ page }: Run): Promise<void> {
  const committed = await openBundle("ramsis", POLICY);
  const rows: (string | number)[][] = [];
  for (const workers of WORKER_COUNTS) {
    const loadQps = LOAD_PER_WORKER_QPS * workers;
    const { bundle } = await scaledBundle(committed, { workers, roundTripMs: 1, loadQps }, nowMs);
    for (const [what, lost] of lostOf(workers)) {
      const loss = { workers: lost, atMs: LOSS_AT_MS, missedAfterMs: MISSED_AFTER_MS };
      const cluster = new LossyCluster(bundle, loss);
      const outcome = simulateCluster(bundle, cluster, {
        arrivals: { kind: "poisson", qps: loadQps },
        durationMs: DURATION_MS,
        serviceTimes: "p95",
        arrivalRng: new Rng(1, 1),
        serviceRng: new Rng(1, 2),
      });
      const accuracy = percent(outcome.accuracyPerQuery ?? 0, 3);
      const missed = outcome.violationRate + cluster.heldQueries / outcome.queries;
      rows.push([workers, what, lost, accuracy, rate(missed), cluster.heldQueries]);
    }
  }
  page.say(
    `\n${POLICY}, round trip 1 ms, ${LOAD_PER_WORKER_QPS} queries/s for each worker there was; ` +
      `lost at ${LOSS_AT_MS / 1000} of ${DURATION_MS / 1000} s, ` +
      `missed ${MISSED_AFTER_MS / 1000} s later`,
  );
  const head = ["workers", "lost", "of them", "accuracy", "violations", "queries it held"];
  page.table(head, rows);
}

/** What can be lost of so many, on as many nodes as they fill. */
function lostOf(workers: number): [string, number][] {
  return [
    ["nothing", 0],
    ["a worker", 1],
    ["a node", Math.max(1, Math.ceil(workers / NODES))],
    ["a zone", Math.ceil(workers / ZONES)],
  ];
}
