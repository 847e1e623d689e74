/** Makes the dispatcher that a bundle asks for. */
import type { RamsisBundle } from "../../../bundle/schema.ts";
import { BoundDispatcher } from "./bound-dispatcher.ts";
import type { Dispatcher } from "./dispatcher.ts";
import { PooledDispatcher } from "./pooled-dispatcher.ts";
import type { PaceOptions } from "./workers.ts";

export interface DispatcherOptions extends PaceOptions {
  /** Whether every worker is up from the start; otherwise each is once it is reported ready. */
  readonly ready: boolean;
}

/**
 * The dispatcher of a validated bundle, one worker for each in its pools.
 * @throws Error if the bundle contradicts itself.
 */
export function dispatcherOf(
  bundle: RamsisBundle,
  options: DispatcherOptions = { ready: true },
): Dispatcher {
  const isPooled = bundle.policy.balancer === "pooled";
  return isPooled
    ? new PooledDispatcher(bundle, options.ready, options)
    : new BoundDispatcher(bundle, options.ready, options);
}
