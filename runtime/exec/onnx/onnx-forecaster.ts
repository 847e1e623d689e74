/** Runs a forecaster that is an ONNX model. */
import { assert } from "../../core/assert.ts";
import {
  HISTORY_BEATS,
  WINDOW_BEATS,
  WINDOW_COUNT,
  windowMaximum,
} from "../../core/forecasters.ts";
import { wholeModel } from "../files/whole-model.ts";
import { InferenceSession as Sessions, Tensor } from "../tensors/onnxruntime.ts";

const INPUT = "history";
const OUTPUT = "forecast";
/** Rows of one run: 1 MB of input. */
const MAX_ROWS = 4096;

export interface OnnxForecaster {
  /**
   * Forecasts like `Forecaster.forecast`: the most requests of a beat among the next ten; NaN if
   * nothing is known.
   * @throws Error after `close`.
   */
  forecast(perBeat: Float64Array): Promise<number>;
  /** Forecasts many rows. @param histories [rows, HISTORY_BEATS]. @returns [rows]. */
  forecastAll(histories: Float64Array): Promise<Float64Array>;
  /** Frees its memory. */
  close(): Promise<void>;
}

/**
 * Opens a forecaster that is an ONNX model, from `history` float32 [batch, 60] to `forecast`
 * float32 [batch, 1], on one thread. Unknown beats are filled in before the model runs: from the
 * known beats of their window, else from the next known window, else from the last known one.
 * @throws Error naming the path if it is not such a model.
 */
export async function openOnnxForecaster(path: string): Promise<OnnxForecaster> {
  const session = await open(path);
  const forecastAll = async (histories: Float64Array): Promise<Float64Array> => {
    assert(histories.length % HISTORY_BEATS === 0, "every history is of 60 beats");
    const forecasts = new Float64Array(histories.length / HISTORY_BEATS);
    for (let first = 0; first < forecasts.length; first += MAX_ROWS) {
      const end = Math.min(first + MAX_ROWS, forecasts.length);
      const rows = histories.subarray(first * HISTORY_BEATS, end * HISTORY_BEATS);
      forecasts.set(await runOnce(session, rows), first);
    }
    return forecasts;
  };
  return {
    forecast: async (perBeat) => {
      assert(perBeat.length === HISTORY_BEATS, "the history is of 60 beats");
      return (await forecastAll(perBeat))[0] ?? Number.NaN;
    },
    forecastAll,
    close: () => session.release(),
  };
}

/** Forecasts the rows of one run. */
async function runOnce(session: Sessions, histories: Float64Array): Promise<Float64Array> {
  const rows = histories.length / HISTORY_BEATS;
  const isKnown = new Uint8Array(rows);
  const history = new Tensor("float32", known(histories, isKnown), [rows, HISTORY_BEATS]);
  const answer = await session.run({ [INPUT]: history });
  const forecasts = answer[OUTPUT]?.data;
  assert(forecasts instanceof Float32Array && forecasts.length === rows, "a forecast of each row");
  return Float64Array.from(forecasts, (qps, row) => (isKnown[row] === 1 ? qps : Number.NaN));
}

async function sessionOf(path: string): Promise<Sessions> {
  try {
    return await Sessions.create(await wholeModel(path), {
      executionProviders: ["cpu"],
      intraOpNumThreads: 1,
      interOpNumThreads: 1,
    });
  } catch (error) {
    throw new Error(`${path}: ${error instanceof Error ? error.message : error}`);
  }
}

async function open(path: string): Promise<Sessions> {
  const session = await sessionOf(path);
  const inputs = session.inputMetadata.map(signatureOf).join();
  const outputs = session.outputMetadata.map(signatureOf).join();
  if (inputs !== `${INPUT} float32 *,${HISTORY_BEATS}` || outputs !== `${OUTPUT} float32 *,1`) {
    await session.release();
    const expected = `${INPUT} float32 [batch, ${HISTORY_BEATS}] to ${OUTPUT} float32 [batch, 1]`;
    throw new Error(`${path}: expected a forecaster, ${expected}; got ${inputs} to ${outputs}`);
  }
  return session;
}

function signatureOf(value: Sessions.ValueMetadata): string {
  if (!value.isTensor) return `${value.name} (not a tensor)`;
  const shape = value.shape.map((size) => (typeof size === "number" ? size : "*"));
  return `${value.name} ${value.type} ${shape.join()}`;
}

/** Returns the histories without gaps; sets `isKnown` to 1 for rows with a known beat. */
function known(histories: Float64Array, isKnown: Uint8Array): Float32Array {
  const filled = Float32Array.from(histories);
  for (let row = 0; row < isKnown.length; row++) {
    const start = row * HISTORY_BEATS;
    const history = histories.subarray(start, start + HISTORY_BEATS);
    if (!history.some(Number.isNaN)) {
      isKnown[row] = 1;
      continue;
    }
    isKnown[row] = fill(history, filled.subarray(start, start + HISTORY_BEATS)) ? 1 : 0;
  }
  return filled;
}

/** Returns whether anything is known. */
function fill(history: Float64Array, filled: Float32Array): boolean {
  let next = Number.NaN;
  for (let window = WINDOW_COUNT - 1; window >= 0; window--) {
    const maximum = windowMaximum(history, window);
    if (!Number.isNaN(maximum)) next = maximum;
    fillWindow(filled, window, next);
  }
  // Unknown beats after the last known window are filled from before it.
  let last = next;
  for (let window = 0; window < WINDOW_COUNT; window++) {
    const maximum = windowMaximum(history, window);
    if (!Number.isNaN(maximum)) last = maximum;
    fillWindow(filled, window, last);
  }
  return !Number.isNaN(next);
}

/** Changes only beats that are still unknown. */
function fillWindow(filled: Float32Array, window: number, qps: number): void {
  const end = (window + 1) * WINDOW_BEATS;
  for (let beat = end - WINDOW_BEATS; beat < end; beat++) {
    if (Number.isNaN(filled[beat])) filled[beat] = qps;
  }
}
