/** Repeats what others have disturbed, within a bound. */
import { disturbance, type PathWindow } from "./path-window.ts";

/** How much is measured of one kind. */
export interface WindowCounts {
  /** Windows that are wanted of a quiet machine. */
  readonly wanted: number;
  /** Windows that are taken at most. */
  readonly most: number;
  /** No window begins later, but the first. */
  readonly withinMs: number;
}

/** Part of the processors that others may take of a window before it is repeated. */
const QUIET_SHARE = 0.03;

/**
 * Takes windows until enough of them were quiet, or there are as many as there may be, or time is
 * over.
 * @returns the quietest that are wanted, in the order in which they were taken.
 */
export async function quietWindows<W extends Pick<PathWindow, "machine">>(
  take: () => Promise<W>,
  { wanted, most, withinMs }: WindowCounts,
  nowMs: () => number,
): Promise<W[]> {
  const startMs = nowMs();
  const windows: W[] = [];
  let quiet = 0;
  while (quiet < wanted && windows.length < most) {
    if (windows.length > 0 && nowMs() - startMs > withinMs) break;
    const window = await take();
    windows.push(window);
    if (disturbance(window.machine) <= QUIET_SHARE) quiet++;
  }
  const byNoise = [...windows.entries()].sort(([i, a], [j, b]) => {
    return disturbance(a.machine) - disturbance(b.machine) || i - j;
  });
  const kept = new Set(byNoise.slice(0, wanted).map(([index]) => index));
  return windows.filter((_, index) => kept.has(index));
}
