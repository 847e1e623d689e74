/** Forecasts the traffic of the next seconds from that of the last ones. */
import { assert } from "./assert.ts";

/**
 * What a forecast may look at: counts of whole seconds. Source: Themis §5.1.3 and the design page,
 * six maxima of 10 s.
 */
export const HISTORY_SECONDS = 60;
/** The history is seen in windows of this length, each by its highest second. */
export const WINDOW_SECONDS = 10;
export const WINDOW_COUNT = HISTORY_SECONDS / WINDOW_SECONDS;
/** A forecast is of the highest second among as many that come next. */
export const HORIZON_SECONDS = 10;

export interface Forecaster {
  /**
   * Highest rate of a whole second in the next 10 s, requests per second; NaN if nothing is known.
   * @param perSecondQps of the last 60 whole seconds, [HISTORY_SECONDS], oldest first; at least 0,
   * or NaN where there was nothing yet, which is passed over: what is known counts as if it were
   * all there is.
   */
  forecast(perSecondQps: Float64Array): number;
}

export interface ParametersByForecaster {
  readonly "last-max": {
    /** The maximum is of as many windows, 1 to WINDOW_COUNT. */
    readonly windows: number;
  };
  readonly ewma: {
    /** What a window weighs against all before it, above 0 and at most 1. */
    readonly weight: number;
  };
  readonly holt: {
    /** What a window weighs against the level expected of it, above 0 and at most 1. */
    readonly levelWeight: number;
    /** What a step of the level weighs against the trend, 0 to 1. */
    readonly trendWeight: number;
  };
  readonly "poisson-peak": {
    /** A second that much older weighs half as much, above 0. */
    readonly halfLifeSeconds: number;
    /**
     * How far the highest of ten seconds lies above the rate, in standard deviations of a Poisson
     * count; at least 0.
     */
    readonly peakDeviations: number;
  };
}

export type ForecasterName = keyof ParametersByForecaster;

/**
 * The best in mean absolute percentage error on the training days of the Twitter trace
 * (`themis forecast-parameters` of experiments/).
 */
export const DEFAULT_PARAMETERS: ParametersByForecaster = {
  "last-max": { windows: 1 },
  ewma: { weight: 0.35 },
  holt: { levelWeight: 0.35, trendWeight: 0.05 },
  "poisson-peak": { halfLifeSeconds: 8, peakDeviations: 1.55 },
};

/**
 * A forecaster of its parameters, those left out being the defaults. It allocates here and no more;
 * forecasts depend on nothing but their argument.
 */
export function forecasterOf<Name extends ForecasterName>(
  name: Name,
  parameters: Partial<ParametersByForecaster[Name]> = {},
): Forecaster {
  return FORECASTERS[name]({ ...DEFAULT_PARAMETERS[name], ...parameters });
}

const FORECASTERS: {
  readonly [Name in ForecasterName]: (parameters: ParametersByForecaster[Name]) => Forecaster;
} = {
  "last-max": (parameters) => new LastMax(parameters),
  ewma: (parameters) => new Ewma(parameters),
  holt: (parameters) => new Holt(parameters),
  "poisson-peak": (parameters) => new PoissonPeak(parameters),
};

/** Highest known second of a window, 0 being the oldest window; NaN where none is known. */
export function windowMaximum(perSecondQps: Float64Array, window: number): number {
  let maximum = Number.NaN;
  const end = (window + 1) * WINDOW_SECONDS;
  for (let second = end - WINDOW_SECONDS; second < end; second++) {
    const qps = perSecondQps[second]!;
    if (!(qps <= maximum) && !Number.isNaN(qps)) maximum = qps;
  }
  return maximum;
}

/** The highest of the last windows comes again. */
class LastMax implements Forecaster {
  readonly #windows: number;

  constructor({ windows }: ParametersByForecaster["last-max"]) {
    assert(Number.isInteger(windows) && windows >= 1 && windows <= WINDOW_COUNT, "windows exist");
    this.#windows = windows;
  }

