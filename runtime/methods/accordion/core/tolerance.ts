/** By how little a moment may pass another and still be the same one. */

/**
 * Moments that are computed are sums of times that were measured: what misses a limit by less than
 * this, in ms, keeps it.
 */
export const TOLERANCE_MS = 1e-6;
