/** Serves one model whose variants are chosen batch by batch. */
import type { RamsisBundle } from "../../../bundle/schema.ts";
import type { Executor, ExecutorHandlers } from "../../../exec/executor.ts";
import {
  type CommonServerOptions,
  DEFAULT_LIMITS,
  openServer,
  type RunningServer,
} from "../../../server/serve.ts";
import type { GenerateLevel } from "../../method.ts";
import { RamsisEndpoint } from "./ramsis-endpoint.ts";
import type { Recorder } from "./recording.ts";

export interface RamsisServerOptions extends CommonServerOptions {
  readonly bundle: RamsisBundle;
  /** Makes the executor, whose workers may be ready at once. Called when the server listens. */
  readonly executorFactory: (handlers: ExecutorHandlers) => Executor | Promise<Executor>;
  readonly recorder?: Recorder;
  /**
   * Computes a level when the load stays above the highest one; without it the top level decides
   * there.
   */
  readonly generateLevel?: GenerateLevel | undefined;
}

/**
 * As `openServer`. @throws RuntimeError RUNTIME_LISTEN if the address cannot be listened at,
 * RUNTIME_MODEL if the bundle's models do not fit together.
 */
export function startRamsisServer(options: RamsisServerOptions): Promise<RunningServer> {
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  const { maxPending } = limits;
  const { executorFactory } = options;
  return openServer(options, limits, {
    endpointOf: (onWorkerLost) => new RamsisEndpoint({ ...options, maxPending, onWorkerLost }),
    executorFactory,
  });
}
