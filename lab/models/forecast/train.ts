/**
 * Trains the LSTM on the first twelve days of the Twitter trace and writes it to runtime/models,
 * with models.json beside it. Usage: node dist/lab/models/forecast/train.js [COUNTS_FILE]
 * [MODEL_FOLDER]; without a file, the one in the folder STRATAGEM_REFERENCE.
 */
import { readFileSync } from "node:fs";
import path from "node:path";
import { InferenceSession, Tensor } from "onnxruntime-node";
import { HISTORY_BEATS } from "stratagem-runtime/internal/core/forecasters";
import { floatsOf } from "../../answers.ts";
import { fileFields, sha256Of, writeModels } from "../model-files.ts";
import { type ForecastFigures, figuresOf } from "./figures.ts";
import { fitLstm, forecastsOf, type Sample, TRAINING } from "./fit.ts";
import { UNITS } from "./lstm.ts";
import { lstmModelOf } from "./lstm-graph.ts";
import {
  DAYS,
  type Days,
  historiesAt,
  lastMaximaOf,
  maximaOf,
  peaksAfter,
  readCounts,
  TRACE_FILE,
  ticksOf,
} from "./trace.ts";

const STRIDE_SECONDS = 10;

const file = process.argv[2] ?? path.join(process.env["STRATAGEM_REFERENCE"] ?? "", TRACE_FILE);
const folder = process.argv[3] ?? path.join("runtime", "models");
const counts = readCounts(file);
const fitSet = setOf(DAYS.fit);
const selectionSet = setOf(DAYS.selection);
const training = setOf(DAYS.training);
const validation = setOf(DAYS.validation);

const chosen = fitLstm(fitSet, selectionSet, "history", console.log);
const fixed = fitLstm(fitSet, selectionSet, "fixed", console.log);
const model = { file: "lstm.onnx", content: lstmModelOf(chosen.parameters) };
const document = {
  task: "forecast",
  input: { name: "history", type: "float32", shape: ["batch", HISTORY_BEATS] },
  output: { name: "forecast", type: "float32", shape: ["batch", 1] },
  trace: {
    file: path.basename(file),
    sha256: sha256Of(readFileSync(file)),
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
      "history: maxima and peak as shares of the mean of the six maxima, " +
      "so that no load is built in",
    samples: fitSet.peaks.length,
    keptEpoch: chosen.epoch,
  },
  training12Days: measured(await answersOf(training), training),
  validation: measured(await answersOf(validation), validation),
  alternative: {
    scaling: "fixed: maxima and peak as they are",
    keptEpoch: fixed.epoch,
    validation: measured(forecastsOf(fixed.parameters, validation.maxima, "fixed"), validation),
  },
  models: [fileFields(model)],
};
writeModels(folder, [model], document);
console.log(JSON.stringify(document, null, 2));

function setOf(days: Days): Sample & { histories: Float64Array } {
  const ticks = ticksOf(counts, days, STRIDE_SECONDS);
  const histories = historiesAt(counts, ticks);
  return { histories, maxima: maximaOf(histories), peaks: peaksAfter(counts, ticks) };
}

/** Of the file itself. */
async function answersOf({ histories }: { histories: Float64Array }): Promise<Float32Array> {
  const session = await InferenceSession.create(model.content, { intraOpNumThreads: 1 });
  const dims = [histories.length / HISTORY_BEATS, HISTORY_BEATS];
  const history = new Tensor("float32", Float32Array.from(histories), dims);
  const forecasts = floatsOf(await session.run({ history }), "forecast");
  await session.release();
  return forecasts;
}

function measured(forecasts: ArrayLike<number>, { maxima, peaks }: Sample): ForecastFigures {
  return figuresOf(forecasts, peaks, lastMaximaOf(maxima));
}
