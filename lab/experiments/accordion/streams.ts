/** Figs. 5, 6 and 8, and what Figs. 7 and 9 say in a number: stream by stream. */
import type { Experiment, Run } from "../harness/experiment.ts";
import { mean, percent } from "../harness/numbers.ts";
import type { Page } from "../harness/page.ts";
import { SLO_NAMES, STREAMS, sloText } from "./drawn-streams.ts";
import { placeMethods, SETTINGS, settingsOf } from "./place-methods.ts";
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
