/** Times of the last minutes as quantiles, and of all time as a count and a sum. */
import { TimeSketch } from "./time-sketch.ts";

/** Quantiles are over the last one to two of these. */
export const SPAN_MS = 300_000;

export class RecentTimes {
  /** Since the start. */
  count = 0;
  sumMs = 0;
  #now = new TimeSketch();
  #before = new TimeSketch();
  #sinceMs: number;

  constructor(nowMs: number) {
    this.#sinceMs = nowMs;
  }

  add(ms: number, nowMs: number): void {
    if (nowMs - this.#sinceMs >= SPAN_MS) this.#turn(nowMs);
    this.count++;
    this.sumMs += ms;
    this.#now.add(ms);
  }

  /**
   * Of the last 5 to 10 minutes. @param shares in (0, 1]. @returns ms; NaN where nothing ran in
   * that time.
   */
  quantiles(shares: readonly number[], nowMs: number): number[] {
    if (nowMs - this.#sinceMs >= SPAN_MS) this.#turn(nowMs);
    const all = new TimeSketch();
    all.merge(this.#now);
    all.merge(this.#before);
    return shares.map((share) => all.quantile(share));
  }

  #turn(nowMs: number): void {
    [this.#now, this.#before] = [this.#before, this.#now];
    this.#now.clear();
    // What is older than two spans is in neither.
    if (nowMs - this.#sinceMs >= 2 * SPAN_MS) this.#before.clear();
    this.#sinceMs = nowMs;
  }
}
