/**
 * An LSTM over a short sequence of single numbers and a dense layer of one unit behind its last
 * state, with its gradient and Adam. Source: Themis §5.1.3.
 *
 * Parameters are one array: input weights [4 H], recurrent weights [4 H, H], biases [4 H], dense
 * weights [H], dense bias. The gates are in ONNX's order: input, output, forget, cell.
 */
import type { RandomSource } from "../letters.ts";

export const UNITS = 25;
const GATES = 4 * UNITS;
const RECURRENT = GATES;
const BIAS = RECURRENT + GATES * UNITS;
const DENSE = BIAS + GATES;
const DENSE_BIAS = DENSE + UNITS;
export const PARAMETER_COUNT = DENSE_BIAS + 1;

/** The parts of the parameters, as views. */
export function partsOf(parameters: Float64Array) {
  return {
    input: parameters.subarray(0, RECURRENT),
    recurrent: parameters.subarray(RECURRENT, BIAS),
    bias: parameters.subarray(BIAS, DENSE),
    dense: parameters.subarray(DENSE, DENSE_BIAS),
    denseBias: parameters.subarray(DENSE_BIAS),
  };
}

/** Uniform within 1 / sqrt(H), but forget gates that start by keeping. */
export function initialParameters(random: RandomSource): Float64Array {
  const bound = 1 / Math.sqrt(UNITS);
  const parameters = Float64Array.from(
    { length: PARAMETER_COUNT },
    () => bound * (2 * random() - 1),
  );
  const { bias, denseBias } = partsOf(parameters);
  bias.fill(0).fill(1, 2 * UNITS, 3 * UNITS);
  denseBias[0] = 0;
  return parameters;
}

export interface Moments {
  readonly mean: number;
  readonly deviation: number;
}

/**
 * The same network for inputs and outputs that are not standardised: what comes in as x was trained
 * on as (x - mean) / deviation, and what goes out likewise.
 */
export function unstandardised(
  parameters: Float64Array,
  input: Moments,
  output: Moments,
): Float64Array {
  const folded = parameters.slice();
  const parts = partsOf(folded);
  for (let gate = 0; gate < GATES; gate++) {
    const weight = at(parts.input, gate) / input.deviation;
    parts.input[gate] = weight;
    parts.bias[gate] = at(parts.bias, gate) - weight * input.mean;
  }
  for (let unit = 0; unit < UNITS; unit++) {
    parts.dense[unit] = at(parts.dense, unit) * output.deviation;
  }
  parts.denseBias[0] = output.mean + output.deviation * at(parts.denseBias, 0);
  return folded;
}

/** A number that is there. */
function at(values: Float64Array, index: number): number {
  return values[index] ?? Number.NaN;
}

export class Lstm {
  readonly #steps: number;
  readonly #gates: Float64Array;
  readonly #cells: Float64Array;
  readonly #hidden: Float64Array;
  readonly #gateGradient = new Float64Array(GATES);
  readonly #hiddenGradient = new Float64Array(UNITS);
  readonly #cellGradient = new Float64Array(UNITS);

  /** @param steps length of a sequence. */
  constructor(steps: number) {
    this.#steps = steps;
    this.#gates = new Float64Array(steps * GATES);
    this.#cells = new Float64Array((steps + 1) * UNITS);
    this.#hidden = new Float64Array((steps + 1) * UNITS);
  }

