/** Serves a pipeline whose plans say how many instances of how many cores each task has. */
import type { ThemisBundle } from "../../../bundle/schema.ts";
import type { OnnxForecaster } from "../../../exec/onnx-forecaster.ts";
import {
  type PipelineServerOptions,
  startPipelineServer,
} from "../../../server/graph/pipeline-server.ts";
import type { RunningServer } from "../../../server/serve.ts";
import { openForecastModel } from "./forecast-model.ts";
import { themisPipeline } from "./themis-pipeline.ts";

export interface ThemisServerOptions extends PipelineServerOptions {
  readonly bundle: ThemisBundle;
  /**
   * Makes the forecasts of a bundle that has a model make them; the caller closes it, after the
   * server.
   */
  readonly forecaster?: Pick<OnnxForecaster, "forecast"> | undefined;
}

/**
 * @throws RuntimeError RUNTIME_LISTEN, or RUNTIME_MODEL if the bundle's models do not fit
 * together.
 */
export function startThemisServer(options: ThemisServerOptions): Promise<RunningServer> {
  const { bundle, forecaster, onNotice } = options;
  return startPipelineServer(options, (maxPending) =>
    themisPipeline(bundle, { maxPending, forecaster, onNotice }),
  );
}

/**
 * As `startThemisServer`, with the model that makes the bundle's forecasts opened and closed where
 * it has one.
 */
export async function startForetoldServer(options: ThemisServerOptions): Promise<RunningServer> {
  if (options.bundle.policy.predictor !== "lstm") return startThemisServer(options);
  const forecaster = await openForecastModel();
  const server = await startThemisServer({ ...options, forecaster });
  let closing: Promise<void> | undefined;
  const close = async () => {
    await server.close();
    await forecaster.close();
  };
  return {
    ...server,
    close: () => {
      closing ??= close();
      return closing;
    },
  };
}
