import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { type ForecastFigures, figuresOf } from "../../lab/models/forecast/figures.ts";
import { fitLstm, forecastsOf } from "../../lab/models/forecast/fit.ts";
import {
  initialParameters,
  Lstm,
  PARAMETER_COUNT,
  unstandardised,
} from "../../lab/models/forecast/lstm.ts";
import * as trace from "../../lab/models/forecast/trace.ts";
import * as core from "../../runtime/core/forecasters.ts";
import { Rng } from "../../runtime/core/rng.ts";
import { openOnnxForecaster } from "../../runtime/exec/onnx/onnx-forecaster.ts";
import { operatorsOf } from "../support/naive-lstm.ts";

const reference = process.env["STRATAGEM_REFERENCE"];
const folder = new URL("../../runtime/models/", import.meta.url);
const manifest: {
  trace: { sha256: string; days: typeof trace.DAYS; strideSeconds: number };
  training: { samples: number };
  validation: ForecastFigures;
  alternative: { validation: ForecastFigures };
  models: { file: string; sha256: string; bytes: number }[];
} = JSON.parse(readFileSync(new URL("models.json", folder), "utf8"));
const file = fileURLToPath(new URL("lstm.onnx", folder));
function randomOf(seed: number): () => number {
  const rng = new Rng(seed, 0);
  return () => rng.nextFloat();
}

const sha256 = (content: Uint8Array): string => createHash("sha256").update(content).digest("hex");

describe("runtime/models", () => {
  test("describes its file, whose network is an LSTM of 25 units and one dense unit", () => {
    const content = readFileSync(file);
    expect(manifest.models).toEqual([
      { name: "lstm", file: "lstm.onnx", sha256: sha256(content), bytes: content.length },
    ]);
    const operators = operatorsOf(content);
    expect(operators.filter((operator) => ["LSTM", "Gemm"].includes(operator))).toHaveLength(2);
    expect(PARAMETER_COUNT).toBe(4 * 25 * (1 + 25 + 1) + 25 + 1);
  });

  test("was trained on days that it is not measured on", () => {
    expect(manifest.trace.days).toEqual(trace.DAYS);
    expect(trace.DAYS.fit[1]).toBeLessThan(trace.DAYS.selection[0] ?? 0);
    expect(trace.DAYS.training[1]).toBeLessThan(trace.DAYS.validation[0] ?? 0);
  });

  test.skipIf(reference === undefined)(
    "forecasts as well as models.json says (skipped without STRATAGEM_REFERENCE)",
    async () => {
      const counts = trace.readCounts(path.join(reference ?? "", trace.TRACE_FILE));
      const ticks = trace.ticksOf(counts, trace.DAYS.validation, manifest.trace.strideSeconds);
      const histories = trace.historiesAt(counts, ticks);
      const maxima = trace.maximaOf(histories);
      const last = ticks.map((_, row) => maxima[6 * row + 5] ?? 0);
      const forecaster = await openOnnxForecaster(file);
      const forecasts = await forecaster.forecastAll(histories);
      await forecaster.close();
      const measured = figuresOf(forecasts, trace.peaksAfter(counts, ticks), last);
      const { count, mape, underShare, under } = manifest.validation;
      expect(measured.count).toBe(count);
      // Another processor may sum float32 in another order.
      expect(measured.mape).toBeCloseTo(mape, 5);
      expect(measured.under).toBeCloseTo(under, 5);
      expect(Math.abs(measured.underShare - underShare)).toBeLessThan(2e-3);
    },
  );
});

describe("the trace", () => {
  test("is seen through the runtime's windows", () => {
    const counts = Float64Array.from({ length: 200 }, (_, second) => (second * 37) % 101);
    const history = trace.historiesAt(counts, [150]);
    const windows = Array.from({ length: 6 }, (_, window) => core.windowMaximum(history, window));
    expect(Array.from(trace.maximaOf(history))).toEqual(windows);
    expect(Array.from(history)).toEqual(Array.from(counts.subarray(90, 150)));
    expect(trace.peaksAfter(counts, [150])[0]).toBe(Math.max(...counts.subarray(150, 160)));
  });

  test("is asked at no second whose windows touch ten seconds without requests", () => {
    const counts = new Float64Array(400).fill(5);
    counts.fill(0, 200, 210);
    counts.fill(0, 300, 309);
    const ticks = trace.ticksOf(counts, [1, 1], 1);
    const expected = Array.from({ length: 331 }, (_, at) => 60 + at).filter(
      (tick) => tick + 10 <= 200 || tick - 60 >= 210,
    );
    expect(ticks).toEqual(expected);
  });

  test("keeps to its days", () => {
    const counts = new Float64Array(3 * 86_400).fill(1);
    const ticks = trace.ticksOf(counts, [2, 2], 10);
    expect(ticks[0]).toBe(86_400 + 60);
    expect(ticks.at(-1)).toBe(2 * 86_400 - 10);
  });
});

