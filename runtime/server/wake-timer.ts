/** Timer for the wake-up times that a dispatcher requests. */

/** Maximum delay of Node's timers. A longer or negative one ends at once with a warning. */
const LONGEST_MS = 2 ** 31 - 1;

/** May call too early; the callback then sets the next time. */
export class WakeTimer {
  readonly #onWake: () => void;
  #timer: NodeJS.Timeout | undefined;
  #wakeMs = Number.POSITIVE_INFINITY;

  constructor(onWake: () => void) {
    this.#onWake = onWake;
  }

  /**
   * @param wakeMs time of the call, infinite for never; it replaces the previous one. It may be
   * past.
   */
  set(wakeMs: number, nowMs: number): void {
    if (wakeMs === this.#wakeMs) return;
    // A timer that calls too early is cheaper than one for each event.
    if (this.#wakeMs < wakeMs && wakeMs < Number.POSITIVE_INFINITY) return;
    this.clear();
    this.#wakeMs = wakeMs;
    if (wakeMs === Number.POSITIVE_INFINITY) return;
    this.#timer = setTimeout(
      () => {
        this.#wakeMs = Number.POSITIVE_INFINITY;
        this.#onWake();
      },
      Math.min(Math.max(Math.ceil(wakeMs - nowMs), 0), LONGEST_MS),
    ).unref();
  }

  clear(): void {
    clearTimeout(this.#timer);
    this.#wakeMs = Number.POSITIVE_INFINITY;
  }
}
