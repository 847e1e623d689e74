/** What the routes of the server share. */
import type { BodyLimits } from "./body.ts";
import type { Endpoint } from "./endpoint.ts";
import type { RequestReader } from "./request-reader.ts";

export interface HttpContext extends BodyLimits {
  readonly endpoint: Endpoint;
  readonly requests: RequestReader;
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

export function isReady({ isDraining, endpoint }: HttpContext): boolean {
  return !isDraining() && endpoint.isReady;
}
