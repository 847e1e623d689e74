/** Averages a value over time. */
export interface MeanAndMax {
  readonly mean: number;
  readonly max: number;
}

/**
 * A value that holds until it changes, from time 0. A value that holds for no time does not count
 * for the maximum.
 */
export class TimeWeighted {
  value = 0;
  #max = 0;
  #sum = 0;
  #sinceMs = 0;

  add(change: number, nowMs: number): void {
    this.#pass(nowMs);
    this.value += change;
  }

  over(durationMs: number): MeanAndMax {
    if (this.#sinceMs === 0) return { mean: this.value, max: this.value };
    this.#pass(durationMs);
    return { mean: this.#sum / durationMs, max: this.#max };
  }

  #pass(nowMs: number): void {
    if (nowMs <= this.#sinceMs) return;
    this.#sum += this.value * (nowMs - this.#sinceMs);
    this.#sinceMs = nowMs;
    if (this.value > this.#max) this.#max = this.value;
  }
}
