/** Application of a pipeline whose tasks all run on one server. */
import type { AssignedExecutor, AssignedExecutorHandlers } from "../../exec/models/executor.ts";
import {
  type Application,
  type ApplicationOptions,
  applicationOf,
} from "../applications/application.ts";
import { PipelineEndpoint } from "./pipeline-endpoint.ts";
import type { PipelineRecorder } from "./pipeline-recording.ts";
import type { ServedPipeline } from "./served-pipeline.ts";
import type { PipelineBundle } from "./signature/linked-tasks.ts";

export interface PipelineApplicationOptions extends ApplicationOptions {
  readonly bundle: PipelineBundle;
  /** Makes the executor, whose workers may be ready at once. Called when the server listens. */
  readonly executorFactory: (
    handlers: AssignedExecutorHandlers,
  ) => AssignedExecutor | Promise<AssignedExecutor>;
  readonly recorder?: PipelineRecorder;
}

/**
 * @param pipelineOf returns the served pipeline with a capacity of that many rows.
 * @throws errors of `pipelineOf`.
 */
export function pipelineApplication(
  options: PipelineApplicationOptions,
  pipelineOf: (maxPending: number) => ServedPipeline,
): Application {
  const { bundle, executorFactory } = options;
  return applicationOf<AssignedExecutor, Required<AssignedExecutorHandlers>>(options, {
    bundle,
    endpointOf: (maxPending, onWorkerLost) => {
      const pipeline = pipelineOf(maxPending);
      return new PipelineEndpoint({ ...options, pipeline, maxPending, onWorkerLost });
    },
    executorFactory,
  });
}
