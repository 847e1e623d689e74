/** Types of fit.js for the tests; the comments are there. */
type Sample = { maxima: Float64Array; peaks: Float64Array };
type Training = { seed: number; epochs: number; batch: number; learningRate: number };
type Scaling = "history" | "fixed";
export const TRAINING: Training;
export function fitLstm(
  fitSet: Sample,
  selectionSet: Sample,
  scaling: Scaling,
  tell: (line: string) => void,
  training?: Training,
): { parameters: Float64Array; epoch: number; mape: number };
export function forecastsOf(
  parameters: Float64Array,
  maxima: Float64Array,
  scaling: Scaling,
): Float64Array;
