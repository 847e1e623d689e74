import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  DEFAULT_PARAMETERS,
  type ForecasterName,
  forecasterOf,
  HISTORY_BEATS,
  WINDOW_BEATS,
  WINDOW_COUNT,
} from "../../../runtime/core/forecasters.ts";

const NAMES: ForecasterName[] = ["last-max", "ewma", "holt", "poisson-peak"];
const OF_MAXIMA: ForecasterName[] = ["last-max", "ewma", "holt"];

/**
 * A history with those highest beats, the oldest window first, everything else in a window being
 * less; NaN for an unknown window.
 */
function historyOf(maxima: readonly number[]): Float64Array {
  const history = new Float64Array(HISTORY_BEATS);
  for (const [window, maximum] of maxima.entries()) {
    const first = window * WINDOW_BEATS;
    history.fill(maximum / 2, first, first + WINDOW_BEATS);
    history[first + ((3 * window) % WINDOW_BEATS)] = maximum;
  }
  return history;
}

const constant = (qps: number): Float64Array => new Float64Array(HISTORY_BEATS).fill(qps);
const count = fc.nat(5000);
const maxima = fc.array(count, { minLength: WINDOW_COUNT, maxLength: WINDOW_COUNT });
const second = fc.oneof({ weight: 4, arbitrary: count }, fc.constant(Number.NaN));
const seconds = fc
  .array(second, { minLength: HISTORY_BEATS, maxLength: HISTORY_BEATS })
  .map((values) => Float64Array.from(values));

describe("every forecaster", () => {
  test.each(NAMES)("%s knows nothing of nothing", (name) => {
    expect(forecasterOf(name).forecast(constant(Number.NaN))).toBeNaN();
  });

  test.each(NAMES)("%s expects no requests after none", (name) => {
    expect(forecasterOf(name).forecast(constant(0))).toBe(0);
  });

  test.each(NAMES)("%s gives a finite rate of at least 0 wherever a beat is known", (name) => {
    const forecaster = forecasterOf(name);
    fc.assert(
      fc.property(seconds, (history) => {
        const qps = forecaster.forecast(history);
        expect(Number.isNaN(qps)).toBe(history.every(Number.isNaN));
        if (!Number.isNaN(qps)) expect(qps).toBeGreaterThanOrEqual(0);
        expect(qps).toBeLessThan(Number.POSITIVE_INFINITY);
      }),
    );
  });

  test.each(NAMES)("%s makes the same of the same beats, whatever came before", (name) => {
    const forecaster = forecasterOf(name);
    fc.assert(
      fc.property(seconds, seconds, (one, other) => {
        const first = forecaster.forecast(one);
        forecaster.forecast(other);
        const before = one.slice();
        expect(forecaster.forecast(one)).toBe(first);
        expect(forecasterOf(name).forecast(one)).toBe(first);
        expect(one).toEqual(before);
      }),
    );
  });

  test.each(NAMES)("%s refuses a history of another length", (name) => {
    expect(() => forecasterOf(name).forecast(new Float64Array(59))).toThrow("60 beats");
  });
});

describe("a forecaster of maxima", () => {
  test.each(OF_MAXIMA)("%s expects a constant rate to last", (name) => {
    expect(forecasterOf(name).forecast(constant(70))).toBeCloseTo(70, 10);
  });

  test.each(OF_MAXIMA)("%s is as many times as high for a load as many times as high", (name) => {
    const forecaster = forecasterOf(name);
    fc.assert(
      fc.property(maxima, fc.integer({ min: 2, max: 1000 }), (windows, factor) => {
        const qps = forecaster.forecast(historyOf(windows));
        const more = forecaster.forecast(historyOf(windows.map((maximum) => factor * maximum)));
        expect(Math.abs(more - factor * qps)).toBeLessThanOrEqual(1e-9 * (1 + factor * qps));
      }),
    );
  });

  test.each(OF_MAXIMA)("%s sees of a window nothing but its highest beat", (name) => {
    const forecaster = forecasterOf(name);
    fc.assert(
      fc.property(maxima, (windows) => {
        const flat = Float64Array.from(
          { length: HISTORY_BEATS },
          (_, at) => windows[Math.floor(at / WINDOW_BEATS)] ?? 0,
        );
        expect(forecaster.forecast(historyOf(windows))).toBe(forecaster.forecast(flat));
      }),
    );
  });

  test.each(OF_MAXIMA)("%s takes one known beat for all there is", (name) => {
    const history = constant(Number.NaN);
    history[HISTORY_BEATS - 1] = 12;
    expect(forecasterOf(name).forecast(history)).toBe(12);
  });

  test.each(OF_MAXIMA)("%s passes over unknown windows, wherever they are", (name) => {
    const unknown = Number.NaN;
    const forecaster = forecasterOf(name, name === "last-max" ? { windows: 3 } : {});
    const short = forecaster.forecast(historyOf([unknown, unknown, unknown, 40, 60, 20]));
    expect(forecaster.forecast(historyOf([40, unknown, 60, unknown, 20, unknown]))).toBe(short);
  });
});

