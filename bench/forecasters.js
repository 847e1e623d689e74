// The predictors of the highest second of the next ten, Themis §5.1.3, on the days of the Twitter trace that the LSTM and their parameters come from, on
// the two days held out, on the slice whose prediction by the paper's LSTM was recovered, and on Poisson arrivals of a constant rate; then their time.
// `node bench/forecasters.js` after a build; `node bench/forecasters.js choose` for the parameters. The data are where STRATAGEM_REFERENCE says.
//
// Twitter: a forecast every 10 s, so that what is to be foreseen does not overlap; none whose 60 s before or 10 s after touch a hole of the recording.
import { readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import {
  forecasterOf,
  HISTORY_SECONDS,
  HORIZON_SECONDS,
  WINDOW_COUNT,
  WINDOW_SECONDS,
} from "../runtime/dist/core/forecasters.js";
import { openOnnxForecaster } from "../runtime/dist/exec/onnx-forecaster.js";
import { figuresOf } from "../tools/forecast/figures.js";
import {
  DAYS,
  historiesAt,
  maximaOf,
  peaksAfter,
  readCounts,
  TRACE_FILE,
  ticksOf,
} from "../tools/forecast/trace.js";
import { randomSource } from "../tools/letters.js";

const REFERENCE = process.env.STRATAGEM_REFERENCE ?? "../shared/reference";
const LSTM = fileURLToPath(new URL("../runtime/models/lstm.onnx", import.meta.url));
const STRIDE_SECONDS = 10;
const NAMES = ["last-max", "ewma", "holt", "poisson-peak"];
const SHARES = [0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7];
/** What is tried for each predictor. */
const GRIDS = {
  "last-max": { windows: [1, 2, 3, 4, 5, 6] },
  ewma: { weight: SHARES },
  holt: {
    levelWeight: SHARES,
    trendWeight: [0, ...SHARES],
  },
  "poisson-peak": {
    halfLifeSeconds: [4, 5, 6, 7, 8, 9, 10, 12, 15],
    peakDeviations: [1.2, 1.3, 1.4, 1.45, 1.5, 1.55, 1.6, 1.7],
  },
};
/** Constant rates, and how many forecasts at each. */
const RATES_QPS = [5, 50, 500];
const POISSON_COUNT = 4000;
/** By what the paper divides the trace for its video pipeline, and how often requests are drawn at the slice's rates. */
const VIDEO_DIVIDER = 4.384;
const DRAWS = 10;
/** More careful than the default. */
const CAREFUL = { peakDeviations: 1.7 };

if (process.argv[2] === "choose") choose();
else await compare();

function choose() {
  const counts = readCounts(path.join(REFERENCE, TRACE_FILE));
  const training = setAt(counts, ticksOf(counts, DAYS.training, STRIDE_SECONDS));
  for (const name of NAMES) {
    const tried = combinationsOf(GRIDS[name]).map((parameters) => {
      const { mape } = figures(answers(forecasterOf(name, parameters), training), training);
      return { mape, parameters };
    });
    tried.sort((one, other) => one.mape - other.mape);
    console.log(
      `\n${name}: ${tried.length} tried on days ${DAYS.training.join(" to ")}, best five`,
    );
    for (const { mape, parameters } of tried.slice(0, 5)) {
      console.log(`  ${percent(mape, 3)} %  ${JSON.stringify(parameters)}`);
    }
  }
}

async function compare() {
  const lstm = await openOnnxForecaster(LSTM);
  const counts = readCounts(path.join(REFERENCE, TRACE_FILE));
  for (const [title, days] of [
    ["Twitter, training", DAYS.training],
    ["Twitter, validation", DAYS.validation],
  ]) {
    const ticks = ticksOf(counts, days, STRIDE_SECONDS);
    const set = setAt(counts, ticks);
    const rows = await rowsOf(set, lstm);
    rows.push(["(hindsight)", hindsight(counts, ticks)]);
    table(`${title} days ${days.join(" to ")}, every ${STRIDE_SECONDS} s`, rows, set);
  }
  await compareOnSlice(lstm);
  for (const qps of RATES_QPS) {
    const set = poissonSet(qps);
    table(`Poisson arrivals, ${qps} requests/s throughout`, await rowsOf(set, lstm), set);
  }
  await compareTimes(lstm, setAt(counts, ticksOf(counts, DAYS.validation, STRIDE_SECONDS)));
  await lstm.close();
}

/** The 570 numbers as they are named, counts of seconds, and as they look, maxima of ten seconds. */
async function compareOnSlice(lstm) {
  const inputs = JSON.parse(readFileSync(path.join(REFERENCE, "themis/inputs.json"), "utf8"));
  const { rps, lstmPrediction } = inputs.traces.twitterSlice570;
  const counts = Float64Array.from(rps);
  const ticks = [];
  for (let tick = HISTORY_SECONDS; tick <= counts.length - HORIZON_SECONDS; tick++)
    ticks.push(tick);
  const seconds = setAt(counts, ticks);
  table("Slice as counts of seconds, every second", await rowsOf(seconds, lstm), seconds);
  for (const divider of [1, VIDEO_DIVIDER]) {
    const drawn = drawnSet(counts, divider, ticks);
    const title = `Slice as rates of seconds over ${divider}, Poisson arrivals drawn ${DRAWS} times, every second`;
    table(title, await rowsOf(drawn, lstm), drawn);
  }
  // A second of a ten-second maximum says nothing of the rate, which is why the predictor that needs it is left out.
  const maxima = maximaSet(counts);
  const rows = (await rowsOf(maxima, lstm)).filter(([name]) => !name.startsWith("poisson"));
  rows.push(["(the paper's)", Float64Array.from(lstmPrediction.slice(WINDOW_COUNT))]);
  table("Slice as maxima of 10 s, the next one from the last six", rows, maxima);
}

/** Histories, peaks and last windows of a series of maxima: every second of a window is its maximum. */
function maximaSet(series) {
  const rows = series.length - WINDOW_COUNT;
  const histories = Float64Array.from({ length: rows * HISTORY_SECONDS }, (_, at) => {
    const second = at % HISTORY_SECONDS;
    return series[(at - second) / HISTORY_SECONDS + Math.floor(second / WINDOW_SECONDS)];
  });
  return setOf(histories, series.slice(WINDOW_COUNT));
}

function poissonSet(qps) {
  const random = randomSource(7, qps);
  const stride = HISTORY_SECONDS + HORIZON_SECONDS;
  const counts = Float64Array.from({ length: POISSON_COUNT * stride }, () => drawn(random, qps));
  const ticks = Array.from({ length: POISSON_COUNT }, (_, row) => row * stride + HISTORY_SECONDS);
  return withPeaks(setAt(counts, ticks));
}

/** What is seen of requests that come at the slice's rates. */
function drawnSet(rates, divider, ticks) {
  const random = randomSource(11, 0);
  const counts = Float64Array.from({ length: DRAWS * rates.length }, (_, at) =>
    drawn(random, rates[at % rates.length] / divider),
  );
  const drawnTicks = Array.from({ length: DRAWS }, (_, draw) =>
    ticks.map((tick) => draw * rates.length + tick),
  ).flat();
  return withPeaks(setAt(counts, drawnTicks));
}

/** How many arrivals there are in a second. */
function drawn(random, qps) {
  let count = -1;
  for (let seconds = 0; seconds < 1; count++) seconds -= Math.log(1 - random()) / qps;
  return count;
}

/** Those rows after which anything comes: an error is a share of what came. */
function withPeaks({ histories, peaks }) {
  const rows = Array.from(peaks.keys()).filter((row) => peaks[row] > 0);
  const kept = rows.flatMap((row) =>
    Array.from(histories.subarray(row * HISTORY_SECONDS, (row + 1) * HISTORY_SECONDS)),
  );
  return setOf(
    Float64Array.from(kept),
    Float64Array.from(rows, (row) => peaks[row]),
  );
}

function setAt(counts, ticks) {
  return setOf(historiesAt(counts, ticks), peaksAfter(counts, ticks));
}

function setOf(histories, peaks) {
  const maxima = maximaOf(histories);
  const last = peaks.map((_, row) => maxima[(row + 1) * WINDOW_COUNT - 1]);
  return { histories, peaks, last };
}

async function rowsOf(set, lstm) {
  const rows = NAMES.map((name) => [name, answers(forecasterOf(name), set)]);
  rows.push(["poisson 1.7", answers(forecasterOf("poisson-peak", CAREFUL), set)]);
  rows.push(["lstm", await lstm.forecastAll(set.histories)]);
  return rows;
}

function answers(forecaster, { histories, peaks }) {
  return peaks.map((_, row) => {
    const start = row * HISTORY_SECONDS;
    return forecaster.forecast(histories.subarray(start, start + HISTORY_SECONDS));
  });
}

/** What nobody can know: the rate of the 20 s around the horizon, and 1.5 deviations above it. What it misses is noise. */
function hindsight(counts, ticks) {
  return Float64Array.from(ticks, (tick) => {
    const around = counts.subarray(tick - 5, tick + 15);
    const rate = around.reduce((sum, count) => sum + count, 0) / around.length;
    return rate + 1.5 * Math.sqrt(rate);
  });
}

async function compareTimes(lstm, { histories, peaks }) {
  console.log("\nTime of a forecast, median of 11 rounds over the validation days");
  for (const name of NAMES) {
    const forecaster = forecasterOf(name);
    const perRound = () => answers(forecaster, { histories, peaks });
    console.log(
      `  ${name.padEnd(14)} ${(await microseconds(perRound, peaks.length)).toFixed(3)} µs`,
    );
  }
  const alone = 2000;
  const oneByOne = async () => {
    for (let row = 0; row < alone; row++) {
      const start = row * HISTORY_SECONDS;
      await lstm.forecast(histories.subarray(start, start + HISTORY_SECONDS));
    }
  };
  const together = () => lstm.forecastAll(histories);
  console.log(`  lstm           ${(await microseconds(oneByOne, alone)).toFixed(1)} µs`);
  console.log(`  lstm, in bulk  ${(await microseconds(together, peaks.length)).toFixed(1)} µs`);
}

async function microseconds(round, count) {
  const times = [];
  for (let repeat = 0; repeat < 12; repeat++) {
    const start = performance.now();
    await round();
    times.push((1000 * (performance.now() - start)) / count);
  }
  // The first round warms up.
  return times.slice(1).sort((one, other) => one - other)[5];
}

function figures(forecasts, { peaks, last }) {
  return figuresOf(forecasts, peaks, last);
}

function table(title, rows, set) {
  const { count, rises } = figures(rows[0][1], set);
  console.log(`\n${title}: ${count} forecasts, ${rises.count} of rises (peak > 1.2 x last window)`);
  console.log("                  MAPE  below what came  lacking  too much   rises: MAPE  lacking");
  for (const [name, forecasts] of rows) {
    const { mape, underShare, under, over, rises: inRises } = figures(forecasts, set);
    const cells = [percent(mape).padStart(7), percent(underShare).padStart(15)];
    cells.push(percent(under).padStart(8), percent(over).padStart(9));
    cells.push(
      shareOf(inRises, inRises.mape).padStart(13),
      shareOf(inRises, inRises.under).padStart(8),
    );
    console.log(`  ${name.padEnd(13)} ${cells.join(" ")}`);
  }
}

function shareOf({ count }, share) {
  return count === 0 ? "-" : percent(share);
}

function percent(share, digits = 2) {
  return (100 * share).toFixed(digits);
}

function combinationsOf(grid) {
  let combinations = [{}];
  for (const [key, values] of Object.entries(grid)) {
    combinations = combinations.flatMap((one) => values.map((value) => ({ ...one, [key]: value })));
  }
  return combinations;
}
