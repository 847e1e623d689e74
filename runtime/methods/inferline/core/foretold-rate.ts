/** Foretells the rate for when replicas are up that are asked for now. */
import { type Forecaster, type ForecasterName, forecasterOf } from "../../../core/forecasters.ts";
import type { RateHistory } from "../../../core/rate-history.ts";
import { sureMean } from "./sure-load.ts";
import { sureRiseQps } from "./sure-rise.ts";

/** How the rate surely rises, or a forecaster of its highest second. */
export type Foreteller = "rise" | ForecasterName;

export interface ForetoldOptions {
  /** Seconds until replicas are up. */
  readonly aheadSeconds: number;
  /** Variance over mean of the requests in a window. */
  readonly dispersion: number;
  /** Deviations of a count that are no other load yet. */
  readonly slack: number;
}

/** What the forecasters foretell is a second's count, the highest of this many seconds. */
const FORETOLD_SECONDS = 10;
/** It lies so many standard deviations of a Poisson count above the rate. */
const PEAK_DEVIATIONS = 1.54;

/** The rate for when replicas are up, by one who foretells it. */
export class ForetoldRate {
  readonly #options: ForetoldOptions;
  readonly #hasRise: boolean;
  readonly #forecaster: Forecaster | null;

  /** @param foreteller null for nobody. */
  constructor(foreteller: Foreteller | null, options: ForetoldOptions) {
    this.#options = options;
    this.#hasRise = foreteller === "rise";
    const isNamed = foreteller !== null && foreteller !== "rise";
    this.#forecaster = isNamed ? forecasterOf(foreteller) : null;
  }

  /** What is sure of it; 0 where nothing is. */
  qpsOf(history: RateHistory): number {
    const { aheadSeconds, dispersion } = this.#options;
    if (this.#hasRise) return sureRiseQps(history.perSecondQps, aheadSeconds, dispersion);
    if (this.#forecaster === null) return 0;
    return this.#forecastQps(this.#forecaster, history);
  }

  /** On a line from the rate of now through the forecast, with the slack of a count. */
  #forecastQps(forecaster: Forecaster, history: RateHistory): number {
    const { aheadSeconds, dispersion, slack } = this.#options;
    const foretoldQps = rateOfPeak(forecaster.forecast(history.perSecondQps), dispersion);
    if (!(foretoldQps > 0)) return 0;
    const nowQps = history.meanQps(FORETOLD_SECONDS);
    const ahead = Math.max(1, aheadSeconds / FORETOLD_SECONDS);
    const thenQps = Math.max(0, nowQps + (foretoldQps - nowQps) * ahead);
    const deviations = (1 + slack) * Math.sqrt(dispersion);
    return sureMean(thenQps * FORETOLD_SECONDS, deviations) / FORETOLD_SECONDS;
  }
}

/** The rate whose highest second of ten is about this. NaN gives 0. */
function rateOfPeak(peakQps: number, dispersion: number): number {
  if (!(peakQps > 0)) return 0;
  const half = (PEAK_DEVIATIONS * Math.sqrt(dispersion)) / 2;
  const root = Math.sqrt(peakQps + half * half) - half;
  return root * root;
}
