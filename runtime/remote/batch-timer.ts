/** Time limit of a batch on a remote worker. */
import type { BatchPace, TimedBatch } from "../exec/limits/batch-pace.ts";
import { LONGEST_TIMER_MS } from "../exec/limits/worker-limits.ts";

/** Delay of a timer that shows that this process itself was blocked. */
const HELD_UP_MS = 50;

export class BatchTimer {
  readonly #pace: BatchPace;
  readonly #timed: TimedBatch;
  readonly #onHung: (limitMs: number) => void;
  #sinceMs = performance.now();
  #timer: NodeJS.Timeout | undefined;
  #isOver = false;

  /** @param onHung called once, unless the batch is answered or ended before. */
  constructor(pace: BatchPace, timed: TimedBatch, onHung: (limitMs: number) => void) {
    this.#pace = pace;
    this.#timed = timed;
    this.#onHung = onHung;
    this.#wait(this.leftMs());
  }

  leftMs(): number {
    const nowMs = performance.now();
    return this.#pace.limitMs(this.#timed, nowMs) - (nowMs - this.#sinceMs);
  }

  onAnswered(): void {
    const nowMs = performance.now();
    this.#pace.onAnswered(this.#timed, nowMs - this.#sinceMs, nowMs);
  }

  end(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
  }

  /**
   * Waits and then reads sockets once more: timers run before sockets are read, so after a pause of
   * this process the answer may already be there.
   */
  #wait(wantedMs: number): void {
    const waitMs = Math.min(wantedMs, LONGEST_TIMER_MS);
    const dueMs = performance.now() + waitMs;
    const onDue = () => setImmediate(() => setImmediate(() => this.#onDue(dueMs)));
    this.#timer = setTimeout(onDue, waitMs).unref();
  }

  /**
   * Excludes the time in which this process was blocked, and rechecks limits, which may have grown.
   */
  #onDue(dueMs: number): void {
    if (this.#isOver) return;
    const heldUpMs = performance.now() - dueMs;
    if (heldUpMs > HELD_UP_MS) this.#sinceMs += heldUpMs;
    const leftMs = this.leftMs();
    if (leftMs > 0) this.#wait(leftMs);
    else this.#onHung(this.#pace.limitMs(this.#timed, performance.now()));
  }
}
