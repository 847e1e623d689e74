/**
 * Trains the LSTM on the first twelve days of the Twitter trace and writes it to runtime/models, with models.json beside it.
 * Usage: node tools/forecast/train.js [COUNTS_FILE] [MODEL_FOLDER]; without a file, the one in the folder STRATAGEM_REFERENCE.
 */
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { InferenceSession, Tensor } from "onnxruntime-node";
import { figuresOf } from "./figures.js";
import { fitLstm, forecastsOf, TRAINING } from "./fit.js";
import { UNITS } from "./lstm.js";
import { lstmModelOf } from "./lstm-graph.js";
import {
  DAYS,
  HISTORY_SECONDS,
  historiesAt,
  maximaOf,
  peaksAfter,
  readCounts,
  TRACE_FILE,
  ticksOf,
  WINDOW_COUNT,
} from "./trace.js";

const STRIDE_SECONDS = 10;

const reference = process.env.STRATAGEM_REFERENCE ?? "../shared/reference";
const file = process.argv[2] ?? path.join(reference, TRACE_FILE);
const folder = process.argv[3] ?? path.join("models", "forecast");
const counts = readCounts(file);
const fitSet = setOf(DAYS.fit);
const selectionSet = setOf(DAYS.selection);
const training = setOf(DAYS.training);
const validation = setOf(DAYS.validation);

const chosen = fitLstm(fitSet, selectionSet, "history", console.log);
const fixed = fitLstm(fitSet, selectionSet, "fixed", console.log);
const model = lstmModelOf(chosen.parameters);
const document = {
  task: "forecast",
  input: { name: "history", type: "float32", shape: ["batch", HISTORY_SECONDS] },
  output: { name: "forecast", type: "float32", shape: ["batch", 1] },
  trace: {
    file: path.basename(file),
    sha256: hashOf(readFileSync(file)),
    seconds: counts.length,
    days: DAYS,
    strideSeconds: STRIDE_SECONDS,
  },
  training: {
    ...TRAINING,
    units: UNITS,
    loss: "mean squared error",
    optimizer: "Adam, the learning rate falling to 0 along a cosine",
    scaling:
      "history: maxima and peak as shares of the mean of the six maxima, so that no load is built in",
    samples: fitSet.peaks.length,
    keptEpoch: chosen.epoch,
  },
  training12Days: measured(await answersOf(model, training), training),
  validation: measured(await answersOf(model, validation), validation),
  alternative: {
    scaling: "fixed: maxima and peak as they are",
    keptEpoch: fixed.epoch,
    validation: measured(forecastsOf(fixed.parameters, validation.maxima, "fixed"), validation),
  },
  models: [{ name: "lstm", file: "lstm.onnx", sha256: hashOf(model), bytes: model.length }],
};
writeFileSync(path.join(folder, "lstm.onnx"), model);
writeFileSync(path.join(folder, "models.json"), `${JSON.stringify(document, null, 2)}\n`);
console.log(JSON.stringify(document, null, 2));

function setOf(days) {
  const ticks = ticksOf(counts, days, STRIDE_SECONDS);
  const histories = historiesAt(counts, ticks);
  return { histories, maxima: maximaOf(histories), peaks: peaksAfter(counts, ticks) };
}

/** Of the file itself. */
async function answersOf(content, { histories }) {
  const session = await InferenceSession.create(content, { intraOpNumThreads: 1 });
  const dims = [histories.length / HISTORY_SECONDS, HISTORY_SECONDS];
  const history = new Tensor("float32", Float32Array.from(histories), dims);
  const { forecast } = await session.run({ history });
  await session.release();
  return forecast.data;
}

function measured(forecasts, { maxima, peaks }) {
  const last = peaks.map((_, row) => maxima[(row + 1) * WINDOW_COUNT - 1]);
  return figuresOf(forecasts, peaks, last);
}

function hashOf(content) {
  return createHash("sha256").update(content).digest("hex");
}
