/** Calls when a dispatcher wants to be asked again. */
export class WakeTimer {
  readonly #onWake: () => void;
  #timer: NodeJS.Timeout | undefined;
  #wakeMs = Number.POSITIVE_INFINITY;

  constructor(onWake: () => void) {
    this.#onWake = onWake;
  }

  /** @param wakeMs the time to call at, infinite for never; it replaces the one before. */
  set(wakeMs: number, nowMs: number): void {
    if (wakeMs === this.#wakeMs) return;
    this.clear();
    this.#wakeMs = wakeMs;
    if (wakeMs === Number.POSITIVE_INFINITY) return;
    this.#timer = setTimeout(
      () => {
        this.#wakeMs = Number.POSITIVE_INFINITY;
        this.#onWake();
      },
      Math.ceil(wakeMs - nowMs),
    ).unref();
  }

  clear(): void {
    clearTimeout(this.#timer);
    this.#wakeMs = Number.POSITIVE_INFINITY;
  }
}
