/** Limits of a server, with their defaults. */
import { DEFAULT_MAX_PENDING } from "../../core/admission.ts";
import type { PaceLimits } from "../bodies/body.ts";
import type { HeadLimits } from "../connections/connection.ts";
import type { ConnectionLimits } from "../connections/connections.ts";

export interface ServerLimits extends ConnectionLimits, HeadLimits, PaceLimits {
  /**
   * Limit of a request's body, compressed and uncompressed, where its model's shapes could need
   * more.
   */
  readonly maxBodyBytes: number;
  /** Limit of the bodies and tensors of all unanswered requests together. */
  readonly maxBytesInFlight: number;
  /** Rows of one request, where its model has no limit of its own. */
  readonly maxRows: number;
  /** Rows of an application's requests that wait or run. */
  readonly maxPending: number;
  /** Open sequences at a time, of a model that keeps state. */
  readonly maxSequences: number;
  /** Bytes of the states of all of them. */
  readonly maxSequenceBytes: number;
  /** Time after which a sequence without requests ends. */
  readonly sequenceIdleMs: number;
  /** Time for which `close` keeps serving, although the server reports that it is not ready. */
  readonly drainDelayMs: number;
  /** Time for which `close` then waits for open requests. */
  readonly drainTimeoutMs: number;
}

export const DEFAULT_LIMITS: ServerLimits = {
  maxBodyBytes: 64 * 2 ** 20,
  maxBytesInFlight: 512 * 2 ** 20,
  maxRows: 64,
  maxPending: DEFAULT_MAX_PENDING,
  maxSequences: 4096,
  maxSequenceBytes: 64 * 2 ** 20,
  sequenceIdleMs: 60_000,
  maxConnections: 4096,
  maxPipelined: 64,
  maxHeaderBytes: 16 * 2 ** 10,
  maxHeaderFields: 256,
  headerTimeoutMs: 10_000,
  bodyTimeoutMs: 30_000,
  bodyWindowMs: 5000,
  minBodyBytesPerS: 1024,
  sendTimeoutMs: 10_000,
  maxUnsentBytes: 256 * 2 ** 20,
  maxUnsentBytesPerConnection: 64 * 2 ** 20,
  idleTimeoutMs: 60_000,
  lingerMs: 1000,
  drainDelayMs: 0,
  drainTimeoutMs: 30_000,
};
