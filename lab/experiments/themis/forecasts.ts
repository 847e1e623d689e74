/**
 * The predictors of the highest second of the next ten, Themis §5.1.3, and their time.
 *
 * On the days of the Twitter trace that the LSTM and their parameters come from, on the two days
 * held out, on the slice whose prediction by the paper's LSTM was recovered, and on Poisson
 * arrivals of a constant rate. Twitter: a forecast every 10 s, so that what is to be foreseen does
 * not overlap; none whose 60 s before or 10 s after touch a hole of the recording.
 */
import {
  type ForecasterName,
  forecasterOf,
  HISTORY_BEATS,
  HORIZON_BEATS,
  WINDOW_COUNT,
} from "stratagem-runtime/internal/core/forecasters";
import {
  type OnnxForecaster,
  openOnnxForecaster,
} from "stratagem-runtime/internal/exec/onnx/onnx-forecaster";
import { figuresOf } from "../../models/forecast/figures.ts";
import { DAYS, readCounts, TRACE_FILE, ticksOf } from "../../models/forecast/trace.ts";
import type { Experiment, Run } from "../harness/experiment.ts";
import { ascending, mean, percent, present } from "../harness/numbers.ts";
import type { Page } from "../harness/page.ts";
import { referencePath } from "../harness/reference.ts";
import {
  answersOf,
  DRAWS,
  drawnSet,
  type ForecastSet,
  historyOf,
  maximaSet,
  poissonSet,
  setAt,
} from "./forecast-sets.ts";
import { LSTM, themisInputs } from "./reference-apps.ts";

export const STRIDE_SECONDS = 10;
export const NAMES: readonly ForecasterName[] = ["last-max", "ewma", "holt", "poisson-peak"];
const RATES_QPS = [5, 50, 500];
/** By what the paper divides the trace for its video pipeline. */
const VIDEO_DIVIDER = 4.384;
/** More careful than the default. */
const CAREFUL = { peakDeviations: 1.7 };
/** Forecasts that are timed one by one. */
const ALONE = 2000;

type Row = readonly [name: string, forecasts: Float64Array];

export const forecasts: Experiment = {
  name: "forecasts",
  about: "the predictors on recorded and drawn traffic, and their time",
  takes: "ten seconds",
  run: compareAll,
};

async function compareAll({ page }: Run): Promise<void> {
  const lstm = await openOnnxForecaster(LSTM);
  const counts = readCounts(referencePath(TRACE_FILE));
  for (const [title, days] of [
    ["Twitter, training", DAYS.training],
    ["Twitter, validation", DAYS.validation],
  ] as const) {
    const ticks = ticksOf(counts, days, STRIDE_SECONDS);
    const set = setAt(counts, ticks);
    const rows: Row[] = [...(await rowsOf(set, lstm)), ["(hindsight)", hindsight(counts, ticks)]];
    print(page, `${title} days ${days.join(" to ")}, every ${STRIDE_SECONDS} s`, rows, set);
  }
  await compareOnSlice(page, lstm);
  for (const qps of RATES_QPS) {
    const set = poissonSet(qps);
    print(page, `Poisson arrivals, ${qps} requests/s throughout`, await rowsOf(set, lstm), set);
  }
  await compareTimes(page, lstm, setAt(counts, ticksOf(counts, DAYS.validation, STRIDE_SECONDS)));
  await lstm.close();
}

/**
 * The 570 numbers as they are named, counts of seconds, and as they look, maxima of ten seconds.
 */
async function compareOnSlice(page: Page, lstm: OnnxForecaster): Promise<void> {
  const { rps, lstmPrediction } = themisInputs().traces.twitterSlice570;
  const counts = Float64Array.from(rps);
  const length = counts.length - HORIZON_BEATS - HISTORY_BEATS + 1;
  const ticks = Array.from({ length }, (_, at) => HISTORY_BEATS + at);
  const seconds = setAt(counts, ticks);
  print(page, "Slice as counts of seconds, every second", await rowsOf(seconds, lstm), seconds);
  for (const divider of [1, VIDEO_DIVIDER]) {
    const set = drawnSet(counts, divider, ticks);
    const title =
      `Slice as rates of seconds over ${divider}, Poisson arrivals drawn ${DRAWS} times, ` +
      "every second";
    print(page, title, await rowsOf(set, lstm), set);
  }
  // A second of a ten-second maximum says nothing of the rate, which is why the predictor that
  // needs it is left out.
  const maxima = maximaSet(counts);
  const rows = (await rowsOf(maxima, lstm)).filter(([name]) => !name.startsWith("poisson"));
  const paper: Row = ["(the paper's)", Float64Array.from(lstmPrediction.slice(WINDOW_COUNT))];
  print(page, "Slice as maxima of 10 s, the next one from the last six", [...rows, paper], maxima);
}

async function rowsOf(set: ForecastSet, lstm: OnnxForecaster): Promise<Row[]> {
  return [
    ...NAMES.map((name): Row => [name, answersOf(forecasterOf(name), set)]),
    ["poisson 1.7", answersOf(forecasterOf("poisson-peak", CAREFUL), set)],
    ["lstm", await lstm.forecastAll(set.histories)],
  ];
}

/**
 * What nobody can know: the rate of the 20 s around the horizon, and 1.5 deviations above it. What
 * it misses is noise.
 */
function hindsight(counts: Float64Array, ticks: readonly number[]): Float64Array {
  return Float64Array.from(ticks, (tick) => {
    const rate = mean([...counts.subarray(tick - 5, tick + 15)]);
    return rate + 1.5 * Math.sqrt(rate);
  });
}

function print(page: Page, title: string, rows: readonly Row[], { peaks, last }: ForecastSet) {
  const figures = rows.map(([name, own]) => [name, figuresOf(own, peaks, last)] as const);
  const { count, rises } = present(figures[0])[1];
  page.say(`\n${title}: ${count} forecasts, ${rises.count} of rises (peak > 1.2 x last window)`);
  const ofAll = ["MAPE", "below what came", "lacking", "too much"];
  page.table(
    ["", ...ofAll, "rises: MAPE", "lacking"],
    figures.map(([name, { mape, underShare, under, over, rises: own }]) => {
      const inRises = own.count === 0 ? [null, null] : [own.mape, own.under];
      return [name, ...[mape, underShare, under, over, ...inRises].map((one) => percent(one))];
    }),
  );
}

async function compareTimes(page: Page, lstm: OnnxForecaster, set: ForecastSet): Promise<void> {
  const count = set.peaks.length;
  const rows: [string, string][] = [];
  for (const name of NAMES) {
    const forecaster = forecasterOf(name);
    rows.push([name, (await microseconds(() => answersOf(forecaster, set), count)).toFixed(3)]);
  }
  const oneByOne = async () => {
    for (let row = 0; row < ALONE; row++) await lstm.forecast(historyOf(set.histories, row));
  };
  const together = () => lstm.forecastAll(set.histories);
  rows.push(["lstm", (await microseconds(oneByOne, ALONE)).toFixed(1)]);
  rows.push(["lstm, in bulk", (await microseconds(together, count)).toFixed(1)]);
  page.say("\nTime of a forecast, median of 11 rounds over the validation days");
  page.table(["", "µs"], rows);
}

async function microseconds(round: () => unknown, count: number): Promise<number> {
  const times: number[] = [];
  for (let repeat = 0; repeat < 12; repeat++) {
    const startMs = performance.now();
    await round();
    times.push((1000 * (performance.now() - startMs)) / count);
  }
  // The first round warms up.
  return present(ascending(times.slice(1))[5]);
}
