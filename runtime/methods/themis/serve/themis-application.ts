/** Hosts a pipeline whose plans set the number of instances of each task, and their cores. */
import type { ThemisBundle } from "../../../bundle/schema.ts";
import type { OnnxForecaster } from "../../../exec/onnx/onnx-forecaster.ts";
import type { Application } from "../../../server/applications/application.ts";
import {
  type PipelineApplicationOptions,
  pipelineApplication,
} from "../../../server/graph/pipeline-application.ts";
import type { AxisNames } from "../../../server/graph/signature/output-groups.ts";
import { openForecastModel } from "./forecast-model.ts";
import { themisPipeline } from "./themis-pipeline.ts";

interface ThemisApplicationOptions extends PipelineApplicationOptions {
  readonly bundle: ThemisBundle;
  /** Names of first dimensions, of each variant of all tasks. */
  readonly axisNames?: readonly AxisNames[];
  /**
   * Makes the forecasts of a bundle that has a model make them; the caller closes it, after the
   * server.
   */
  readonly forecaster?: Pick<OnnxForecaster, "forecast"> | undefined;
}

/**
 * @throws RuntimeError RUNTIME_MODEL if the bundle's models do not fit
 * together.
 */
export function themisApplication(options: ThemisApplicationOptions): Application {
  const { bundle, axisNames, forecaster, onNotice } = options;
  return pipelineApplication(options, (maxPending) =>
    themisPipeline(bundle, { maxPending, axisNames, forecaster, onNotice }),
  );
}

/**
 * Hosts an application like `themisApplication`, and opens and closes the model that makes the
 * bundle's forecasts if it has one.
 */
export async function foretoldApplication(options: ThemisApplicationOptions): Promise<Application> {
  if (options.bundle.policy.predictor !== "lstm") return themisApplication(options);
  const forecaster = await openForecastModel();
  const application = themisApplication({ ...options, forecaster });
  const close = application.close.bind(application);
  application.close = async () => {
    await close();
    await forecaster.close();
  };
  return application;
}
