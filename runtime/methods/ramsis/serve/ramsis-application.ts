/** Hosts one model whose variants are chosen batch by batch. */
import type { RamsisBundle } from "../../../bundle/schema.ts";
import type { Executor, ExecutorHandlers } from "../../../exec/models/executor.ts";
import {
  type Application,
  type ApplicationOptions,
  applicationOf,
} from "../../../server/applications/application.ts";
import type { GenerateLevel } from "../../method.ts";
import { RamsisEndpoint } from "./ramsis-endpoint.ts";
import type { Recorder } from "./recorded-dispatcher.ts";

export interface RamsisApplicationOptions extends ApplicationOptions {
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

/** @throws RuntimeError RUNTIME_MODEL if the bundle's models do not fit together. */
export function ramsisApplication(options: RamsisApplicationOptions): Application {
  const { bundle, executorFactory } = options;
  return applicationOf<Executor, Required<ExecutorHandlers>>(options, {
    bundle,
    endpointOf: (maxPending, onWorkerLost) =>
      new RamsisEndpoint({ ...options, maxPending, onWorkerLost }),
    executorFactory,
  });
}
