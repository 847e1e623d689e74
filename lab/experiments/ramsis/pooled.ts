/** The pooled policy beside the round-robin one and the bound of both, load by load. */
import type { Experiment, Run } from "../harness/experiment.ts";
import { meanOf, percent, rate } from "../harness/numbers.ts";
import { overSeeds, seedsTo } from "../harness/seeds.ts";
import { compileApp, roundRobin, simulateSteady } from "./apps.ts";

const WORKERS = 60;
const LOADS_QPS = [400, 800, 1200, 1600, 2000, 2400, 2800, 3200, 3600];
const SEEDS = seedsTo(5);
const SECONDS = 60;

export const pooled: Experiment = {
  name: "pooled",
  about: "one queue for all workers beside a queue for each",
  takes: "two minutes",
  run: compareAll,
};

async function compareAll({ page, folder }: Run): Promise<void> {
  const rows: (string | number)[][] = [];
  for (const loadQps of LOADS_QPS) {
    const cells: (string | number)[] = [loadQps];
    let bound = Number.NaN;
    for (const policy of [{}, roundRobin(100)]) {
      const { path, expected } = await compileApp(folder, WORKERS, [loadQps], policy);
      const runs = await overSeeds(SEEDS, (seed) => simulateSteady(path, loadQps, SECONDS, seed));
      cells.push(
        percent(
          meanOf(runs, (run) => run.accuracyPerQuery),
          3,
        ),
      );
      cells.push(rate(meanOf(runs, (run) => run.violationRate)));
      bound = expected.upperBoundAccuracy;
    }
    rows.push([...cells, percent(bound, 3)]);
  }
  page.say(`\naccuracy per query, ${WORKERS} workers, simulated, five seeds of ${SECONDS} s`);
  const head = ["load", "pooled", "violations", "round-robin", "violations", "fluid bound"];
  page.table(head, rows);
}
