/** Fig. 3: what dropping does for those of high priority, by the age from which queries go. */
import type { Experiment, Run } from "../harness/experiment.ts";
import { percent, present } from "../harness/numbers.ts";
import { ACCORDIONS, SETTINGS, settingsOf } from "./place-methods.ts";
import { highInSlos } from "./stream-cells.ts";
import { rowOf, type StreamRun, streamRuns } from "./stream-runs.ts";
import { tableOne } from "./table-one.ts";

const LOADS = [0.8, 1, 1.2];
/** In SLOs; null drops nobody. */
const WINDOWS = [0.5, 1, 1.5, 2, 3, null];

export const dropout: Experiment = {
  name: "dropout",
  about: "Fig. 3, dropping",
  takes: "one and a half minutes",
  options: SETTINGS,
  run: compareAll,
};

async function compareAll({ page, flags, folder }: Run): Promise<void> {
  const settings = settingsOf(flags);
  for (const timing of settings.timings) {
    const bundle = await tableOne(folder, timing);
    for (const [method, policy] of Object.entries(ACCORDIONS)) {
      for (const load of LOADS) {
        const all = WINDOWS.map((dropAfterSlos) =>
          streamRuns(bundle, load, { ...policy, dropAfterSlos }, settings, {
            withLatencies: true,
          }),
        );
        page.say(
          `\nDropping, ${method}, moderate SLO, load ${load.toFixed(1)}, ` +
            `${timing} timing: low priority given up beyond k x SLO`,
        );
        page.table(["k", ...WINDOWS.map((window) => String(window ?? "never"))], rowsOf(all));
      }
    }
  }
}

/** @param all [window][run], the last without dropping. */
function rowsOf(all: readonly (readonly StreamRun[])[]): string[][] {
  const never = present(all.at(-1));
  const changed = (sign: 1 | -1) => all.map((runs) => percent(changedShare(runs, never, sign)));
  const { high, low } = {
    high: ({ result }: StreamRun) => result.byPriority.high.violationRate,
    low: ({ result }: StreamRun) => result.byPriority.low.violationRate,
  };
  return [
    rowOf("violations", all, ({ result }) => result.violationRate, percent),
    rowOf("  high priority", all, high, percent),
    rowOf("  low priority", all, low, percent),
    rowOf("dropped", all, ({ result }) => result.dropped / result.queries, percent),
    rowOf(
      "high latency/SLO",
      all,
      ({ drawn, result }) => highInSlos(drawn.bundle, result),
      (value) => value.toFixed(2),
    ),
    ["high ones faster", ...changed(-1)],
    ["high ones slower", ...changed(1)],
  ];
}

/**
 * Of the queries of high priority the share whose latency differs from that in other runs by over
 * 0.1 %, in a direction.
 */
function changedShare(
  runs: readonly StreamRun[],
  others: readonly StreamRun[],
  sign: 1 | -1,
): number {
  let changed = 0;
  let count = 0;
  for (const [index, { drawn, result }] of runs.entries()) {
    const other = others[index]?.result.latencyMsByQuery;
    for (const [query, ms] of result.latencyMsByQuery?.entries() ?? []) {
      if (drawn.queries.isHigh[query] === 0) continue;
      const before = other?.[query] ?? Number.NaN;
      count++;
      if (sign * (ms - before) > 0.001 * before) changed++;
    }
  }
  return changed / count;
}
