/**
 * Forecasts of the LSTM for a simulation, which cannot wait for a model: computed in advance from
 * the requests that it will see.
 */
import type { ThemisBundle } from "stratagem-runtime/internal/bundle/schema";
import { beatMsOf } from "stratagem-runtime/internal/core/beat";
import { taskGraphOf } from "stratagem-runtime/internal/core/graph/task-graph";
import { openForecastModel } from "stratagem-runtime/internal/methods/themis/serve/forecast-model";
import { requestsOf } from "../../simulate/graph/arriving-requests.ts";
import { pollHistories } from "./simulate/poll-histories.ts";
import type { ThemisSimulationOptions } from "./simulate/simulate.ts";

/**
 * Returns forecasts by poll; undefined for a predictor that is part of the core.
 * @throws RuntimeError RUNTIME_MODEL if the model cannot be opened.
 */
export async function pollForecasts(
  bundle: ThemisBundle,
  { arrivals, durationMs, seed }: Pick<ThemisSimulationOptions, "arrivals" | "durationMs" | "seed">,
): Promise<Float64Array | undefined> {
  const { predictor, tickMs } = bundle.policy;
  if (predictor !== "lstm") return undefined;
  const { arrivalMs } = requestsOf(taskGraphOf(bundle), arrivals, durationMs, seed);
  const beatMs = beatMsOf(bundle.slo);
  const { perBeat } = pollHistories(arrivalMs, { tickMs, beatMs }, durationMs);
  const model = await openForecastModel();
  try {
    return (await model.forecastAll(perBeat)).map((count) => (1000 * count) / beatMs);
  } finally {
    await model.close();
  }
}
