/** When a client sees nothing of a fault any more. */
import type { AskedRequest } from "./retrying-client.ts";

/** A window is bad where it has more requests that failed than this. */
const TOLERATED_SHARE = 0.1;
const WINDOW_MS = 1000;
const STEP_MS = 100;

/**
 * Time from a moment to the end of the last bad window after it: one second in which more than a
 * tenth of the requests that were sent had no answer in time. @param untilMs when looking ends, on
 * the clock of `sentMs`. @returns ms; 0 where no window is bad, null where the last one still is.
 */
export function timeToNormalMs(
  asked: readonly AskedRequest[],
  fromMs: number,
  untilMs: number,
  sloMs: number,
): number | null {
  const own = asked.filter(({ sentMs }) => sentMs >= fromMs && sentMs < untilMs);
  let normalMs = 0;
  for (let atMs = fromMs; atMs + WINDOW_MS <= untilMs; atMs += STEP_MS) {
    const window = own.filter(({ sentMs }) => sentMs >= atMs && sentMs < atMs + WINDOW_MS);
    if (!isBad(window, sloMs)) continue;
    // What was sent last without an answer in time is where it ended.
    const last = window.findLast((one) => !isGood(one, sloMs));
    normalMs = Math.max(normalMs, (last?.sentMs ?? atMs) - fromMs);
  }
  return normalMs > untilMs - fromMs - WINDOW_MS ? null : normalMs;
}

/** Whether it was answered within the SLO, all attempts counted. */
export function isGood({ fate, latencyMs }: AskedRequest, sloMs: number): boolean {
  return fate === "answered" && latencyMs <= sloMs;
}

function isBad(window: readonly AskedRequest[], sloMs: number): boolean {
  const bad = window.filter((one) => !isGood(one, sloMs)).length;
  return bad > TOLERATED_SHARE * window.length;
}
