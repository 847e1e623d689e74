/**
 * What reconfiguring costs, how often it is done, and what the paper's 0.9 % of instances is here.
 */
import type { Experiment, Run } from "../harness/experiment.ts";
import { percent } from "../harness/numbers.ts";
import { ACCORDIONS, SETTINGS, settingsOf } from "./place-methods.ts";
import { rowOf, type StreamRun, streamRuns } from "./stream-runs.ts";
import { tableOne } from "./table-one.ts";

const COSTS_MS = [0, 5, 50, 500, 5000];
const LOADS = [0.8, 1];

export const reconfiguration: Experiment = {
  name: "reconfiguration",
  about: "changes of running queries, and what one may cost",
  takes: "one minute",
  options: SETTINGS,
  run: compareAll,
};

async function compareAll({ page, flags, folder }: Run): Promise<void> {
  const settings = settingsOf(flags);
  for (const timing of settings.timings) {
    const bundle = await tableOne(folder, timing);
    for (const [method, policy] of Object.entries(ACCORDIONS)) {
      for (const load of LOADS) {
        const all = COSTS_MS.map((reconfigurationMs) =>
          streamRuns(bundle, load, { ...policy, reconfigurationMs }, settings),
        );
        const without = all.map((runs) => runs.filter(({ stream }) => stream > 0));
        page.say(
          `\nReconfiguration, ${method}, moderate SLO, load ${load.toFixed(1)}, ${timing} timing`,
        );
        page.table(
          ["cost, ms", ...COSTS_MS],
          [
            rowOf("violations", all, ({ result }) => result.violationRate, percent),
            rowOf("changes/query", all, perQuery, (value) => value.toFixed(2)),
            rowOf("changes/instance", all, perInstance, percent),
            rowOf(" without stream 1", without, perInstance, percent),
            rowOf("instances redone", all, redone, percent),
          ],
        );
      }
    }
  }
}

function perQuery({ result }: StreamRun): number {
  return result.reconfigurations / result.queries;
}

function perInstance({ result }: StreamRun): number {
  return result.reconfigurations / result.instances;
}

function redone({ result }: StreamRun): number {
  return result.instancesRedone / result.instances;
}
