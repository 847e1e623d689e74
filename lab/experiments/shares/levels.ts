/** Which level front ends follow that know the load of all, and those that know only their own. */
import { openBundle } from "../harness/cli.ts";
import type { Experiment, Run } from "../harness/experiment.ts";
import { percent, range, rate } from "../harness/numbers.ts";
import { compileApp } from "../ramsis/apps.ts";
import { simulateSplit } from "./simulate-split.ts";
import { evenShares } from "./split-cluster.ts";

const WORKERS = 60;
const SHARE_COUNTS = [1, 2, 4, 8];
const LEVELS_QPS = range(400, 3600, 200);
const LOADS_QPS = [1000, 1900, 2800];
const SEEDS = 5;
const SECONDS = 60;
/** Of two front ends, of which clients like one better. */
const UNEVEN = [0.6, 0.4];

export const levels: Experiment = {
  name: "levels",
  about: "levels by the load of all front ends, and by that of each alone",
  takes: "four minutes",
  run: compareAll,
};

async function compareAll({ page, folder }: Run): Promise<void> {
  const { path } = await compileApp(folder, WORKERS, LEVELS_QPS, {});
  const bundle = await openBundle("ramsis", path);
  const simulate = (loadQps: number, count: number, isAll: boolean, uneven?: readonly number[]) => {
    const { accuracyPerQuery, violationRate, levelChangesPerMinute } = simulateSplit({
      bundle,
      shares: evenShares(WORKERS, count).map((workers) => ({ workers, bundle })),
      knows: isAll ? "all" : "own load",
      ...(uneven === undefined ? {} : { requestShares: uneven }),
      arrivals: { kind: "poisson", qps: loadQps },
      durationMs: SECONDS * 1000,
      seeds: SEEDS,
    });
    const changes = levelChangesPerMinute.toFixed(1);
    return [percent(accuracyPerQuery, 3), rate(violationRate), changes];
  };
  const rows: (string | number)[][] = [];
  for (const loadQps of LOADS_QPS) {
    for (const count of SHARE_COUNTS) {
      const cells = [simulate(loadQps, count, true), simulate(loadQps, count, false)].flat();
      rows.push([`${loadQps}, ${count}`, ...cells]);
    }
    const uneven = [true, false].flatMap((isAll) => simulate(loadQps, 2, isAll, UNEVEN));
    rows.push([`${loadQps}, 2, requests 60:40`, ...uneven]);
  }
  page.say(`\n${WORKERS} workers, levels each 200 queries/s; by the load of all, then by its own`);
  const told = ["accuracy", "violations", "changes/min"];
  page.table(["load, shares", ...told, ...told], rows);
}
