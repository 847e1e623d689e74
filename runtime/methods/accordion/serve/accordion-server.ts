/** Serves models that run as malleable pipelines, each under its own name. */
import type { AccordionBundle } from "../../../bundle/schema.ts";
import type { Executor, ExecutorHandlers } from "../../../exec/executor.ts";
import {
  type CommonServerOptions,
  DEFAULT_LIMITS,
  openServer,
  type RunningServer,
} from "../../../server/serve.ts";
import { AccordionEndpoint } from "./accordion-endpoint.ts";
import type { AccordionRecorder } from "./recording.ts";

/** Largest requests that may wait or run on execution places, at least. */
const PENDING = 64;

export interface AccordionServerOptions extends CommonServerOptions {
  readonly bundle: AccordionBundle;
  /**
   * Makes the executor, all of whose workers hold all stage models. Called when the server
   * listens.
   */
  readonly executorFactory: (handlers: ExecutorHandlers) => Executor | Promise<Executor>;
  readonly recorder?: AccordionRecorder;
}

/**
 * As `openServer`. @throws RuntimeError RUNTIME_LISTEN if the address cannot be listened at,
 * RUNTIME_MODEL if a model has no stages, or these do not make up the model.
 */
export function startAccordionServer(options: AccordionServerOptions): Promise<RunningServer> {
  // A request of many rows is one query.
  const least = Math.max(DEFAULT_LIMITS.maxPending, PENDING * options.bundle.policy.maxBatch);
  const limits = { ...DEFAULT_LIMITS, maxPending: least, ...options.limits };
  const { maxPending } = limits;
  const { executorFactory } = options;
  return openServer(options, limits, {
    endpointOf: (onWorkerLost) => new AccordionEndpoint({ ...options, maxPending, onWorkerLost }),
    executorFactory,
  });
}
