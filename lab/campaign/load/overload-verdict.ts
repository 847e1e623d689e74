/** What of an overload was not as it should be. */
import { countOf, type PhaseReport, WINDOW_MS } from "./report.ts";

/** Goodput under overload, of that at capacity. */
export const GOODPUT_SHARE = 0.95;
/** p99 of accepted requests, of the SLO. */
export const ACCEPTED_SHARE = 1.1;
/** p99 of the answers that say no. */
export const SHED_MS = 20;
export const RECOVERY_MS = 2000;
/** A generator later than this was the limit, and the claim is about the load it reached. */
const LAG_MS = 10;
/** Of a window, how many may be late or refused below capacity. */
const STRAY_SHARE = 0.05;

export function goodputQps({ good, seconds }: PhaseReport): number {
  return good / seconds;
}

export function isGeneratorLate({ lagMs, sent, due }: PhaseReport): boolean {
  return lagMs.p99 > LAG_MS || sent < 0.99 * due;
}

/** What an overload phase missed, in words. */
export function overloadMisses(
  atCapacity: PhaseReport,
  over: PhaseReport,
  sloMs: number,
): string[] {
  const misses: string[] = [];
  const share = goodputQps(over) / goodputQps(atCapacity);
  if (!(share >= GOODPUT_SHARE)) misses.push(`goodput ${percent(share)} of that at capacity`);
  const { p99 } = over.acceptedMs;
  if (!(p99 <= ACCEPTED_SHARE * sloMs)) misses.push(`p99 of accepted ${p99.toFixed(0)} ms`);
  const shed = over.shedMs.p99;
  if (shed > SHED_MS) misses.push(`p99 of refusals ${shed.toFixed(1)} ms`);
  for (const fate of Object.keys(over.byStatus)) {
    if (fate === "200" || fate === "429" || fate === "503") continue;
    misses.push(`${countOf(over, fate)} requests with the fate ${fate}`);
  }
  return misses;
}

/**
 * From the start of a phase to the end of the last window in which more than a few were not good,
 * ms.
 */
export function recoveryMs({ badByWindow, sentByWindow }: PhaseReport): number {
  const last = badByWindow.findLastIndex(
    (bad, window) => bad > Math.max(1, STRAY_SHARE * (sentByWindow[window] ?? 0)),
  );
  return (last + 1) * WINDOW_MS;
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}
