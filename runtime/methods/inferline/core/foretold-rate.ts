/** Predicts the rate for the time when replicas requested now are up. */
import {
  type Forecaster,
  type ForecasterName,
  forecasterOf,
  HORIZON_BEATS,
} from "../../../core/forecasters.ts";
import type { RateHistory } from "../../../core/rate-history.ts";
import { sureMean } from "./sure-load.ts";
import { sureRise } from "./sure-rise.ts";

/** Certain rise of the rate, or a forecaster of its highest beat. */
export type Foreteller = "rise" | ForecasterName;

interface ForetoldOptions {
  /** Beats until replicas are up. */
  readonly aheadBeats: number;
  readonly beatMs: number;
  /** Variance over mean of the requests in a window. */
  readonly dispersion: number;
  /** Deviations of a count that are no other load yet. */
  readonly slack: number;
}

/** Standard deviations of a Poisson count by which the peak lies above the rate. */
const PEAK_DEVIATIONS = 1.54;

/** Predicted rate for the time when replicas requested now are up. */
export class ForetoldRate {
  readonly #options: ForetoldOptions;
  readonly #hasRise: boolean;
  readonly #forecaster: Forecaster | null;

  /** @param foreteller null for no prediction. */
  constructor(foreteller: Foreteller | null, options: ForetoldOptions) {
    this.#options = options;
    this.#hasRise = foreteller === "rise";
    const isNamed = foreteller !== null && foreteller !== "rise";
    this.#forecaster = isNamed ? forecasterOf(foreteller) : null;
  }

  /** Returns the rate that is certain; 0 if none is. */
  qpsOf(history: RateHistory): number {
    return (1000 * this.#countOf(history)) / this.#options.beatMs;
  }

  #countOf(history: RateHistory): number {
    const { aheadBeats, dispersion } = this.#options;
    if (this.#hasRise) return sureRise(history.perBeat, aheadBeats, dispersion);
    if (this.#forecaster === null) return 0;
    return this.#forecast(this.#forecaster, history);
  }

  /** On a line from the rate of now through the forecast, with the slack of a count. */
  #forecast(forecaster: Forecaster, history: RateHistory): number {
    const { aheadBeats, dispersion, slack } = this.#options;
    const foretold = rateOfPeak(forecaster.forecast(history.perBeat), dispersion);
    if (!(foretold > 0)) return 0;
    const now = history.meanOver(HORIZON_BEATS);
    const ahead = Math.max(1, aheadBeats / HORIZON_BEATS);
    const then = Math.max(0, now + (foretold - now) * ahead);
    const deviations = (1 + slack) * Math.sqrt(dispersion);
    return sureMean(then * HORIZON_BEATS, deviations) / HORIZON_BEATS;
  }
}

/** Requests per beat of which the highest of ten beats is about this. NaN gives 0. */
function rateOfPeak(peak: number, dispersion: number): number {
  if (!(peak > 0)) return 0;
  const half = (PEAK_DEVIATIONS * Math.sqrt(dispersion)) / 2;
  const root = Math.sqrt(peak + half * half) - half;
  return root * root;
}
