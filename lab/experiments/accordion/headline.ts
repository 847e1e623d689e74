/** Everything on average over the streams, held against §4.4's figures. */
import type { Experiment, Run } from "../harness/experiment.ts";
import { meanOf, percent } from "../harness/numbers.ts";
import type { Page } from "../harness/page.ts";
import { SLO_NAMES, STREAMS, sloText } from "./drawn-streams.ts";
import { ACCORDIONS, BASELINES, placeMethods, SETTINGS, settingsOf } from "./place-methods.ts";
import { type Cell, type Figures, figuresBy, normalQps, streamCell } from "./stream-cells.ts";
import { tableOne } from "./table-one.ts";

const LOADS = [0.6, 0.8, 1, 1.2];
const METHODS = Object.keys(placeMethods("arrival"));

interface Measure {
  readonly title: string;
  readonly of: (figures: Figures, cell: Cell) => number;
  readonly text: (value: number) => string;
  /** How Accordion is better than the mean of the baselines. */
  readonly better: "fewer" | "lower" | "higher";
}

const fixed1 = (value: number) => value.toFixed(1);
const fixed2 = (value: number) => value.toFixed(2);

const MEASURES: readonly Measure[] = [
  { title: "violations", of: (one) => one.violationRate, text: percent, better: "fewer" },
  { title: "  of them served late", of: (one) => one.lateShare, text: percent, better: "fewer" },
  // Means over streams whose times differ a hundredfold: each counts as a multiple of its SLO.
  { title: "latency / SLO", of: (one) => one.latencyInSlos, text: fixed2, better: "lower" },
  { title: "high priority alone", of: (one) => one.highInSlos, text: fixed2, better: "lower" },
  {
    title: "queries served/s over those of 1-Stage",
    of: normalQps,
    text: fixed2,
    better: "higher",
  },
  { title: "active queries", of: (one) => one.active, text: fixed1, better: "higher" },
  { title: "places busy", of: (one) => one.occupancy, text: percent, better: "higher" },
];

export const headline: Experiment = {
  name: "headline",
  about: "violations, latency and throughput by offered load, means over the streams",
  takes: "two minutes",
  options: SETTINGS,
  run: compareAll,
};

async function compareAll({ page, flags, folder }: Run): Promise<void> {
  const settings = settingsOf(flags);
  const loads = settings.loads ?? LOADS;
  for (const timing of settings.timings) {
    const bundle = await tableOne(folder, timing);
    for (const slo of settings.slos ?? SLO_NAMES) {
      const seeds = `${settings.seeds.length} seeds`;
      page.say(`\nAll streams, ${sloText(slo)}, ${timing} timing, ${seeds}`);
      const byLoad = loads.map((load) =>
        STREAMS.map((_, stream) => streamCell(bundle, { stream, slo, load }, settings)),
      );
      for (const measure of MEASURES) print(page, measure, loads, byLoad);
    }
  }
}

/** Methods by load. @param byLoad [load][stream] */
function print(
  page: Page,
  { title, of, text, better }: Measure,
  loads: readonly number[],
  byLoad: readonly (readonly Cell[])[],
): void {
  const meansOf = (method: string) =>
    byLoad.map((cells) => meanOf(cells, (cell) => of(figuresBy(cell, method), cell)));
  const means = new Map(METHODS.map((method) => [method, meansOf(method)]));
  const baseline = loads.map((_, at) =>
    meanOf(BASELINES, (method) => means.get(method)?.[at] ?? Number.NaN),
  );
  const factors = Object.keys(ACCORDIONS).map((method) => [
    `${method}: ${better}`,
    ...baseline.map((other, at) => {
      const own = means.get(method)?.[at] ?? Number.NaN;
      return times(better === "higher" ? own / other : other / own);
    }),
  ]);
  page.say(`\n  ${title}`);
  page.table(
    ["offered load", ...loads.map(fixed1)],
    [
      ...[...means].map(([method, own]) => [method, ...own.map((value) => text(value))]),
      ["mean baseline", ...baseline.map((value) => text(value))],
      ...factors,
    ],
  );
}

function times(ratio: number): string {
  return ratio === Number.POSITIVE_INFINITY ? "none" : `${ratio.toFixed(2)}x`;
}
