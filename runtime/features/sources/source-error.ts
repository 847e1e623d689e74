/** Errors of sources, and the report of any error. */
import { RuntimeError } from "../../base/errors.ts";

/** The source is unreachable or has no bundle; a later attempt may succeed. */
export class AwayError extends RuntimeError {
  /** Requested time until the next attempt; null if not stated. */
  readonly retryAfterMs: number | null;

  constructor(message: string, retryAfterMs: number | null = null) {
    super("RUNTIME_SOURCE", message);
    this.retryAfterMs = retryAfterMs;
  }
}

export interface Fault {
  readonly code: string;
  readonly message: string;
}

/** Uses the system's error code for unforeseen errors. */
export function faultOf(error: unknown): Fault {
  if (!(error instanceof Error)) return { code: "RUNTIME_SOURCE", message: String(error) };
  const { code } = error as NodeJS.ErrnoException;
  return { code: code ?? "RUNTIME_SOURCE", message: error.message };
}

/** Errors of this machine, independent of the bundle. */
const OWN_FAULTS = new Set(["RUNTIME_STORE", "RUNTIME_SERIALS", "RUNTIME_UNWRITABLE"]);

/** Whether the error is temporary or local, so that it says nothing about the bundle. */
export function isPassing(error: unknown): boolean {
  if (error instanceof AwayError) return true;
  return error instanceof RuntimeError && OWN_FAULTS.has(error.code);
}
