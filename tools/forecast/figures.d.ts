/** Types of figures.js for the tests; the comments are there. */
export const RISE: number;
export type ForecastFigures = {
  count: number;
  mape: number;
  underShare: number;
  under: number;
  over: number;
  rises: { count: number; mape: number; under: number };
};
export function figuresOf(
  forecasts: ArrayLike<number>,
  peaks: ArrayLike<number>,
  lastMaxima: ArrayLike<number>,
): ForecastFigures;