  /** @param inputs the sequence begins at `start`. */
  output(parameters: Float64Array, inputs: Float64Array, start: number): number {
    for (let step = 0; step < this.#steps; step++) {
      this.#forward(parameters, step, at(inputs, start + step));
    }
    const last = this.#steps * UNITS;
    let sum = at(parameters, DENSE_BIAS);
    for (let unit = 0; unit < UNITS; unit++) {
      sum += at(parameters, DENSE + unit) * at(this.#hidden, last + unit);
    }
    return sum;
  }

  /** Adds the gradient of the squared error of one sequence to `gradient`. @returns that error. */
  addGradient(
    parameters: Float64Array,
    inputs: Float64Array,
    start: number,
    target: number,
    gradient: Float64Array,
  ): number {
    const error = this.output(parameters, inputs, start) - target;
    const outer = 2 * error;
    const last = this.#steps * UNITS;
    for (let unit = 0; unit < UNITS; unit++) {
      add(gradient, DENSE + unit, outer * at(this.#hidden, last + unit));
      this.#hiddenGradient[unit] = outer * at(parameters, DENSE + unit);
    }
    add(gradient, DENSE_BIAS, outer);
    this.#cellGradient.fill(0);
    for (let step = this.#steps - 1; step >= 0; step--) {
      this.#gatesBackward(step);
      this.#weightsBackward(parameters, step, at(inputs, start + step), gradient);
    }
    return error * error;
  }

  #forward(parameters: Float64Array, step: number, input: number): void {
    const [gates, cells, hidden] = [this.#gates, this.#cells, this.#hidden];
    const first = step * GATES;
    const before = step * UNITS;
    for (let gate = 0; gate < GATES; gate++) {
      let sum = at(parameters, BIAS + gate) + at(parameters, gate) * input;
      const row = RECURRENT + gate * UNITS;
      for (let unit = 0; unit < UNITS; unit++) {
        sum += at(parameters, row + unit) * at(hidden, before + unit);
      }
      gates[first + gate] = gate < 3 * UNITS ? 1 / (1 + Math.exp(-sum)) : Math.tanh(sum);
    }
    for (let unit = 0; unit < UNITS; unit++) {
      const own = first + unit;
      const kept = at(gates, own + 2 * UNITS) * at(cells, before + unit);
      const cell = kept + at(gates, own) * at(gates, own + 3 * UNITS);
      cells[before + UNITS + unit] = cell;
      hidden[before + UNITS + unit] = at(gates, own + UNITS) * Math.tanh(cell);
    }
  }

  /** From the gradient of a step's state to that of its gates' sums. */
  #gatesBackward(step: number): void {
    const [gates, cells, gradient] = [this.#gates, this.#cells, this.#gateGradient];
    for (let unit = 0; unit < UNITS; unit++) {
      const own = step * GATES + unit;
      const input = at(gates, own);
      const output = at(gates, own + UNITS);
      const forget = at(gates, own + 2 * UNITS);
      const candidate = at(gates, own + 3 * UNITS);
      const squashed = Math.tanh(at(cells, (step + 1) * UNITS + unit));
      const hidden = at(this.#hiddenGradient, unit);
      const cell = at(this.#cellGradient, unit) + hidden * output * (1 - squashed * squashed);
      const before = at(cells, step * UNITS + unit);
      gradient[unit] = cell * candidate * input * (1 - input);
      gradient[unit + UNITS] = hidden * squashed * output * (1 - output);
      gradient[unit + 2 * UNITS] = cell * before * forget * (1 - forget);
      gradient[unit + 3 * UNITS] = cell * input * (1 - candidate * candidate);
      this.#cellGradient[unit] = cell * forget;
    }
  }

  /** From there to the weights' gradient, and to that of the state before. */
  #weightsBackward(
    parameters: Float64Array,
    step: number,
    input: number,
    gradient: Float64Array,
  ): void {
    const hidden = this.#hidden;
    const before = step * UNITS;
    const hiddenGradient = this.#hiddenGradient.fill(0);
    for (let gate = 0; gate < GATES; gate++) {
      const slope = at(this.#gateGradient, gate);
      add(gradient, gate, slope * input);
      add(gradient, BIAS + gate, slope);
      const row = RECURRENT + gate * UNITS;
      for (let unit = 0; unit < UNITS; unit++) {
        add(gradient, row + unit, slope * at(hidden, before + unit));
        add(hiddenGradient, unit, slope * at(parameters, row + unit));
      }
    }
  }
}

function add(values: Float64Array, index: number, amount: number): void {
  values[index] = at(values, index) + amount;
}

/** Adam with its usual decay rates. Source: Kingma and Ba, 2015, algorithm 1. */
export class Adam {
  readonly #mean = new Float64Array(PARAMETER_COUNT);
  readonly #square = new Float64Array(PARAMETER_COUNT);
  #steps = 0;

  /** Changes the parameters. */
  step(parameters: Float64Array, gradient: Float64Array, rate: number): void {
    this.#steps++;
    const meanShare = 1 - 0.9 ** this.#steps;
    const squareShare = 1 - 0.999 ** this.#steps;
    for (const [index, slope] of gradient.entries()) {
      add(this.#mean, index, 0.1 * (slope - at(this.#mean, index)));
      add(this.#square, index, 0.001 * (slope * slope - at(this.#square, index)));
      const size = Math.sqrt(at(this.#square, index) / squareShare) + 1e-8;
      add(parameters, index, -((rate * at(this.#mean, index)) / meanShare / size));
    }
  }
}
