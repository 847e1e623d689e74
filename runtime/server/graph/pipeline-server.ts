/** Serves a pipeline, all of whose tasks one server runs. */
import type { AssignedExecutor, AssignedExecutorHandlers } from "../../exec/executor.ts";
import {
  type CommonServerOptions,
  DEFAULT_LIMITS,
  openServer,
  type RunningServer,
} from "../serve.ts";
import type { PipelineBundle } from "./linked-tasks.ts";
import { PipelineEndpoint } from "./pipeline-endpoint.ts";
import type { PipelineRecorder } from "./pipeline-recording.ts";
import type { ServedPipeline } from "./served-pipeline.ts";

export interface PipelineServerOptions extends CommonServerOptions {
  readonly bundle: PipelineBundle;
  /** Makes the executor, whose workers may be ready at once. Called when the server listens. */
  readonly executorFactory: (
    handlers: AssignedExecutorHandlers,
  ) => AssignedExecutor | Promise<AssignedExecutor>;
  readonly recorder?: PipelineRecorder;
}

/**
 * As `openServer`. @param pipelineOf what serving the bundle needs of it, with room for so many
 * rows.
 * @throws RuntimeError RUNTIME_LISTEN if the address cannot be listened at, or what `pipelineOf`
 * throws.
 */
export function startPipelineServer(
  options: PipelineServerOptions,
  pipelineOf: (maxPending: number) => ServedPipeline,
): Promise<RunningServer> {
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  const { maxPending } = limits;
  const { executorFactory } = options;
  return openServer<AssignedExecutor, Required<AssignedExecutorHandlers>>(options, limits, {
    endpointOf: (onWorkerLost) => {
      const pipeline = pipelineOf(maxPending);
      return new PipelineEndpoint({ ...options, pipeline, maxPending, onWorkerLost });
    },
    executorFactory,
  });
}
