/** Who violates the SLO: by priority, size and stream, and what that is beside the baselines. */
import type {
  GroupOutcome,
  SizeOutcome,
} from "stratagem/internal/methods/accordion/simulate/tally";
import type { Experiment, Run } from "../harness/experiment.ts";
import { mean, meanOf, percent, present } from "../harness/numbers.ts";
import type { Page } from "../harness/page.ts";
import { STREAMS } from "./drawn-streams.ts";
import { freshOptions, freshSettings } from "./fresh-settings.ts";
import { ACCORDIONS, BASELINES } from "./place-methods.ts";
import { type StreamRun, streamRuns } from "./stream-runs.ts";
import { tableOne } from "./table-one.ts";

const FRESH = { seeds: 10, first: 1001 };

export const fairness: Experiment = {
  name: "fairness",
  about: "violations by priority, size and stream, on seeds that chose nothing",
  takes: "one minute",
  options: freshOptions(FRESH),
  run: compareAll,
};

async function compareAll({ page, flags, folder }: Run): Promise<void> {
  const settings = freshSettings(flags, FRESH);
  for (const timing of settings.timings) {
    const bundle = await tableOne(folder, timing);
    for (const load of settings.loads ?? [1]) {
      const runsOf = (policy: Parameters<typeof streamRuns>[2]) =>
        streamRuns(bundle, load, policy, settings);
      const own = new Map(
        Object.entries(ACCORDIONS).map(([name, policy]) => [name, runsOf(policy)]),
      );
      const [arrival = [], turn = []] = (["arrival", "turn"] as const).map((dropout) =>
        BASELINES.map((scheduler) => runsOf({ scheduler, dropout })),
      );
      page.say(
        `\nModerate SLO, offered load ${load.toFixed(2)}, ${timing} timing: ` +
          `${STREAMS.length} streams, ${settings.seeds.length} seeds from ${settings.seeds[0]}`,
      );
      printMethods(page, own, { arrival, turn });
      printStreams(page, present(own.get("accordion")), { arrival, turn });
      for (const [name, runs] of own) printSizes(page, name, runs);
    }
  }
}

/** Runs of every baseline, by when they drop. */
interface BaselineRuns {
  readonly arrival: readonly (readonly StreamRun[])[];
  readonly turn: readonly (readonly StreamRun[])[];
}

function printMethods(
  page: Page,
  own: ReadonlyMap<string, readonly StreamRun[]>,
  { arrival, turn }: BaselineRuns,
): void {
  const rows = [...own].map(([name, runs]) => {
    const high = runs.map(({ result }) => result.byPriority.high.violationRate);
    const all = meanOf(runs, rateOf);
    return [
      name,
      percent(mean(high)),
      percent(Math.max(...high)),
      percent(meanOf(runs, ({ result }) => result.byPriority.low.violationRate)),
      percent(all),
      ...[arrival, turn].map((baselines) => (meanRate(baselines) / all).toFixed(2)),
      meanOf(runs, inSlos).toFixed(3),
      meanOf(runs, ({ result }) => (result.queries - result.dropped) / result.queries).toFixed(4),
    ];
  });
  page.table(
    [
      "",
      "high, mean",
      "high, worst",
      "low",
      "all",
      "fewer: arrival",
      "turn",
      "latency/SLO",
      "served",
    ],
    rows,
  );
}

function printStreams(
  page: Page,
  own: readonly StreamRun[],
  { arrival, turn }: BaselineRuns,
): void {
  const at = (stream: number) => (runs: readonly StreamRun[]) =>
    runs.filter((run) => run.stream === stream);
  const row = (title: string, text: (pick: ReturnType<typeof at>) => string) => [
    title,
    ...STREAMS.map((_, stream) => text(at(stream))),
  ];
  page.say("\n  accordion, stream by stream");
  page.table(
    ["stream", ...STREAMS.map((_, stream) => stream + 1)],
    [
      row("all", (pick) => percent(meanOf(pick(own), rateOf))),
      row("high", (pick) =>
        percent(meanOf(pick(own), ({ result }) => result.byPriority.high.violationRate)),
      ),
      ...(
        [
          ["fewer: arrival", arrival],
          ["fewer: turn", turn],
        ] as const
      ).map(([title, baselines]) =>
        row(title, (pick) =>
          (meanRate(baselines.map(pick)) / meanOf(pick(own), rateOf)).toFixed(2),
        ),
      ),
    ],
  );
}

/** All queries of a class of size together. */
function printSizes(page: Page, name: string, runs: readonly StreamRun[]): void {
  const classes = present(runs[0]).result.bySize;
  const rows = classes.flatMap(({ places }, index) => {
    const outcomes = runs.flatMap(({ result }) => result.bySize[index] ?? []);
    const cells = (["high", "low"] as const).map((priority) => added(outcomes, priority));
    if (cells.every(({ queries }) => queries === 0)) return [];
    const text = cells.flatMap(({ queries, violated }) => [
      queries,
      percent(queries === 0 ? null : violated / queries),
    ]);
    return [[places === null ? "none do" : placesText(places), ...text]];
  });
  page.say(`\n  ${name}, by the places that a query needs to be on time`);
  page.table(["places", "high", "violations", "low", "violations"], rows);
}

function placesText({ from, to }: { readonly from: number; readonly to: number }): string {
  return from === to ? String(from) : `${from} to ${to}`;
}

function added(outcomes: readonly SizeOutcome[], priority: "high" | "low") {
  const sum = (of: (group: GroupOutcome) => number) =>
    outcomes.reduce((total, outcome) => total + of(outcome[priority]), 0);
  return { queries: sum((one) => one.queries), violated: sum((one) => one.late + one.dropped) };
}

function rateOf({ result }: StreamRun): number {
  return result.violationRate;
}

function inSlos({ drawn, result }: StreamRun): number {
  return (result.latencyMs?.mean ?? Number.NaN) / drawn.bundle.slo.latencyMs;
}

function meanRate(baselines: readonly (readonly StreamRun[])[]): number {
  return meanOf(baselines, (runs) => meanOf(runs, rateOf));
}
