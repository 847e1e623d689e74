/** Hosts models that run as malleable pipelines, each under its own name. */
import type { AccordionBundle } from "../../../bundle/schema.ts";
import type { Executor, ExecutorHandlers } from "../../../exec/models/executor.ts";
import {
  type Application,
  type ApplicationOptions,
  applicationOf,
} from "../../../server/applications/application.ts";
import { DEFAULT_LIMITS } from "../../../server/applications/limits.ts";
import { AccordionEndpoint } from "./accordion-endpoint.ts";
import type { AccordionRecorder } from "./recording.ts";

/** Largest requests that may wait or run on execution places, at least. */
const PENDING = 64;

interface AccordionApplicationOptions extends ApplicationOptions {
  readonly bundle: AccordionBundle;
  /**
   * Makes the executor, all of whose workers hold all stage models. Called when the server
   * listens.
   */
  readonly executorFactory: (handlers: ExecutorHandlers) => Executor | Promise<Executor>;
  readonly recorder?: AccordionRecorder;
}

/**
 * @throws RuntimeError RUNTIME_MODEL if a model has no stages, or these do not make up the model.
 */
export function accordionApplication(options: AccordionApplicationOptions): Application {
  const { bundle, executorFactory } = options;
  return applicationOf<Executor, Required<ExecutorHandlers>>(options, {
    bundle,
    // A request of many rows is one query.
    maxPending: Math.max(DEFAULT_LIMITS.maxPending, PENDING * bundle.policy.maxBatch),
    endpointOf: (maxPending, onWorkerLost) =>
      new AccordionEndpoint({ ...options, maxPending, onWorkerLost }),
    executorFactory,
  });
}
