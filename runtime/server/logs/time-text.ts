/** Times of logs. */

/** As RFC 3339 has it, to the microsecond: what ran in one batch is told apart by it. */
export function timeText(epochMs: number): string {
  const wholeMs = Math.floor(epochMs);
  const micros = Math.floor((epochMs - wholeMs) * 1000);
  return `${new Date(wholeMs).toISOString().slice(0, -1)}${String(micros).padStart(3, "0")}Z`;
}
