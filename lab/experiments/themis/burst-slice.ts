/** §6.1 and §6.3: the burst slice of the Twitter trace, and slices of other days. */
import { rescaled, themisBaseline } from "stratagem/internal/methods/themis/baselines";
import type { ThemisBundle } from "stratagem-runtime/internal/bundle/schema";
import type { Experiment, Run } from "../harness/experiment.ts";
import { mean, percent, present, range } from "../harness/numbers.ts";
import { twitterCounts } from "../harness/reference.ts";
import { overSeeds } from "../harness/seeds.ts";
import {
  compiledPipeline,
  PIPELINES,
  type PipelineName,
  SEEDS,
  SETUPS,
  simulated,
  themisInputs,
  withPolicy,
} from "./reference-apps.ts";
import { byAge, HEAD, meanViolations, scaleRow, systemsOf } from "./scale-rows.ts";

const DROPPING_SECONDS = 100;
const DAY_SECONDS = 86_400;
/** Of the days that nothing was chosen with, the first is after so many. */
const TRAINING_DAYS = 12;
/** Seconds from the start of a slice to that of the next. */
const EVERY_SECONDS = 2 * 3600;

/** Counts of the slice, and what a pipeline divides them by. */
function sliceFor(pipeline: PipelineName) {
  const { traces } = themisInputs();
  return {
    counts: traces.twitterSlice570.rps,
    divider: traces.evalSlice.dividersPaperEra[pipeline],
  };
}

async function onSlice(bundle: ThemisBundle, pipeline: PipelineName, seconds?: number) {
  const { counts, divider } = sliceFor(pipeline);
  const own = counts.slice(0, seconds);
  return overSeeds(SEEDS, (seed) => simulated(bundle, divider, own, seed));
}

export const endToEnd: Experiment = {
  name: "end-to-end",
  about: "§6.1, the burst slice",
  takes: "fifteen seconds",
  run: async (run) => {
    const { counts } = sliceFor("video");
    run.page.say(`§6.1: ${counts.length} s of the slice, means over ${SEEDS.length} seeds\n`);
    for (const pipeline of PIPELINES) await compareSystems(run, pipeline);
  },
};

async function compareSystems({ page, folder }: Run, pipeline: PipelineName): Promise<void> {
  const bundle = await compiledPipeline(folder, pipeline);
  const rows: string[][] = [];
  const rates = new Map<string, number>();
  for (const [label, one] of Object.entries(systemsOf(bundle))) {
    const results = await onSlice(one, pipeline);
    rows.push(scaleRow(label, results));
    rates.set(label, meanViolations(results));
  }
  page.say(`${SETUPS[pipeline].title}; ${describe(pipeline)}`);
  page.table(HEAD, rows);
  const [fa2, sponge, ...others] = rates;
  const better = Math.min(present(fa2)[1], present(sponge)[1]);
  const factors = others.map(([label, rate]) => {
    return `${label} ${rate === 0 ? "none at all" : `${(better / rate).toFixed(1)}x`}`;
  });
  page.say(`  fewer violations than the better baseline: ${factors.join(", ")}\n`);
}

function describe(pipeline: PipelineName): string {
  const { counts, divider } = sliceFor(pipeline);
  const [least, most] = [Math.min(...counts), Math.max(...counts)].map((count) =>
    (count / divider).toFixed(1),
  );
  const { sloMs } = themisInputs().pipelines[pipeline];
  return (
    `${least} to ${most} requests/s, SLO ${sloMs} ms, ` + `cold start ${SETUPS[pipeline].coldStart}`
  );
}

export const ablation: Experiment = {
  name: "ablation",
  about: "from Themis to the default, one step at a time",
  takes: "fifteen seconds",
  run: async ({ page, folder }) => {
    page.say("From Themis to Stratagem, one step at a time\n");
    for (const pipeline of PIPELINES) {
      const bundle = await compiledPipeline(folder, pipeline);
      const themis = themisBaseline(bundle, "themis");
      const predictors = (["last-max", "ewma", "holt", "lstm"] as const).map((predictor) => {
        return [`Stratagem, ${predictor}`, withPolicy(bundle, { predictor })] as const;
      });
      const steps: (readonly [string, ThemisBundle])[] = [
        ["Themis, last maximum", withPolicy(themis, { predictor: "last-max" })],
        ["Themis, LSTM", withPolicy(themis, { predictor: "lstm" })],
        ["room for chance", rescaled(bundle, { scaling: "themis" })],
        ["joint, no room", rescaled(bundle, { queueing: "paper" })],
        ["joint, quantile 0.95", rescaled(bundle, { quantile: 0.95 })],
        ["Stratagem", bundle],
        ...predictors,
      ];
      const rows: string[][] = [];
      for (const [label, one] of steps) rows.push(scaleRow(label, await onSlice(one, pipeline)));
      page.say(SETUPS[pipeline].title);
      page.table(HEAD, rows);
      page.say();
    }
  },
};

export const dropping: Experiment = {
  name: "dropping",
  about: "§6.3, the age at which requests are dropped, and the rest of the way",
  takes: "ten seconds",
  run: async ({ page, folder }) => {
    const rules = {
      "1 x SLO": { dropAfterSlos: 1 },
      "3 x SLO": { dropAfterSlos: 3 },
      never: { dropAfterSlos: null },
      "with the rest": { dropAfterSlos: 1, dropRule: "rest" },
    } as const;
    const bundle = await compiledPipeline(folder, "video");
    const rows: string[][] = [];
    for (const [label, one] of Object.entries(systemsOf(bundle))) {
      const cells: string[] = [];
      for (const rule of Object.values(rules)) {
        const own = withPolicy(byAge(one), rule);
        cells.push(percent(meanViolations(await onSlice(own, "video", DROPPING_SECONDS))));
      }
      rows.push([present(label.split(",")[0]), ...cells]);
    }
    page.say(
      "§6.3: the first 100 s of the video slice, by the age at which requests are dropped\n",
    );
    page.table(["", ...Object.keys(rules)], rows);
    page.say();
  },
};

export const days: Experiment = {
  name: "days",
  about: "slices of two days that nothing was chosen with, at the burst slice's mean rate",
  takes: "half a minute",
  run: async ({ page, folder }) => {
    const { counts } = sliceFor("video");
    const held = twitterCounts().slice(TRAINING_DAYS * DAY_SECONDS);
    const starts = range(0, held.length - EVERY_SECONDS, EVERY_SECONDS);
    // What was not recorded is all zeros.
    const slices = starts
      .map((start) => held.slice(start, start + counts.length))
      .filter((slice) => !slice.includes(0));
    const scale = mean(counts) / mean(slices.flat());
    page.say(
      `${slices.length} slices of ${counts.length} s from days 13 and 14, one every two hours\n`,
    );
    for (const pipeline of PIPELINES) {
      const bundle = await compiledPipeline(folder, pipeline);
      const { divider } = sliceFor(pipeline);
      const rows: string[][] = [];
      const systems = { ...systemsOf(bundle), "Stratagem, age alone": byAge(bundle) };
      for (const [label, one] of Object.entries(systems)) {
        const results = await overSeeds([...slices.keys()], (slice) => {
          const own = present(slices[slice]).map((count) => count * scale);
          return simulated(one, divider, own, 1 + slice);
        });
        rows.push(scaleRow(label, results));
      }
      page.say(SETUPS[pipeline].title);
      page.table(HEAD, rows);
      page.say();
    }
  },
};