  forecast(perSecondQps: Float64Array): number {
    checkLength(perSecondQps);
    let maximum = Number.NaN;
    let known = 0;
    for (let window = WINDOW_COUNT - 1; window >= 0 && known < this.#windows; window--) {
      const qps = windowMaximum(perSecondQps, window);
      if (Number.isNaN(qps)) continue;
      known++;
      if (!(qps <= maximum)) maximum = qps;
    }
    return maximum;
  }
}

/**
 * Mean of the windows' maxima, the newer weighing more. The weights sum to one, so that the oldest
 * window is not favoured as a starting value.
 */
class Ewma implements Forecaster {
  readonly #kept: number;

  constructor({ weight }: ParametersByForecaster["ewma"]) {
    assert(weight > 0 && weight <= 1, "the weight is a share");
    this.#kept = 1 - weight;
  }

  forecast(perSecondQps: Float64Array): number {
    checkLength(perSecondQps);
    const kept = this.#kept;
    let weighted = 0;
    let weights = 0;
    for (let window = 0; window < WINDOW_COUNT; window++) {
      const qps = windowMaximum(perSecondQps, window);
      if (Number.isNaN(qps)) continue;
      weighted = kept * weighted + qps;
      weights = kept * weights + 1;
    }
    return weighted / weights;
  }
}

/**
 * Level and linear trend of the windows' maxima, from the oldest known one and no trend. The
 * forecast is not below 0.
 */
class Holt implements Forecaster {
  readonly #levelWeight: number;
  readonly #trendWeight: number;

  constructor({ levelWeight, trendWeight }: ParametersByForecaster["holt"]) {
    assert(levelWeight > 0 && levelWeight <= 1, "the level's weight is a share");
    assert(trendWeight >= 0 && trendWeight <= 1, "the trend's weight is a share");
    this.#levelWeight = levelWeight;
    this.#trendWeight = trendWeight;
  }

  forecast(perSecondQps: Float64Array): number {
    checkLength(perSecondQps);
    const levelWeight = this.#levelWeight;
    const trendWeight = this.#trendWeight;
    let level = Number.NaN;
    let trend = 0;
    for (let window = 0; window < WINDOW_COUNT; window++) {
      const qps = windowMaximum(perSecondQps, window);
      if (Number.isNaN(qps)) continue;
      const before = level;
      const expected = Number.isNaN(level) ? qps : level + trend;
      level = expected + levelWeight * (qps - expected);
      const step = Number.isNaN(before) ? 0 : level - before;
      trend += trendWeight * (step - trend);
    }
    return Math.max(level + trend, 0);
  }
}

/**
 * The rate now, and above it what the highest of ten Poisson counts is expected to add: a mean of
 * the seconds' counts, the newer weighing more, and multiples of its square root. A mean of counts
 * is known better than a maximum of them, and the noise shrinks beside the rate as the rate grows.
 */
class PoissonPeak implements Forecaster {
  readonly #kept: number;
  readonly #peakDeviations: number;

  constructor({ halfLifeSeconds, peakDeviations }: ParametersByForecaster["poisson-peak"]) {
    assert(halfLifeSeconds > 0, "the half-life is a time");
    assert(peakDeviations >= 0, "a peak is not below the rate");
    this.#kept = Math.exp(-Math.LN2 / halfLifeSeconds);
    this.#peakDeviations = peakDeviations;
  }

  forecast(perSecondQps: Float64Array): number {
    checkLength(perSecondQps);
    const kept = this.#kept;
    let weighted = 0;
    let weights = 0;
    for (let second = 0; second < HISTORY_SECONDS; second++) {
      const qps = perSecondQps[second]!;
      weighted *= kept;
      weights *= kept;
      if (Number.isNaN(qps)) continue;
      weighted += qps;
      weights++;
    }
    const rateQps = weighted / weights;
    return rateQps + this.#peakDeviations * Math.sqrt(rateQps);
  }
}

function checkLength(perSecondQps: Float64Array): void {
  assert(perSecondQps.length === HISTORY_SECONDS, "the history is of 60 seconds");
}
