/** Fig. 7: what becomes of queries that fall behind. */
import type { Experiment, Run } from "../harness/experiment.ts";
import { percent, present } from "../harness/numbers.ts";
import { dropping, lastLevel, ReferenceApps } from "./reference-apps.ts";
import { PEAK_OF_HARDWARE, recordedDay, replay, steady } from "./replays.ts";

const DROP_MODES = ["none", "last-task", "per-task", "reroute", "deadline"] as const;

export const ablation: Experiment = {
  name: "ablation",
  about: "Fig. 7, ways to drop, on a day and under loads that a plan just or not carries",
  takes: "half a minute",
  run: compareAll,
};

async function compareAll({ page, folder }: Run): Promise<void> {
  const { bundle, hardwareQps } = await new ReferenceApps(folder).placed("traffic_tree");
  const trace = recordedDay(PEAK_OF_HARDWARE.traffic_tree * hardwareQps);
  const rows = DROP_MODES.map((drop) => {
    const own = dropping(bundle, drop);
    const top = lastLevel(own);
    // A load that the one plan in force just carries, and one that is too much for it.
    const level = present(own.levels.find(({ loadQps }) => loadQps >= 400));
    const outcomes = [
      replay(own, trace),
      steady({ ...own, levels: [level] }, level.loadQps),
      steady({ ...own, levels: [top] }, 1.1 * top.loadQps),
    ];
    const cells = outcomes.flatMap(({ violationRate, accuracyPerSatisfied }) => [
      percent(violationRate),
      percent(accuracyPerSatisfied),
    ]);
    return [drop, ...cells];
  });
  page.say("\ntraffic_tree, what becomes of queries that fall behind");
  const own = ["a plan at its load: violations", "accuracy"];
  const beyond = ["1.1 × capacity: violations", "accuracy"];
  page.table(["drop", "day: violations", "accuracy", ...own, ...beyond], rows);
}
