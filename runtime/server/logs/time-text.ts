/** Times of logs. */

/** Formats a time by RFC 3339 with microseconds, which distinguish requests of one batch. */
export function timeText(epochMs: number): string {
  const wholeMs = Math.floor(epochMs);
  const micros = Math.floor((epochMs - wholeMs) * 1000);
  return `${new Date(wholeMs).toISOString().slice(0, -1)}${String(micros).padStart(3, "0")}Z`;
}
