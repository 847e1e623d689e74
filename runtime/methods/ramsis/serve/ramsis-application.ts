/** Hosts one model whose variants are chosen batch by batch. */
import type { RamsisBundle } from "../../../bundle/schema.ts";
import type { Executor, ExecutorHandlers } from "../../../exec/executor.ts";
import {
  type Application,
  type ApplicationOptions,
  applicationOf,
} from "../../../server/applications/application.ts";
import { type Shadow, shadowOf, shadowRefusal } from "../../../server/feedback/shadow.ts";
import { signatureOf } from "../../../server/tensors/signature.ts";
import type { GenerateLevel } from "../../method.ts";
import { RamsisEndpoint } from "./ramsis-endpoint.ts";
import type { Recorder } from "./recording.ts";

export interface RamsisApplicationOptions extends ApplicationOptions {
  readonly bundle: RamsisBundle;
  /** Makes the executor, whose workers may be ready at once. Called when the server listens. */
  readonly executorFactory: (handlers: ExecutorHandlers) => Executor | Promise<Executor>;
  readonly recorder?: Recorder;
  /** Starts a worker that holds a single variant, by index; left out for no shadow runs. */
  readonly startShadow?: ((variant: number) => Promise<Executor>) | undefined;
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
    shadow: shadowIn(options),
  });
}

function shadowIn(options: RamsisApplicationOptions): Shadow | undefined {
  const { bundle, startShadow: start, shadowShare: share = 0, onNotice = () => {} } = options;
  if (share === 0 || start === undefined) return undefined;
  const refusal = shadowRefusal(bundle);
  if (refusal === null) return shadowOf({ share, signature: signatureOf(bundle), start, onNotice });
  onNotice(`no shadow runs of ${bundle.application}: ${refusal}`, "warn");
  return undefined;
}
