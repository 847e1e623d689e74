/**
 * An LSTM over a short sequence of single numbers and a dense layer of one unit behind its last state, with its gradient and Adam. Source: Themis §5.1.3.
 *
 * Parameters are one array: input weights [4 H], recurrent weights [4 H, H], biases [4 H], dense weights [H], dense bias. The gates are in ONNX's order:
 * input, output, forget, cell.
 */

export const UNITS = 25;
const GATES = 4 * UNITS;
const RECURRENT = GATES;
const BIAS = RECURRENT + GATES * UNITS;
const DENSE = BIAS + GATES;
const DENSE_BIAS = DENSE + UNITS;
export const PARAMETER_COUNT = DENSE_BIAS + 1;

/** The parts of the parameters, as views. */
export function partsOf(parameters) {
  return {
    input: parameters.subarray(0, RECURRENT),
    recurrent: parameters.subarray(RECURRENT, BIAS),
    bias: parameters.subarray(BIAS, DENSE),
    dense: parameters.subarray(DENSE, DENSE_BIAS),
    denseBias: parameters.subarray(DENSE_BIAS),
  };
}

/** Uniform within 1 / sqrt(H), but forget gates that start by keeping. @param {() => number} random uniform on [0, 1). */
export function initialParameters(random) {
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

/**
 * The same network for inputs and outputs that are not standardised: what comes in as x was trained on as (x - mean) / deviation, and what goes out
 * likewise.
 */
export function unstandardised(parameters, input, output) {
  const folded = parameters.slice();
  const parts = partsOf(folded);
  for (let gate = 0; gate < GATES; gate++) {
    parts.input[gate] /= input.deviation;
    parts.bias[gate] -= parts.input[gate] * input.mean;
  }
  for (let unit = 0; unit < UNITS; unit++) parts.dense[unit] *= output.deviation;
  parts.denseBias[0] = output.mean + output.deviation * parts.denseBias[0];
  return folded;
}

export class Lstm {
  #steps;
  #gates;
  #cells;
  #hidden;
  #gateGradient = new Float64Array(GATES);
  #hiddenGradient = new Float64Array(UNITS);
  #cellGradient = new Float64Array(UNITS);

  /** @param {number} steps length of a sequence. */
  constructor(steps) {
    this.#steps = steps;
    this.#gates = new Float64Array(steps * GATES);
    this.#cells = new Float64Array((steps + 1) * UNITS);
    this.#hidden = new Float64Array((steps + 1) * UNITS);
  }

  /** @param {Float64Array} inputs the sequence begins at `start`. */
  output(parameters, inputs, start) {
    for (let step = 0; step < this.#steps; step++) {
      this.#forward(parameters, step, inputs[start + step]);
    }
    const last = this.#steps * UNITS;
    let sum = parameters[DENSE_BIAS];
    for (let unit = 0; unit < UNITS; unit++) {
      sum += parameters[DENSE + unit] * this.#hidden[last + unit];
    }
    return sum;
  }

  /** Adds the gradient of the squared error of one sequence to `gradient`. @returns the squared error. */
  addGradient(parameters, inputs, start, target, gradient) {
    const error = this.output(parameters, inputs, start) - target;
    const outer = 2 * error;
    const last = this.#steps * UNITS;
    for (let unit = 0; unit < UNITS; unit++) {
      gradient[DENSE + unit] += outer * this.#hidden[last + unit];
      this.#hiddenGradient[unit] = outer * parameters[DENSE + unit];
    }
    gradient[DENSE_BIAS] += outer;
    this.#cellGradient.fill(0);
    for (let step = this.#steps - 1; step >= 0; step--) {
      this.#gatesBackward(step);
      this.#weightsBackward(parameters, step, inputs[start + step], gradient);
    }
    return error * error;
  }

  #forward(parameters, step, input) {
    const [gates, cells, hidden] = [this.#gates, this.#cells, this.#hidden];
    const first = step * GATES;
    const before = step * UNITS;
    for (let gate = 0; gate < GATES; gate++) {
      let sum = parameters[BIAS + gate] + parameters[gate] * input;
      const row = RECURRENT + gate * UNITS;
      for (let unit = 0; unit < UNITS; unit++)
        sum += parameters[row + unit] * hidden[before + unit];
      gates[first + gate] = gate < 3 * UNITS ? 1 / (1 + Math.exp(-sum)) : Math.tanh(sum);
    }
    for (let unit = 0; unit < UNITS; unit++) {
      const at = first + unit;
      const kept = gates[at + 2 * UNITS] * cells[before + unit];
      const cell = kept + gates[at] * gates[at + 3 * UNITS];
      cells[before + UNITS + unit] = cell;
      hidden[before + UNITS + unit] = gates[at + UNITS] * Math.tanh(cell);
    }
  }

  /** From the gradient of a step's state to that of its gates' sums. */
  #gatesBackward(step) {
    const [gates, cells, gradient] = [this.#gates, this.#cells, this.#gateGradient];
    for (let unit = 0; unit < UNITS; unit++) {
      const at = step * GATES + unit;
      const [input, output, forget] = [gates[at], gates[at + UNITS], gates[at + 2 * UNITS]];
      const candidate = gates[at + 3 * UNITS];
      const squashed = Math.tanh(cells[(step + 1) * UNITS + unit]);
      const hidden = this.#hiddenGradient[unit];
      const cell = this.#cellGradient[unit] + hidden * output * (1 - squashed * squashed);
      const before = cells[step * UNITS + unit];
      gradient[unit] = cell * candidate * input * (1 - input);
      gradient[unit + UNITS] = hidden * squashed * output * (1 - output);
      gradient[unit + 2 * UNITS] = cell * before * forget * (1 - forget);
      gradient[unit + 3 * UNITS] = cell * input * (1 - candidate * candidate);
      this.#cellGradient[unit] = cell * forget;
    }
  }

  /** From there to the weights' gradient, and to that of the state before. */
  #weightsBackward(parameters, step, input, gradient) {
    const hidden = this.#hidden;
    const before = step * UNITS;
    const hiddenGradient = this.#hiddenGradient.fill(0);
    for (let gate = 0; gate < GATES; gate++) {
      const slope = this.#gateGradient[gate];
      gradient[gate] += slope * input;
      gradient[BIAS + gate] += slope;
      const row = RECURRENT + gate * UNITS;
      for (let unit = 0; unit < UNITS; unit++) {
        gradient[row + unit] += slope * hidden[before + unit];
        hiddenGradient[unit] += slope * parameters[row + unit];
      }
    }
  }
}

/** Adam with its usual decay rates. Source: Kingma and Ba, 2015, algorithm 1. */
export class Adam {
  #mean = new Float64Array(PARAMETER_COUNT);
  #square = new Float64Array(PARAMETER_COUNT);
  #steps = 0;

  /** Changes the parameters. */
  step(parameters, gradient, rate) {
    this.#steps++;
    const meanShare = 1 - 0.9 ** this.#steps;
    const squareShare = 1 - 0.999 ** this.#steps;
    for (let at = 0; at < parameters.length; at++) {
      const slope = gradient[at];
      this.#mean[at] += 0.1 * (slope - this.#mean[at]);
      this.#square[at] += 0.001 * (slope * slope - this.#square[at]);
      const size = Math.sqrt(this.#square[at] / squareShare) + 1e-8;
      parameters[at] -= (rate * this.#mean[at]) / meanShare / size;
    }
  }
}
