/** How the parameters of the predictors were chosen: by their error on the training days. */
import {
  DEFAULT_PARAMETERS,
  type ForecasterName,
  forecasterOf,
} from "stratagem-runtime/internal/core/forecasters";
import { figuresOf } from "../../models/forecast/figures.ts";
import { DAYS, readCounts, TRACE_FILE, ticksOf } from "../../models/forecast/trace.ts";
import type { Experiment, Run } from "../harness/experiment.ts";
import { percent } from "../harness/numbers.ts";
import { referencePath } from "../harness/reference.ts";
import { answersOf, setAt } from "./forecast-sets.ts";
import { NAMES, STRIDE_SECONDS } from "./forecasts.ts";

const SHARES = [0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7];
/** What is tried for each predictor. */
const GRIDS: Readonly<Record<ForecasterName, Readonly<Record<string, readonly number[]>>>> = {
  "last-max": { windows: [1, 2, 3, 4, 5, 6] },
  ewma: { weight: SHARES },
  holt: { levelWeight: SHARES, trendWeight: [0, ...SHARES] },
  "poisson-peak": {
    halfLifeBeats: [4, 5, 6, 7, 8, 9, 10, 12, 15],
    peakDeviations: [1.2, 1.3, 1.4, 1.45, 1.5, 1.55, 1.6, 1.7],
  },
};

export const parameters: Experiment = {
  name: "forecast-parameters",
  about: "the best five parameters of each predictor",
  takes: "ten seconds",
  isExtra: true,
  run: chooseAll,
};

function chooseAll({ page }: Run): void {
  const counts = readCounts(referencePath(TRACE_FILE));
  const training = setAt(counts, ticksOf(counts, DAYS.training, STRIDE_SECONDS));
  for (const name of NAMES) {
    const tried = combinationsOf(GRIDS[name]).map((own) => {
      const forecaster = forecasterOf(name, { ...DEFAULT_PARAMETERS[name], ...own });
      const { mape } = figuresOf(answersOf(forecaster, training), training.peaks, training.last);
      return { mape, own };
    });
    tried.sort((one, other) => one.mape - other.mape);
    page.say(`\n${name}: ${tried.length} tried on days ${DAYS.training.join(" to ")}, best five`);
    for (const { mape, own } of tried.slice(0, 5)) {
      page.say(`  ${percent(mape, 3)}  ${JSON.stringify(own)}`);
    }
  }
}

function combinationsOf(
  grid: Readonly<Record<string, readonly number[]>>,
): Record<string, number>[] {
  return Object.entries(grid).reduce(
    (combinations, [key, values]) =>
      combinations.flatMap((one) => values.map((value) => ({ ...one, [key]: value }))),
    [{}] as Record<string, number>[],
  );
}