test("figures tell what was too low from what was too high, and rises from the rest", () => {
  const { rises, ...all } = figuresOf(
    [80, 120, 100, 100],
    [100, 100, 200, 100],
    [90, 100, 100, 100],
  );
  expect(all.count).toBe(4);
  expect(all.mape).toBeCloseTo((0.2 + 0.2 + 0.5) / 4, 12);
  expect(all.underShare).toBe(0.5);
  expect(all.under).toBeCloseTo((0.2 + 0.5) / 4, 12);
  expect(all.over).toBeCloseTo(0.2 / 4, 12);
  expect(rises).toEqual({ count: 1, mape: 0.5, under: 0.5 });
});

describe("training", () => {
  const network = new Lstm(6);

  test("follows the gradient of the squared error, as small steps measure it", () => {
    const random = randomOf(5);
    const parameters = initialParameters(random);
    const inputs = Float64Array.from({ length: 6 }, () => 4 * random() - 2);
    const target = 0.7;
    const gradient = new Float64Array(PARAMETER_COUNT);
    const error = network.addGradient(parameters, inputs, 0, target, gradient);
    const squaredAt = (weights: Float64Array): number =>
      (network.output(weights, inputs, 0) - target) ** 2;
    expect(error).toBeCloseTo(squaredAt(parameters), 12);
    const step = 1e-5;
    for (let at = 0; at < PARAMETER_COUNT; at += 7) {
      const moved = (by: number): Float64Array =>
        parameters.map((weight, other) => (other === at ? weight + by : weight));
      const slope = (squaredAt(moved(step)) - squaredAt(moved(-step))) / (2 * step);
      // The second difference's error is of the order of step squared.
      expect(Math.abs((gradient[at] ?? Number.NaN) - slope)).toBeLessThan(1e-8);
    }
  });

  test("gives a network for what is not standardised that says the same", () => {
    const random = randomOf(6);
    const parameters = initialParameters(random);
    const input = { mean: 3, deviation: 0.5 };
    const output = { mean: -2, deviation: 7 };
    const raw = Float64Array.from({ length: 6 }, () => 2 + 2 * random());
    const standard = raw.map((value) => (value - input.mean) / input.deviation);
    const expected = output.mean + output.deviation * network.output(parameters, standard, 0);
    const folded = unstandardised(parameters, input, output);
    expect(network.output(folded, raw, 0)).toBeCloseTo(expected, 10);
  });

  test("learns what follows from the history, and learns the same again", () => {
    const random = randomOf(8);
    const rows = 400;
    const maxima = Float64Array.from({ length: 6 * rows }, () => 50 + 50 * random());
    const peaks = Float64Array.from({ length: rows }, (_, row) =>
      Math.max(1, 0.5 * (maxima[6 * row + 5] ?? 0) + 0.5 * (maxima[6 * row + 4] ?? 0)),
    );
    const set = { maxima, peaks };
    const training = { seed: 2, epochs: 8, batch: 16, learningRate: 0.01 };
    const first = fitLstm(set, set, "history", () => {}, training);
    expect(fitLstm(set, set, "history", () => {}, training)).toEqual(first);
    // What is off who only knows that a peak is about the mean of the windows.
    const errors = Array.from(peaks, (peak, row) => {
      const windows = maxima.subarray(6 * row, 6 * row + 6);
      return Math.abs(windows.reduce((sum, maximum) => sum + maximum) / 6 / peak - 1);
    });
    expect(first.mape).toBeLessThan(errors.reduce((sum, error) => sum + error) / rows / 3);
    const forecasts = forecastsOf(first.parameters, maxima, "history");
    const found = figuresOf(forecasts, peaks, peaks).mape;
    expect(found).toBeCloseTo(first.mape, 12);
  });
});
