/** What a decision costs as workers grow, and what their policy is worth over a network. */

import { simulateCluster } from "stratagem/internal/methods/ramsis/simulate/cluster-simulation";
import { CommandBuffer, START_BATCH } from "stratagem-runtime/internal/core/command-buffer";
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
  page.say(`\nµs of the core alone per event, with as many arrivals in a row as workers`);
  const eventRows: (string | number)[][] = [];
  for (const workers of WORKER_COUNTS) eventRows.push(await eventRow(workers, committed));
  page.table(["workers", "arrival", "batch done"], eventRows);
}

/** As many arrivals as there are workers, then the ends of all batches; again and again. */
async function eventRow(
  workers: number,
  committed: Parameters<typeof scaledBundle>[0],
): Promise<(string | number)[]> {
  const loadQps = LOAD_PER_WORKER_QPS * workers;
  const { bundle } = await scaledBundle(committed, { workers, roundTripMs: 0, loadQps }, nowMs);
  const core = dispatcherOf(bundle);
  const out = new CommandBuffer(core.commandCapacity, core.waitingCapacity);
  const rounds = Math.ceil(400_000 / workers);
  const busy: number[] = [];
  let [startMs, doneMs, doneCount, virtualMs] = [0, 0, 0, 0];
  for (let round = -rounds / 4; round < rounds; round++) {
    // The first quarter warms the compiler up.
    const isCounted = round >= 0;
    const first = nowMs();
    for (let query = 0; query < workers; query++) {
      virtualMs += 1000 / loadQps;
      core.onArrival(query, virtualMs + bundle.slo.latencyMs, virtualMs, out);
      take(out, busy);
    }
    const second = nowMs();
    let ended = 0;
    for (let worker = busy.pop(); worker !== undefined; worker = busy.pop()) {
      core.onBatchDone(worker, virtualMs, out);
      take(out, busy);
      ended++;
    }
    const third = nowMs();
    if (isCounted) {
      startMs += second - first;
      doneMs += third - second;
      doneCount += ended;
    }
    virtualMs += 50;
  }
  const perEvent = (ms: number, count: number) => ((1000 * ms) / count).toFixed(2);
  return [workers, perEvent(startMs, rounds * workers), perEvent(doneMs, doneCount)];
}

/** Notes who runs a batch now. */
function take(out: CommandBuffer, busy: number[]): void {
  for (let command = 0; command < out.count; command++) {
    if (out.kind(command) === START_BATCH) busy.push(out.worker(command));
  }
  out.clear();
}
