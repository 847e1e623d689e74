/** What it costs in accuracy to split one queue: the same workers in one share and in several. */
import type { RamsisBundle } from "stratagem-runtime/internal/bundle/schema";
import { openBundle } from "../harness/cli.ts";
import type { Experiment, Run } from "../harness/experiment.ts";
import { percent, rate } from "../harness/numbers.ts";
import { compileApp } from "../ramsis/apps.ts";
import { simulateSplit } from "./simulate-split.ts";
import { evenShares, type Knowledge } from "./split-cluster.ts";

const WORKERS = 60;
const SHARE_COUNTS = [1, 2, 4, 8];
const LOADS_QPS = [800, 1600, 2400, 3200];
const SEEDS = 5;
const SECONDS = 60;

export const split: Experiment = {
  name: "split",
  about: "one queue for 60 workers beside 2, 4 and 8 of shares of them",
  takes: "two and a half minutes",
  run: splitAll,
};

const HEADS: Readonly<Record<Exclude<Knowledge, "own load">, string>> = {
  all: "tables of the whole, what waits as long as before all",
  "plain queues": "tables of the whole, queues as they are",
  "own tables": "tables of each share",
};

async function splitAll({ page, folder }: Run): Promise<void> {
  const compile = async (workers: number, loadQps: number): Promise<RamsisBundle> => {
    const { path } = await compileApp(folder, workers, [loadQps], {});
    return openBundle("ramsis", path);
  };
  for (const knows of ["all", "plain queues", "own tables"] as const) {
    const rows: (string | number)[][] = [];
    for (const loadQps of LOADS_QPS) {
      const bundle = await compile(WORKERS, loadQps);
      const cells: (string | number)[] = [loadQps];
      for (const count of SHARE_COUNTS) {
        const sizes = evenShares(WORKERS, count);
        const own = new Map<number, RamsisBundle>();
        for (const size of new Set(sizes)) {
          own.set(size, knows === "own tables" ? await compile(size, loadQps / count) : bundle);
        }
        const { accuracyPerQuery, violationRate } = simulateSplit({
          bundle,
          shares: sizes.map((workers) => ({ workers, bundle: own.get(workers) ?? bundle })),
          knows,
          arrivals: { kind: "poisson", qps: loadQps },
          durationMs: SECONDS * 1000,
          seeds: SEEDS,
        });
        cells.push(percent(accuracyPerQuery, 3), rate(violationRate));
      }
      rows.push(cells);
    }
    page.say(`\naccuracy per query, ${WORKERS} workers in shares, ${HEADS[knows]}; violations`);
    page.table(["load", ...SHARE_COUNTS.flatMap((count) => [count, "violations"])], rows);
  }
}
