import { randomSource } from "../letters.js";
import { Adam, initialParameters, Lstm, PARAMETER_COUNT, unstandardised } from "./lstm.js";
import { WINDOW_COUNT } from "./trace.js";

/** How the network is trained. */
export const TRAINING = { seed: 1, epochs: 10, batch: 64, learningRate: 0.002 };

/**
 * What the network is fed with, and asked for: maxima and peak as a share of the maxima's mean (`history`), so that it knows no load, or as they
 * are (`fixed`).
 * @param {Float64Array} maxima [rows, WINDOW_COUNT]
 * @param {"history" | "fixed"} scaling
 * @returns {Float64Array} [rows]
 */
export function scalesOf(maxima, scaling) {
  return Float64Array.from({ length: maxima.length / WINDOW_COUNT }, (_, row) => {
    if (scaling === "fixed") return 1;
    const windows = maxima.subarray(row * WINDOW_COUNT, (row + 1) * WINDOW_COUNT);
    return windows.reduce((sum, qps) => sum + qps, 0) / WINDOW_COUNT;
  });
}

/**
 * Trains on one set and keeps the epoch with the least error on the other. The learning rate falls to 0 along a cosine.
 * @param {{ maxima: Float64Array, peaks: Float64Array }} fitSet
 * @param {{ maxima: Float64Array, peaks: Float64Array }} selectionSet
 * @param {"history" | "fixed"} scaling
 * @param {(line: string) => void} tell
 * @returns parameters of a network from scaled maxima to the scaled peak, the epoch they are of, and its error on the second set.
 */
export function fitLstm(fitSet, selectionSet, scaling, tell, training = TRAINING) {
  const { seed, epochs, batch, learningRate } = training;
  const data = standardised(fitSet, scaling);
  const rows = data.targets.length;
  const random = randomSource(seed, 0);
  const order = Uint32Array.from({ length: rows }, (_, row) => row);
  const parameters = initialParameters(random);
  const gradient = new Float64Array(PARAMETER_COUNT);
  const network = new Lstm(WINDOW_COUNT);
  const adam = new Adam();
  const updates = epochs * Math.ceil(rows / batch);
  let update = 0;
  let best = { parameters, epoch: 0, mape: Number.POSITIVE_INFINITY };
  for (let epoch = 1; epoch <= epochs; epoch++) {
    shuffle(order, random);
    let loss = 0;
    for (let first = 0; first < rows; first += batch) {
      const end = Math.min(first + batch, rows);
      gradient.fill(0);
      for (let at = first; at < end; at++) {
        const row = order[at];
        const start = row * WINDOW_COUNT;
        loss += network.addGradient(parameters, data.inputs, start, data.targets[row], gradient);
      }
      for (let at = 0; at < gradient.length; at++) gradient[at] /= end - first;
      const rate = (learningRate * (1 + Math.cos((Math.PI * update) / updates))) / 2;
      adam.step(parameters, gradient, rate);
      update++;
    }
    const folded = unstandardised(parameters, data.input, data.output);
    const mape = errorOf(folded, selectionSet, scaling);
    tell(`${scaling} epoch ${epoch}: loss ${(loss / rows).toFixed(5)}, selection MAPE ${mape}`);
    if (mape < best.mape) best = { parameters: folded, epoch, mape };
  }
  return best;
}

/** The network's forecasts, requests per second, [rows]. */
export function forecastsOf(parameters, maxima, scaling) {
  const scales = scalesOf(maxima, scaling);
  const network = new Lstm(WINDOW_COUNT);
  const inputs = scaledMaxima(maxima, scales);
  return scales.map((scale, row) => scale * network.output(parameters, inputs, row * WINDOW_COUNT));
}

function errorOf(parameters, { maxima, peaks }, scaling) {
  const forecasts = forecastsOf(parameters, maxima, scaling);
  return (
    peaks.reduce((sum, peak, row) => sum + Math.abs(1 - forecasts[row] / peak), 0) / peaks.length
  );
}

/** Inputs and targets of mean 0 and deviation 1, and what they were before. */
function standardised({ maxima, peaks }, scaling) {
  const scales = scalesOf(maxima, scaling);
  const inputs = scaledMaxima(maxima, scales);
  const targets = peaks.map((peak, row) => peak / scales[row]);
  const input = momentsOf(inputs);
  const output = momentsOf(targets);
  const standard = (values, { mean, deviation }) => values.map((one) => (one - mean) / deviation);
  return { inputs: standard(inputs, input), targets: standard(targets, output), input, output };
}

function scaledMaxima(maxima, scales) {
  return maxima.map((qps, at) => qps / scales[Math.floor(at / WINDOW_COUNT)]);
}

function momentsOf(values) {
  const mean = values.reduce((sum, one) => sum + one, 0) / values.length;
  const square = values.reduce((sum, one) => sum + (one - mean) ** 2, 0) / values.length;
  return { mean, deviation: Math.sqrt(square) };
}

/** Fisher and Yates. */
function shuffle(order, random) {
  for (let at = order.length - 1; at > 0; at--) {
    const other = Math.floor(random() * (at + 1));
    [order[at], order[other]] = [order[other], order[at]];
  }
}
