/**
 * When queries that are late anyway are served, by how much of the workers' time they take.
 *
 * At once while more than half of the workers are idle. Otherwise they get a small share of the
 * workers' time, whatever their number: under overload a worker that serves them is missing to
 * queries that can still be in time.
 */

/** Share of the workers' time, while half of the workers are busy. */
const LATE_SHARE = 0.002;

export class LatePause {
  #untilMs = Number.NEGATIVE_INFINITY;

  /** @returns when the next late batch may start, at `nowMs` or later. */
  endMs(idleCount: number, upCount: number, nowMs: number): number {
    return 2 * idleCount > upCount ? nowMs : Math.max(nowMs, this.#untilMs);
  }

  /** A late batch was started. @param upCount workers, at least one. */
  begin(serviceMs: number, upCount: number, nowMs: number): void {
    this.#untilMs = nowMs + serviceMs / (LATE_SHARE * upCount);
  }
}
