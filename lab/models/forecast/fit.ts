/** Trains the network: scaling, minibatches, and which epoch is kept. */
import { WINDOW_COUNT } from "stratagem-runtime/internal/core/forecasters";
import { type RandomSource, randomSource } from "../letters.ts";
import {
  Adam,
  initialParameters,
  Lstm,
  type Moments,
  PARAMETER_COUNT,
  unstandardised,
} from "./lstm.ts";

interface Training {
  readonly seed: number;
  readonly epochs: number;
  readonly batch: number;
  readonly learningRate: number;
}

/** How the network is trained. */
export const TRAINING: Training = { seed: 1, epochs: 10, batch: 64, learningRate: 0.002 };

/**
 * What the network is fed with, and asked for: maxima and peak as a share of the maxima's mean
 * (`history`), so that it knows no load, or as they are (`fixed`).
 */
export type Scaling = "history" | "fixed";

export interface Sample {
  /** [rows, WINDOW_COUNT] */
  readonly maxima: Float64Array;
  /** [rows] */
  readonly peaks: Float64Array;
}

/** Parameters of a network from scaled maxima to the scaled peak, their epoch and their error. */
interface Fitted {
  readonly parameters: Float64Array;
  readonly epoch: number;
  readonly mape: number;
}

/** What each row is divided by, [rows]. */
function scalesOf(maxima: Float64Array, scaling: Scaling): Float64Array {
  return Float64Array.from({ length: maxima.length / WINDOW_COUNT }, (_, row) => {
    if (scaling === "fixed") return 1;
    const windows = maxima.subarray(row * WINDOW_COUNT, (row + 1) * WINDOW_COUNT);
    return windows.reduce((sum, qps) => sum + qps, 0) / WINDOW_COUNT;
  });
}

/**
 * Trains on one set and keeps the epoch with the least error on the other. The learning rate falls
 * to 0 along a cosine. @param tell is told a line for each epoch.
 */
export function fitLstm(
  fitSet: Sample,
  selectionSet: Sample,
  scaling: Scaling,
  tell: (line: string) => void,
  training = TRAINING,
): Fitted {
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
  let best: Fitted = { parameters, epoch: 0, mape: Number.POSITIVE_INFINITY };
  for (let epoch = 1; epoch <= epochs; epoch++) {
    shuffle(order, random);
    let loss = 0;
    for (let first = 0; first < rows; first += batch) {
      const end = Math.min(first + batch, rows);
      gradient.fill(0);
      for (let at = first; at < end; at++) {
        const row = order[at] ?? 0;
        const start = row * WINDOW_COUNT;
        const target = data.targets[row] ?? 0;
        loss += network.addGradient(parameters, data.inputs, start, target, gradient);
      }
      for (const [at, sum] of gradient.entries()) gradient[at] = sum / (end - first);
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
export function forecastsOf(
  parameters: Float64Array,
  maxima: Float64Array,
  scaling: Scaling,
): Float64Array {
  const scales = scalesOf(maxima, scaling);
  const network = new Lstm(WINDOW_COUNT);
  const inputs = scaledMaxima(maxima, scales);
  return scales.map((scale, row) => scale * network.output(parameters, inputs, row * WINDOW_COUNT));
}

function errorOf(parameters: Float64Array, { maxima, peaks }: Sample, scaling: Scaling): number {
  const forecasts = forecastsOf(parameters, maxima, scaling);
  const errors = peaks.map((peak, row) => Math.abs(1 - (forecasts[row] ?? 0) / peak));
  return errors.reduce((sum, error) => sum + error, 0) / peaks.length;
}

/** Inputs and targets of mean 0 and deviation 1, and what they were before. */
function standardised({ maxima, peaks }: Sample, scaling: Scaling) {
  const scales = scalesOf(maxima, scaling);
  const inputs = scaledMaxima(maxima, scales);
  const targets = peaks.map((peak, row) => peak / (scales[row] ?? 1));
  const input = momentsOf(inputs);
  const output = momentsOf(targets);
  const standard = (values: Float64Array, { mean, deviation }: Moments) =>
    values.map((one) => (one - mean) / deviation);
  return { inputs: standard(inputs, input), targets: standard(targets, output), input, output };
}

function scaledMaxima(maxima: Float64Array, scales: Float64Array): Float64Array {
  return maxima.map((qps, at) => qps / (scales[Math.floor(at / WINDOW_COUNT)] ?? 1));
}

function momentsOf(values: Float64Array): Moments {
  const mean = values.reduce((sum, one) => sum + one, 0) / values.length;
  const square = values.reduce((sum, one) => sum + (one - mean) ** 2, 0) / values.length;
  return { mean, deviation: Math.sqrt(square) };
}

/** Fisher and Yates. */
function shuffle(order: Uint32Array, random: RandomSource): void {
  for (let at = order.length - 1; at > 0; at--) {
    const other = Math.floor(random() * (at + 1));
    [order[at], order[other]] = [order[other] ?? 0, order[at] ?? 0];
  }
}
