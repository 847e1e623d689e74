/** What a decision costs as workers grow, and what a policy of that many is worth over a network. */

import { simulateCluster } from "stratagem/internal/methods/ramsis/simulate/cluster-simulation";
import { CommandBuffer } from "stratagem-runtime/internal/core/command-buffer";
import { Rng } from "stratagem-runtime/internal/core/rng";
import { dispatcherOf } from "stratagem-runtime/internal/methods/ramsis/core/dispatcher-of";
import { openBundle } from "../harness/cli.ts";
import type { Experiment, Run } from "../harness/experiment.ts";
import { percent, rate } from "../harness/numbers.ts";
import { LOAD_PER_WORKER_QPS, POLICY, WORKER_COUNTS } from "./cases.ts";
import { scaledBundle } from "./scaled-bundle.ts";

const ROUND_TRIPS_MS = [0, 1, 4, 20];
const SECONDS = 20;
const nowMs = (): number => performance.now();

export const decisions: Experiment = {
  name: "decisions",
  about: "accuracy, violations and cost of a decision of 10 to 1,000 workers over a network",
  takes: "three minutes",
  isExtra: true,
  run: measureAll,
};

async function measureAll({ page }: Run): Promise<void> {
  const committed = await openBundle("ramsis", POLICY);
  const rows: (string | number)[][] = [];
  for (const workers of WORKER_COUNTS) {
    const loadQps = LOAD_PER_WORKER_QPS * workers;
    for (const roundTripMs of ROUND_TRIPS_MS) {
      const sketch = { workers, roundTripMs, loadQps };
      const { bundle, solveMs } = await scaledBundle(committed, sketch, nowMs);
      // Each event is timed by the whole run, so that a clock is read twice only.
      const dispatcher = dispatcherOf(bundle);
      const startMs = nowMs();
      const outcome = simulateCluster(bundle, dispatcher, {
        arrivals: { kind: "poisson", qps: loadQps },
        durationMs: 1000 * SECONDS,
        serviceTimes: "p95",
        arrivalRng: new Rng(1, 1),
        serviceRng: new Rng(1, 2),
      });
      const perQueryUs = (1000 * (nowMs() - startMs)) / outcome.queries;
      rows.push([
        workers,
        loadQps,
        roundTripMs,
        percent(outcome.accuracyPerQuery ?? 0, 3),
        rate(outcome.violationRate),
        (solveMs / 1000).toFixed(1),
        perQueryUs.toFixed(2),
      ]);
    }
  }
  page.say(`\n${POLICY} solved for more workers, ${SECONDS} s of Poisson arrivals each`);
  const told = ["accuracy", "violations", "solve s", "simulated µs/query"];
  page.table(["workers", "queries/s", "round trip ms", ...told], rows);
  page.say(`\nEvery worker idle, then busy: µs of the core per query`);
  page.table(
    ["workers", "arrival and start", "batch done"],
    await Promise.all(WORKER_COUNTS.map((workers) => eventRow(workers, committed))),
  );
}

/** Arrivals that start a batch at once, until no worker is idle, and their ends; again and again. */
async function eventRow(
  workers: number,
  committed: Parameters<typeof scaledBundle>[0],
): Promise<(string | number)[]> {
  const loadQps = LOAD_PER_WORKER_QPS * workers;
  const { bundle } = await scaledBundle(committed, { workers, roundTripMs: 0, loadQps }, nowMs);
  const core = dispatcherOf(bundle);
  const out = new CommandBuffer(core.commandCapacity, core.waitingCapacity);
  const rounds = Math.ceil(400_000 / workers);
  let [startUs, doneUs, virtualMs] = [0, 0, 0];
  for (let round = -rounds / 4; round < rounds; round++) {
    // The first quarter warms the compiler up.
    const isCounted = round >= 0;
    const first = nowMs();
    for (let query = 0; query < workers; query++) {
      virtualMs += 1000 / loadQps;
      core.onArrival(query, virtualMs + bundle.slo.latencyMs, virtualMs, out);
      out.clear();
    }
    const second = nowMs();
    for (let worker = 0; worker < workers; worker++) {
      core.onBatchDone(worker, virtualMs, out);
      out.clear();
    }
    const third = nowMs();
    if (isCounted) [startUs, doneUs] = [startUs + second - first, doneUs + third - second];
    virtualMs += 50;
  }
  const perEvent = (ms: number) => ((1000 * ms) / (rounds * workers)).toFixed(2);
  return [workers, perEvent(startUs), perEvent(doneUs)];
}
