/** What no schedule can reach on the streams, beside what is reached. */
import type { Experiment, Run } from "../harness/experiment.ts";
import { meanOf, percent, present } from "../harness/numbers.ts";
import type { Page } from "../harness/page.ts";
import { drawnStream, STREAMS } from "./drawn-streams.ts";
import {
  fewestBehindHigh,
  fewestOfHigh,
  fewestViolations,
  fewestWithHigh,
  fluidQueries,
} from "./fluid-bound.ts";
import { freshOptions, freshSettings } from "./fresh-settings.ts";
import { ACCORDIONS, BASELINES, type Settings, simulated } from "./place-methods.ts";
import { tableOne } from "./table-one.ts";

const FRESH = { seeds: 10, first: 3001 };
/** Of high priority, at most, on any stream. */
const WANTED = 0.02;

/** Of one stream; rates are of all queries but for the two of high priority. */
interface Beside {
  readonly accordion: number;
  readonly high: number;
  readonly baselines: number;
  readonly any: number;
  readonly withHigh: number;
  readonly behindHigh: number;
  readonly ofHigh: number;
}

export const bounds: Experiment = {
  name: "bounds",
  about: "the fewest violations that any schedule has that knows all queries before they come",
  takes: "two minutes",
  options: freshOptions(FRESH),
  run: compareAll,
};

async function compareAll({ page, flags, folder }: Run): Promise<void> {
  const settings = freshSettings(flags, FRESH);
  for (const timing of settings.timings) {
    const bundle = await tableOne(folder, timing);
    for (const load of settings.loads ?? [1]) {
      page.say(
        `\nModerate SLO, offered load ${load.toFixed(2)}, ${timing} timing: ` +
          `${settings.seeds.length} seeds from ${settings.seeds[0]}`,
      );
      print(
        page,
        STREAMS.map((_, stream) => besidesOf(bundle, { stream, load }, settings)),
      );
    }
  }
}

function besidesOf(
  bundle: Parameters<typeof drawnStream>[0],
  options: { readonly stream: number; readonly load: number },
  { seeds, low }: Settings,
): Beside[] {
  return seeds.map((seed) => {
    const drawn = drawnStream(bundle, { ...options, slo: "moderate", seed, low });
    const own = simulated(drawn, present(ACCORDIONS["accordion"]));
    const queries = fluidQueries(drawn);
    return {
      accordion: own.violationRate,
      high: own.byPriority.high.violationRate,
      baselines: meanOf(BASELINES, (scheduler) => {
        return simulated(drawn, { scheduler, dropout: "turn" }).violationRate;
      }),
      any: fewestViolations(queries),
      withHigh: fewestWithHigh(queries, WANTED),
      behindHigh: fewestBehindHigh(queries),
      ofHigh: fewestOfHigh(queries),
    };
  });
}

type Row = readonly [title: string, text: (runs: readonly Beside[]) => string];

const ROWS: readonly Row[] = [
  ["baselines that drop in their turn", meanText((run) => run.baselines)],
  ["accordion", meanText((run) => run.accordion)],
  ["fewer than the baselines", fewerText((run) => run.accordion)],
  ["at least, whoever is served", meanText((run) => run.any)],
  ["fewer at most", fewerText((run) => run.any)],
  [`at least, ${percent(WANTED, 0)} of high priority`, meanText((run) => run.withHigh)],
  ["fewer at most", fewerText((run) => run.withHigh)],
  ["on the worst stream", lowestText((run) => run.withHigh)],
  ["at least, high priority first", meanText((run) => run.behindHigh)],
  ["fewer at most", fewerText((run) => run.behindHigh)],
  ["high priority, accordion", meanText((run) => run.high)],
  ["on the worst stream", worstText((run) => run.high)],
  ["high priority, at least", meanText((run) => run.ofHigh)],
  ["on the worst stream", worstText((run) => run.ofHigh)],
];

/** By stream, and of all of them. */
function print(page: Page, byStream: readonly (readonly Beside[])[]): void {
  const columns = [...byStream, byStream.flat()];
  page.table(
    ["stream", ...STREAMS.map((_, stream) => stream + 1), "all"],
    ROWS.map(([title, text]) => [title, ...columns.map(text)]),
  );
}

function meanText(of: (run: Beside) => number): Row[1] {
  return (runs) => percent(meanOf(runs, of));
}

function worstText(of: (run: Beside) => number): Row[1] {
  return (runs) => percent(Math.max(...runs.map(of)));
}

/** How many times fewer that is than the baselines, where it is the least. */
function lowestText(of: (run: Beside) => number): Row[1] {
  return (runs) => {
    const lowest = Math.min(...runs.map((run) => run.baselines / of(run)));
    return lowest > 1e4 ? "-" : lowest.toFixed(2);
  };
}

/** Of what is next to nothing there is no ratio to tell. */
function fewerText(of: (run: Beside) => number): Row[1] {
  return (runs) => {
    const rate = meanOf(runs, of);
    return rate < 1e-4 ? "-" : (meanOf(runs, (run) => run.baselines) / rate).toFixed(2);
  };
}
