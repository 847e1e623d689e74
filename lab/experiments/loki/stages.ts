/**
 * What a RAMSIS table for each task adds over the plan's fixed variants, between levels and at
 * them.
 */
import type { Experiment, Run } from "../harness/experiment.ts";
import { percent } from "../harness/numbers.ts";
import { ReferenceApps } from "./reference-apps.ts";
import { steady } from "./replays.ts";

const SHARES = [0.1, 0.2, 0.4, 0.6, 0.8, 0.95];

export const stages: Experiment = {
  name: "stages",
  about: "RAMSIS inside Loki",
  takes: "some minutes",
  run: compareAll,
};

async function compareAll({ page, folder }: Run): Promise<void> {
  const apps = new ReferenceApps(folder);
  for (const name of ["traffic_chain", "traffic_tree"] as const) {
    const fixed = await apps.placed(name);
    const tables = await apps.placed(name, { policy: { stagePolicy: "ramsis" } });
    const rows = SHARES.map((share) => {
      const qps = share * fixed.capacityQps;
      const outcomes = [fixed, tables].map(({ bundle }) => steady(bundle, qps));
      return [
        qps.toFixed(0),
        ...outcomes.map(({ accuracyPerQuery }) => percent(accuracyPerQuery)),
        ...outcomes.map(({ violationRate }) => percent(violationRate)),
      ];
    });
    page.say(
      `\n${name}: accuracy per request and violations, fixed variants | RAMSIS in the stages`,
    );
    page.table(["qps", "accuracy", "", "violations", ""], rows);
  }
}
