/** Hosts a pipeline whose plans decide the path of each request. */
import type { LokiBundle } from "../../../bundle/schema.ts";
import type { Application } from "../../../server/applications/application.ts";
import {
  type PipelineApplicationOptions,
  pipelineApplication,
} from "../../../server/graph/pipeline-application.ts";
import type { AxisNames } from "../../../server/graph/signature/output-groups.ts";
import { lokiPipeline } from "./loki-pipeline.ts";

interface LokiApplicationOptions extends PipelineApplicationOptions {
  readonly bundle: LokiBundle;
  /**
   * Names of first dimensions, of each variant of all tasks; needed where a row becomes several.
   */
  readonly axisNames?: readonly AxisNames[];
}

/**
 * @throws RuntimeError RUNTIME_MODEL if the bundle's models do not fit
 * together.
 */
export function lokiApplication(options: LokiApplicationOptions): Application {
  const { bundle, axisNames } = options;
  return pipelineApplication(options, (maxPending) => lokiPipeline(bundle, axisNames, maxPending));
}
