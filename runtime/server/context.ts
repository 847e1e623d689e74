/** What the routes of the server share. */
import type { BodyLimits } from "./body.ts";
import type { Metrics } from "./metrics.ts";
import type { RequestReader } from "./request-reader.ts";
import type { Scheduler } from "./scheduler.ts";
import type { ServedPolicy } from "./served-policy.ts";
import type { ModelSignature } from "./signature.ts";

export interface HttpContext extends BodyLimits {
  readonly signature: ModelSignature;
  readonly requests: RequestReader;
  readonly scheduler: Scheduler;
  readonly policy: ServedPolicy;
  readonly metrics: Metrics;
  readonly version: string;
  readonly nowMs: () => number;
  readonly epochOffsetMs: number;
  /** Rows of one request at most. */
  readonly maxRows: number;
  readonly sloMs: number;
  readonly isDraining: () => boolean;
  /** Tells that an inference request is in the house, and that it has left. */
  readonly onInfer: (change: 1 | -1) => void;
}

export const RETRY_LATER = { "retry-after": "1" };

export function isReady({ isDraining, scheduler }: HttpContext): boolean {
  return !isDraining() && scheduler.readyWorkerCount === scheduler.workerCount;
}
