/** Whether rare large queries of high priority are served on time among small ones. */
import type { AccordionSimulationResult } from "stratagem/internal/methods/accordion/simulate/simulate";
import type { Experiment, Run } from "../harness/experiment.ts";
import { meanOf, percent } from "../harness/numbers.ts";
import { ACCORDIONS, type PlacePolicy, SETTINGS, settingsOf, simulated } from "./place-methods.ts";
import { LARGE, rareStream } from "./rare-stream.ts";
import { tableOne } from "./table-one.ts";

const LOADS = [0.96, 0.97, 0.98];

/** The default, the paper's rules, and with one rule of our own beside these. */
const POLICIES: Readonly<Record<string, PlacePolicy>> = {
  ...ACCORDIONS,
  "settled, backfill": { ...ACCORDIONS["settled"], backfill: true },
  "settled, regrow": { ...ACCORDIONS["settled"], regrow: true },
};

interface RareFigures {
  readonly lateLarge: number;
  readonly violationRate: number;
  readonly smallMs: number;
  readonly largeMs: number;
}

export const rare: Experiment = {
  name: "rare",
  about: "ten large queries of high priority among 30,000 small ones",
  takes: "one minute",
  options: { seeds: SETTINGS.seeds, "first-seed": SETTINGS["first-seed"], load: SETTINGS.load },
  run: compareAll,
};

async function compareAll({ page, flags, folder }: Run): Promise<void> {
  const { seeds, loads = LOADS } = settingsOf(flags);
  for (const timing of ["paper", "pipelined"] as const) {
    const bundle = await tableOne(folder, timing);
    const streams = loads.map((load) => seeds.map((seed) => rareStream(bundle, { load, seed })));
    const all = Object.entries(POLICIES).map(([name, policy]) => {
      const byLoad = streams.map((drawn) => {
        return drawn.map((one) => {
          const result = simulated(one, policy, { withLatencies: true });
          return figuresOf(one.queries.batch, result, one.bundle.slo.latencyMs);
        });
      });
      return { name, byLoad };
    });
    page.say(`\nRare large queries, ${timing} timing, ${seeds.length} seeds of ${LARGE.count}`);
    const rows = (title: string, text: (runs: readonly RareFigures[]) => string) => {
      page.say(`\n  ${title}`);
      page.table(
        ["offered load", ...loads],
        all.map(({ name, byLoad }) => [name, ...byLoad.map(text)]),
      );
    };
    rows("large ones that are late, mean (most) of 10", (runs) => {
      const late = runs.map(({ lateLarge }) => lateLarge);
      return `${meanOf(late, Number).toFixed(1)} (${Math.max(...late)})`;
    });
    rows("violations of all", (runs) =>
      percent(
        meanOf(runs, (run) => run.violationRate),
        3,
      ),
    );
    rows("latency of large ones, s", (runs) => meanOf(runs, (run) => run.largeMs / 1e3).toFixed(2));
    rows("latency of small ones, s", (runs) => meanOf(runs, (run) => run.smallMs / 1e3).toFixed(2));
  }
}

function figuresOf(
  batch: Uint16Array,
  { latencyMsByQuery, violationRate }: AccordionSimulationResult,
  sloMs: number,
): RareFigures {
  const all = [...(latencyMsByQuery ?? [])];
  const large = all.filter((_, query) => batch[query] === LARGE.batch);
  const small = all.filter((ms, query) => batch[query] !== LARGE.batch && !Number.isNaN(ms));
  return {
    lateLarge: large.filter((ms) => !(ms <= sloMs)).length,
    violationRate,
    smallMs: meanOf(small, Number),
    largeMs: meanOf(large, Number),
  };
}