describe("last-max", () => {
  test("is the highest beat of the last window", () => {
    expect(forecasterOf("last-max").forecast(historyOf([90, 80, 70, 60, 50, 40]))).toBe(40);
  });

  test("is that of as many windows as it is told", () => {
    const history = historyOf([90, 80, 70, 60, 50, 40]);
    for (const [more, expected] of [40, 50, 60, 70, 80, 90].entries()) {
      expect(forecasterOf("last-max", { windows: more + 1 }).forecast(history)).toBe(expected);
    }
  });

  test.each([0, 7, 1.5])("refuses %f windows", (windows) => {
    expect(() => forecasterOf("last-max", { windows })).toThrow();
  });
});

describe("ewma", () => {
  test("weighs a window by the share that is left of it", () => {
    const forecaster = forecasterOf("ewma", { weight: 0.5 });
    const expected = (1 * 10 + 2 * 20 + 4 * 30 + 8 * 40 + 16 * 50 + 32 * 60) / 63;
    expect(forecaster.forecast(historyOf([10, 20, 30, 40, 50, 60]))).toBeCloseTo(expected, 10);
  });

  test("is the last window's maximum with a weight of 1", () => {
    const forecaster = forecasterOf("ewma", { weight: 1 });
    fc.assert(
      fc.property(maxima, (windows) => {
        expect(forecaster.forecast(historyOf(windows))).toBe(windows.at(-1));
      }),
    );
  });

  test("lies between the lowest and the highest window", () => {
    const forecaster = forecasterOf("ewma");
    fc.assert(
      fc.property(maxima, (windows) => {
        const qps = forecaster.forecast(historyOf(windows));
        expect(qps).toBeGreaterThanOrEqual(Math.min(...windows) * (1 - 1e-12));
        expect(qps).toBeLessThanOrEqual(Math.max(...windows) * (1 + 1e-12));
      }),
    );
  });

  test.each([0, -0.1, 1.1, Number.NaN])("refuses a weight of %f", (weight) => {
    expect(() => forecasterOf("ewma", { weight })).toThrow();
  });
});

describe("holt", () => {
  test("follows a line once it knows it, one step ahead", () => {
    const forecaster = forecasterOf("holt", { levelWeight: 1, trendWeight: 1 });
    expect(forecaster.forecast(historyOf([10, 20, 30, 40, 50, 60]))).toBe(70);
    expect(forecaster.forecast(historyOf([60, 55, 50, 45, 40, 35]))).toBe(30);
  });

  test("is what level and trend are by hand", () => {
    const forecaster = forecasterOf("holt", { levelWeight: 0.5, trendWeight: 0.5 });
    const unknown = Number.NaN;
    // Level 100, trend 0; then level 110, trend 5; then, 115 expected, level 127.5, trend 11.25.
    const history = historyOf([unknown, unknown, unknown, 100, 120, 140]);
    expect(forecaster.forecast(history)).toBe(138.75);
  });

  test("is not below 0 when the load falls away", () => {
    const forecaster = forecasterOf("holt", { levelWeight: 1, trendWeight: 1 });
    expect(forecaster.forecast(historyOf([500, 400, 300, 200, 100, 0]))).toBe(0);
  });

  test("smooths as without a trend when the trend weighs nothing", () => {
    const forecaster = forecasterOf("holt", { levelWeight: 0.25, trendWeight: 0 });
    fc.assert(
      fc.property(maxima, (windows) => {
        const level = windows.reduce((before, maximum) => before + (maximum - before) / 4);
        expect(forecaster.forecast(historyOf(windows))).toBeCloseTo(level, 8);
      }),
    );
  });

  test.each([
    { levelWeight: 0 },
    { levelWeight: 1.1 },
    { trendWeight: -0.1 },
    { trendWeight: Number.NaN },
  ])("refuses the weights $levelWeight and $trendWeight", (parameters) => {
    expect(() => forecasterOf("holt", parameters)).toThrow();
  });
});

describe("poisson-peak", () => {
  const { peakDeviations } = DEFAULT_PARAMETERS["poisson-peak"];

  test("is a constant rate and some of its square root", () => {
    const forecaster = forecasterOf("poisson-peak");
    expect(forecaster.forecast(constant(100))).toBeCloseTo(100 + 10 * peakDeviations, 10);
    expect(forecaster.forecast(constant(10_000))).toBeCloseTo(10_000 + 100 * peakDeviations, 8);
  });

  test("lets a beat that is a half-life older weigh half as much", () => {
    const forecaster = forecasterOf("poisson-peak", { halfLifeBeats: 5, peakDeviations: 0 });
    const history = constant(Number.NaN);
    history[HISTORY_BEATS - 11] = 70;
    history[HISTORY_BEATS - 6] = 140;
    history[HISTORY_BEATS - 1] = 35;
    // Weights 1, 2 and 4.
    expect(forecaster.forecast(history)).toBeCloseTo((70 + 2 * 140 + 4 * 35) / 7, 10);
  });

  test.each([{ halfLifeBeats: 0 }, { peakDeviations: -1 }, { halfLifeBeats: Number.NaN }])(
    "refuses a half-life of $halfLifeBeats and $peakDeviations deviations",
    (parameters) => {
      expect(() => forecasterOf("poisson-peak", parameters)).toThrow();
    },
  );
});
