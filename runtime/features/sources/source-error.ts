/** Why a source gave nothing, and what is told of any error. */
import { RuntimeError } from "../../base/errors.ts";

/** A source could not be asked, or has nothing, now: the same may be otherwise a moment later. */
export class AwayError extends RuntimeError {
  /** When it asked to be left alone until, ms from then; null where it did not say. */
  readonly retryAfterMs: number | null;

  constructor(message: string, retryAfterMs: number | null = null) {
    super("RUNTIME_SOURCE", message);
    this.retryAfterMs = retryAfterMs;
  }
}

/** An error for programs and for people. */
export interface Fault {
  readonly code: string;
  readonly message: string;
}

/** Of an unforeseen error the code is its system's. */
export function faultOf(error: unknown): Fault {
  if (!(error instanceof Error)) return { code: "RUNTIME_SOURCE", message: String(error) };
  const { code } = error as NodeJS.ErrnoException;
  return { code: code ?? "RUNTIME_SOURCE", message: error.message };
}

/** Of this machine, and of no bundle's. */
const OWN_FAULTS = new Set(["RUNTIME_STORE", "RUNTIME_SERIALS", "RUNTIME_UNWRITABLE"]);

/** Whether it says nothing against what the source has: that was not seen, or cannot be kept. */
export function isPassing(error: unknown): boolean {
  if (error instanceof AwayError) return true;
  return error instanceof RuntimeError && OWN_FAULTS.has(error.code);
}
