/** Forecasts the traffic of the next beats from that of the last ones. */
import { assert } from "./assert.ts";

/**
 * Number of whole beats that a forecast sees. Source: Themis §5.1.3 and the design page, six maxima
 * of 10 s.
 */
export const HISTORY_BEATS = 60;
/** Length of a window, which is represented by its highest beat. */
export const WINDOW_BEATS = 10;
export const WINDOW_COUNT = HISTORY_BEATS / WINDOW_BEATS;
/** Number of coming beats whose highest is forecast. */
export const HORIZON_BEATS = 10;

export interface Forecaster {
  /**
   * Returns the most requests of a beat among the next ten; NaN if unknown.
   * @param perBeat of the last 60 whole beats, [HISTORY_BEATS], oldest first; at least 0, or NaN
   * for beats before the start, which are skipped.
   */
  forecast(perBeat: Float64Array): number;
}

export interface ParametersByForecaster {
  readonly "last-max": {
    /** Number of windows that the maximum covers, 1 to WINDOW_COUNT. */
    readonly windows: number;
  };
  readonly ewma: {
    /** Weight of a window against all before it, above 0 and at most 1. */
    readonly weight: number;
  };
  readonly holt: {
    /** Weight of a window against the level expected for it, above 0 and at most 1. */
    readonly levelWeight: number;
    /** Weight of a step of the level against the trend, 0 to 1. */
    readonly trendWeight: number;
  };
  readonly "poisson-peak": {
    /** A beat that much older weighs half as much, above 0. */
    readonly halfLifeBeats: number;
    /**
     * How far the highest of ten beats lies above the rate, in standard deviations of a Poisson
     * count; at least 0.
     */
    readonly peakDeviations: number;
  };
}

export type ForecasterName = keyof ParametersByForecaster;

/**
 * The best in mean absolute percentage error on the training days of the Twitter trace
 * (`themis forecast-parameters` of lab/experiments).
 */
export const DEFAULT_PARAMETERS: ParametersByForecaster = {
  "last-max": { windows: 1 },
  ewma: { weight: 0.35 },
  holt: { levelWeight: 0.35, trendWeight: 0.05 },
  "poisson-peak": { halfLifeBeats: 8, peakDeviations: 1.55 },
};

/**
 * Returns a forecaster; parameters that are left out have their defaults. It allocates only here;
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

/** Returns the highest known beat of a window, 0 being the oldest window; NaN if none is known. */
export function windowMaximum(perBeat: Float64Array, window: number): number {
  let maximum = Number.NaN;
  const end = (window + 1) * WINDOW_BEATS;
  for (let beat = end - WINDOW_BEATS; beat < end; beat++) {
    const count = perBeat[beat]!;
    if (!(count <= maximum) && !Number.isNaN(count)) maximum = count;
  }
  return maximum;
}

/** Predicts that the highest of the last windows recurs. */
class LastMax implements Forecaster {
  readonly #windows: number;

  constructor({ windows }: ParametersByForecaster["last-max"]) {
    assert(Number.isInteger(windows) && windows >= 1 && windows <= WINDOW_COUNT, "windows exist");
    this.#windows = windows;
  }

  forecast(perBeat: Float64Array): number {
    checkLength(perBeat);
    let maximum = Number.NaN;
    let known = 0;
    for (let window = WINDOW_COUNT - 1; window >= 0 && known < this.#windows; window--) {
      const count = windowMaximum(perBeat, window);
      if (Number.isNaN(count)) continue;
      known++;
      if (!(count <= maximum)) maximum = count;
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

  forecast(perBeat: Float64Array): number {
    checkLength(perBeat);
    const kept = this.#kept;
    let weighted = 0;
    let weights = 0;
    for (let window = 0; window < WINDOW_COUNT; window++) {
      const count = windowMaximum(perBeat, window);
      if (Number.isNaN(count)) continue;
      weighted = kept * weighted + count;
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

  forecast(perBeat: Float64Array): number {
    checkLength(perBeat);
    const levelWeight = this.#levelWeight;
    const trendWeight = this.#trendWeight;
    let level = Number.NaN;
    let trend = 0;
    for (let window = 0; window < WINDOW_COUNT; window++) {
      const count = windowMaximum(perBeat, window);
      if (Number.isNaN(count)) continue;
      const before = level;
      const expected = Number.isNaN(level) ? count : level + trend;
      level = expected + levelWeight * (count - expected);
      const step = Number.isNaN(before) ? 0 : level - before;
      trend += trendWeight * (step - trend);
    }
    return Math.max(level + trend, 0);
  }
}

/**
 * The rate now, and above it what the highest of ten Poisson counts is expected to add: a mean of
 * the beats' counts, the newer weighing more, and multiples of its square root. A mean of counts
 * is known better than a maximum of them, and the noise shrinks beside the rate as the rate grows.
 */
class PoissonPeak implements Forecaster {
  readonly #kept: number;
  readonly #peakDeviations: number;

  constructor({ halfLifeBeats, peakDeviations }: ParametersByForecaster["poisson-peak"]) {
    assert(halfLifeBeats > 0, "the half-life is a time");
    assert(peakDeviations >= 0, "a peak is not below the rate");
    this.#kept = Math.exp(-Math.LN2 / halfLifeBeats);
    this.#peakDeviations = peakDeviations;
  }

  forecast(perBeat: Float64Array): number {
    checkLength(perBeat);
    const kept = this.#kept;
    let weighted = 0;
    let weights = 0;
    for (let beat = 0; beat < HISTORY_BEATS; beat++) {
      const count = perBeat[beat]!;
      weighted *= kept;
      weights *= kept;
      if (Number.isNaN(count)) continue;
      weighted += count;
      weights++;
    }
    const rate = weighted / weights;
    return rate + this.#peakDeviations * Math.sqrt(rate);
  }
}

function checkLength(perBeat: Float64Array): void {
  assert(perBeat.length === HISTORY_BEATS, "the history is of 60 beats");
}
