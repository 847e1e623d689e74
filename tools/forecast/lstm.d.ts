/** Types of lstm.js for the tests; the comments are there. */
type Moments = { mean: number; deviation: number };
export const UNITS: number;
export const PARAMETER_COUNT: number;
export function partsOf(parameters: Float64Array): {
  input: Float64Array;
  recurrent: Float64Array;
  bias: Float64Array;
  dense: Float64Array;
  denseBias: Float64Array;
};
export function initialParameters(random: () => number): Float64Array;
export function unstandardised(
  parameters: Float64Array,
  input: Moments,
  output: Moments,
): Float64Array;
export class Lstm {
  constructor(steps: number);
  output(parameters: Float64Array, inputs: Float64Array, start: number): number;
  addGradient(
    parameters: Float64Array,
    inputs: Float64Array,
    start: number,
    target: number,
    gradient: Float64Array,
  ): number;
}
