/** Times of logs. */

/**
 * Returns what to add to a monotonic clock for milliseconds since 1970, as the wall clock is now:
 * it follows steps of the wall clock, and is the same between them.
 * @param epochNowMs wall clock, in whole milliseconds. @param offsetMs at the start.
 */
export function wallOffset(
  nowMs: () => number,
  epochNowMs: () => number,
  offsetMs: number,
): () => number {
  let keptMs = offsetMs;
  return () => {
    const beforeMs = nowMs();
    const epochMs = epochNowMs();
    // The true one lies between these: the wall clock is read in between, and is rounded down.
    keptMs = Math.min(Math.max(keptMs, epochMs - nowMs()), epochMs + 1 - beforeMs);
    return keptMs;
  };
}

/** Formats a time by RFC 3339 with microseconds, which distinguish requests of one batch. */
export function timeText(epochMs: number): string {
  const wholeMs = Math.floor(epochMs);
  const micros = Math.floor((epochMs - wholeMs) * 1000);
  return `${new Date(wholeMs).toISOString().slice(0, -1)}${String(micros).padStart(3, "0")}Z`;
}
