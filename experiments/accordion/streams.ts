/** Figs. 5, 6 and 8, and what Figs. 7 and 9 say in a number: stream by stream. */
import type { Experiment, Run } from "../harness/experiment.ts";
import { mean, percent, present } from "../harness/numbers.ts";
import type { Page } from "../harness/page.ts";
import { drawnStream, SLO_NAMES, STREAMS, sloText } from "./drawn-streams.ts";
import { BASELINES, placeMethods, SETTINGS, settingsOf, simulated } from "./place-methods.ts";
import { type Cell, type Figures, figuresBy, normalQps, streamCell } from "./stream-cells.ts";
import { tableOne } from "./table-one.ts";

const STEP_MS = 1000;
const METHODS = Object.keys(placeMethods("arrival"));

const fixed = (digits: number) => (value: number) => value.toFixed(digits);

type Measure = readonly [
  title: string,
  of: (figures: Figures, cell: Cell) => number,
  text: (value: number) => string,
];

const MEASURES: readonly Measure[] = [
  ["violations (Fig. 6)", (one) => one.violationRate, percent],
  ["served late", (one) => one.lateShare, percent],
  ["latency, s (Fig. 5)", (one) => one.latencyMs / 1000, fixed(1)],
  ["queries served/s over 1-Stage (Fig. 8)", normalQps, fixed(2)],
  ["active queries", (one) => one.active, fixed(1)],
  ["places busy", (one) => one.occupancy, percent],
  ["all places busy, of the time (Fig. 9)", (one) => one.full, percent],
  ["all served after, s", (one) => one.makespanMs / 1000, fixed(0)],
];

export const streams: Experiment = {
  name: "streams",
  about: "Figs. 5, 6, 8 and 9 at offered load 1, stream by stream",
  takes: "one minute",
  options: SETTINGS,
  run: compareAll,
};

export const timeline: Experiment = {
  name: "timeline",
  about: "Figs. 7 and 9 of one stream, one seed: tab-separated means of every second",
  takes: "some seconds",
  options: { ...SETTINGS, stream: "1 to 6; 3" },
  isExtra: true,
  run: printTimeline,
};

async function compareAll({ page, flags, folder }: Run): Promise<void> {
  const settings = settingsOf(flags);
  for (const timing of settings.timings) {
    const bundle = await tableOne(folder, timing);
    for (const load of settings.loads ?? [1]) {
      for (const slo of settings.slos ?? SLO_NAMES) {
        const seeds = `${settings.seeds.length} seeds`;
        page.say(`\nOffered load ${load.toFixed(1)}, ${sloText(slo)}, ${timing} timing, ${seeds}`);
        const cells = STREAMS.map((_, stream) =>
          streamCell(bundle, { stream, slo, load }, settings, STEP_MS),
        );
        const own = cells.map((cell) => figuresBy(cell, "accordion"));
        page.table(
          ["stream", ...STREAMS.map((_, stream) => stream + 1)],
          [
            ["queries", ...own.map(({ queries }) => queries.toFixed(0))],
            ["SLO, s", ...own.map(({ sloMs }) => (sloMs / 1000).toFixed(1))],
          ],
        );
        for (const measure of MEASURES) print(page, measure, cells);
      }
    }
  }
}

function print(page: Page, [title, of, text]: Measure, cells: readonly Cell[]): void {
  const rows = METHODS.map((method) => {
    const own = cells.map((cell) => of(figuresBy(cell, method), cell));
    return [method, ...[...own, mean(own)].map((value) => text(value))];
  });
  page.say(`\n  ${title}`);
  page.table(["stream", ...STREAMS.map((_, stream) => stream + 1), "mean"], rows);
}

async function printTimeline({ page, flags, folder }: Run): Promise<void> {
  const { timings, slos, loads, low, dropout } = settingsOf(flags);
  const bundle = await tableOne(folder, present(timings[0]));
  const drawn = drawnStream(bundle, {
    stream: (flags.number("stream") ?? 3) - 1,
    slo: slos?.[0] ?? "moderate",
    load: loads?.[0] ?? 1,
    seed: 1,
    low,
  });
  const policies = placeMethods(dropout);
  const named = ["accordion", ...BASELINES];
  const series = named.map((method) => {
    const { timeline: steps } = simulated(drawn, policies[method] ?? {}, {
      timelineStepMs: STEP_MS,
    });
    if (steps === null) throw new Error("a timeline was asked for");
    return steps;
  });
  const heads = named.flatMap((method) => [`${method} active`, `${method} busy`]);
  page.say(["s", "arrivals", ...heads].join("\t"));
  const seconds = Math.max(...series.map(({ busyPlaces }) => busyPlaces.length));
  const arrivals = new Uint32Array(seconds);
  for (const ms of drawn.queries.arrivalMs) {
    const second = Math.floor(ms / STEP_MS);
    arrivals[second] = (arrivals[second] ?? 0) + 1;
  }
  for (let second = 0; second < seconds; second++) {
    const cells = series.flatMap(({ activeQueries, busyPlaces }) => [
      (activeQueries[second] ?? 0).toFixed(2),
      (busyPlaces[second] ?? 0).toFixed(2),
    ]);
    page.say([second, arrivals[second], ...cells].join("\t"));
  }
}
