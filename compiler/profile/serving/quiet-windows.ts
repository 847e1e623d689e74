/** Repeats windows that other processes disturbed, within limits. */
import { disturbance, type PathWindow } from "./path-window.ts";

/** Number of windows of one kind. */
export interface WindowCounts {
  readonly wanted: number;
  /** Most windows to measure. */
  readonly most: number;
  /** Time after which no window begins, except the first. */
  readonly withinMs: number;
}

/** Share of the processors used by others above which a window is repeated. */
const QUIET_SHARE = 0.03;

/**
 * Measures windows until enough were quiet, or the count or time limit is reached.
 * @returns the quietest `wanted` ones, in order.
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
