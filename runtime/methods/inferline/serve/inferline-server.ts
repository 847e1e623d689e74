/** Serves a pipeline whose plans say what each task runs on. */
import type { InferlineBundle } from "../../../bundle/schema.ts";
import {
  type PipelineServerOptions,
  startPipelineServer,
} from "../../../server/graph/pipeline-server.ts";
import type { RunningServer } from "../../../server/serve.ts";
import { inferlinePipeline } from "./inferline-pipeline.ts";

export interface InferlineServerOptions extends PipelineServerOptions {
  readonly bundle: InferlineBundle;
}

/**
 * @throws RuntimeError RUNTIME_LISTEN, or RUNTIME_MODEL if the bundle's models do not fit
 * together.
 */
export function startInferlineServer(options: InferlineServerOptions): Promise<RunningServer> {
  return startPipelineServer(options, (maxPending) =>
    inferlinePipeline(options.bundle, maxPending),
  );
}
