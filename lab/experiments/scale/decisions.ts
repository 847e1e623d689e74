/** What a decision costs as workers grow, and what their policy is worth over a network. */

import { simulateCluster } from "stratagem/internal/methods/ramsis/simulate/cluster-simulation";
import { CommandBuffer, START_BATCH } from "stratagem-runtime/internal/core/command-buffer";
import { Rng } from "stratagem-runtime/internal/core/rng";
import { dispatcherOf } from "stratagem-runtime/internal/methods/ramsis/core/dispatcher-of";
import type { Experiment, Run } from "../harness/experiment.ts";
import { meanOf, percent, rate } from "../harness/numbers.ts";
import { seedsTo } from "../harness/seeds.ts";
import { LOAD_PER_WORKER_QPS, POLICY, SEEDS, WORKER_COUNTS } from "./cases.ts";
import { type ScaledBundle, scaledBundle } from "./scaled-bundle.ts";

const ROUND_TRIPS_MS = [0, 1, 4, 20];
const SECONDS = 20;
const nowMs = (): number => performance.now();

export const decisions: Experiment = {
  name: "decisions",
  about: "accuracy, violations and cost of a decision of 10 to 1,000 workers over a network",
  takes: "five minutes",
  isExtra: true,
  run: measureAll,
};

async function measureAll({ page, folder }: Run): Promise<void> {
  const rows: (string | number)[][] = [];
  const eventRows: (string | number)[][] = [];
  for (const workers of WORKER_COUNTS) {
    const loadQps = LOAD_PER_WORKER_QPS * workers;
    for (const roundTripMs of ROUND_TRIPS_MS) {
      const scaled = await scaledBundle(folder, { workers, roundTripMs, loadQps });
      rows.push([workers, loadQps, roundTripMs, ...simulated(scaled, loadQps)]);
      if (roundTripMs === 0) eventRows.push(eventRow(workers, scaled.bundle));
    }
  }
  page.say(`\n${POLICY} for more workers, ${SEEDS} times ${SECONDS} s of Poisson arrivals each`);
  const told = ["accuracy", "least to most", "violations", "stated", "rule", "compile s"];
  page.table(["workers", "queries/s", "round trip ms", ...told], rows);
  page.say(`\nµs of the core alone per event, with as many arrivals in a row as workers`);
  page.table(["workers", "arrival", "batch done"], eventRows);
}

/** Of all seeds: accuracy and its spread, violations, and those that the level states. */
function simulated({ bundle, solveMs }: ScaledBundle, loadQps: number): string[] {
  const outcomes = seedsTo(SEEDS).map((seed) =>
    simulateCluster(bundle, dispatcherOf(bundle), {
      arrivals: { kind: "poisson", qps: loadQps },
      durationMs: 1000 * SECONDS,
      serviceTimes: "p95",
      arrivalRng: new Rng(seed, 1),
      serviceRng: new Rng(seed, 2),
    }),
  );
  const accuracies = outcomes.map(({ accuracyPerQuery }) => accuracyPerQuery ?? 0);
  const [level] = bundle.levels;
  return [
    percent(
      meanOf(accuracies, (accuracy) => accuracy),
      3,
    ),
    `${percent(Math.min(...accuracies), 3)} to ${percent(Math.max(...accuracies), 3)}`,
    rate(meanOf(outcomes, ({ violationRate }) => violationRate)),
    rate(level?.expected.violationRate ?? Number.NaN),
    level?.solve.method.split(" ")[0] ?? "",
    (solveMs / 1000).toFixed(1),
  ];
}

/** As many arrivals as there are workers, then the ends of all batches; again and again. */
function eventRow(workers: number, bundle: ScaledBundle["bundle"]): (string | number)[] {
  const loadQps = LOAD_PER_WORKER_QPS * workers;
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
