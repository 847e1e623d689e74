/** Fig. 8: the same day under other SLOs. */
import type { Experiment, Run } from "../harness/experiment.ts";
import { percent } from "../harness/numbers.ts";
import { type PlacedBundle, ReferenceApps } from "./reference-apps.ts";
import { type Day, PEAK_OF_HARDWARE, recordedDay, replay } from "./replays.ts";

const SLOS_MS = [50, 100, 150, 200, 250, 300, 350, 400];

export const slo: Experiment = {
  name: "slo",
  about: "Fig. 8, the SLO",
  takes: "four minutes",
  run: compareAll,
};

async function compareAll({ page, folder }: Run): Promise<void> {
  const apps = new ReferenceApps(folder);
  const { hardwareQps } = await apps.placed("traffic_tree");
  const day = recordedDay(PEAK_OF_HARDWARE.traffic_tree * hardwareQps);
  const rows: string[][] = [];
  for (const sloMs of SLOS_MS) {
    const cells = await apps.placed("traffic_tree", { sloMs }).then(
      (placed) => cellsOf(placed, day),
      (error: Error) => ["-", "-", "-", "-", error.message.slice(0, 120)],
    );
    rows.push([`${sloMs} ms`, ...cells]);
  }
  page.say("\ntraffic_tree, the day of 250 ms under other SLOs");
  const measures = ["accuracy/satisfied", "largest drop", "violations", "capacity qps", ""];
  page.table(["SLO", ...measures], rows);
}

/** The largest drop is from the best plan to the least accurate second. */
function cellsOf({ bundle, capacityQps }: PlacedBundle, day: Day): string[] {
  const outcome = replay(bundle, day);
  const best = Math.max(...bundle.levels.map(({ plan }) => plan?.accuracy ?? 0));
  const seconds = (outcome.timeline ?? []).flatMap(({ accuracy }) => accuracy ?? []);
  const least = Math.min(...seconds);
  return [
    percent(outcome.accuracyPerSatisfied),
    percent(best - least),
    percent(outcome.violationRate),
    capacityQps.toFixed(0),
    "",
  ];
}
