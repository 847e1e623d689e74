/** Errors of a system that is short of something now, and may have it later. */

const SHORTAGES = new Set(["EMFILE", "ENFILE", "EAGAIN", "ENOMEM"]);

/** Whether a call failed for lack of descriptors, processes or memory. */
export function isShortage(error: unknown): error is Error {
  return error instanceof Error && "code" in error && SHORTAGES.has(String(error.code));
}
