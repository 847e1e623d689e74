/** Serves a pipeline whose plans say which path a request takes. */
import type { LokiBundle } from "../../../bundle/schema.ts";
import type { AxisNames } from "../../../server/graph/output-groups.ts";
import {
  type PipelineServerOptions,
  startPipelineServer,
} from "../../../server/graph/pipeline-server.ts";
import type { RunningServer } from "../../../server/serve.ts";
import { lokiPipeline } from "./loki-pipeline.ts";

export interface LokiServerOptions extends PipelineServerOptions {
  readonly bundle: LokiBundle;
  /**
   * Names of first dimensions, of each variant of all tasks; needed where a row becomes several.
   */
  readonly axisNames?: readonly AxisNames[];
}

/**
 * @throws RuntimeError RUNTIME_LISTEN, or RUNTIME_MODEL if the bundle's models do not fit
 * together.
 */
export function startLokiServer(options: LokiServerOptions): Promise<RunningServer> {
  const { bundle, axisNames } = options;
  return startPipelineServer(options, (maxPending) => lokiPipeline(bundle, axisNames, maxPending));
}
