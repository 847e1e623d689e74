/** Delay of the event loop, as a metric and for the deadlines of requests. */
import { Histogram, head, type MetricLine } from "../../base/exposition.ts";

const NAME = "stratagem_event_loop_delay_seconds";
const HELP = "Delay of a 10 ms timer, during which the event loop was blocked";
/** Seconds; 0.05 is what no request may hold the loop longer than. */
const BOUNDS = [
  0.001, 0.0025, 0.005, 0.01, 0.02, 0.03, 0.04, 0.05, 0.075, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
];
/** Beyond the time since the tick before, what holds the loop is seen all but for this. */
const TICK_MS = 10;

export class LoopDelay {
  readonly #histogram = new Histogram(BOUNDS);
  readonly #nowMs: () => number;
  #dueMs = Number.NaN;
  #timer: NodeJS.Timeout | undefined;

  /** @param nowMs monotonic clock. */
  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  /** Measures from now on; it keeps no process alive. */
  start(): void {
    this.#dueMs = this.#nowMs() + TICK_MS;
    this.#timer ??= setInterval(() => this.tick(), TICK_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Called by the timer. */
  tick(): void {
    const nowMs = this.#nowMs();
    this.#histogram.observe(Math.max(0, nowMs - this.#dueMs) / 1000);
    this.#dueMs = nowMs + TICK_MS;
  }

  lines(): MetricLine[] {
    return [head(NAME, "histogram", HELP), ...this.#histogram.lines(NAME, {})];
  }
}

/** Shorter delays count as 0: they do not indicate a backlog. */
const LEAST_MS = 2;
/** Interval of the timer while requests arrive. */
const BEAT_MS = 5;

/**
 * Estimates how long a request or a worker's answer waited in a socket. Data waits there for at
 * most one turn of the event loop; a turn is measured from its first request to its end. If other
 * processes take the processor, no turn runs: then a timer that is overdue shows since when.
 */
export class LoopLag {
  readonly #nowMs: (() => number) | undefined;
  #firstMs = Number.NaN;
  #lastTurnMs = 0;
  #beatDueMs = Number.POSITIVE_INFINITY;
  #hasNews = false;

  /** @param nowMs clock of the timers. Default: no delay is measured. */
  constructor(nowMs: (() => number) | undefined) {
    this.#nowMs = nowMs;
  }

  /**
   * Called for each request.
   * @returns how long it may have waited, ms; 0 where that is negligible.
   */
  onRequest(): number {
    if (this.#nowMs === undefined) return 0;
    const nowMs = this.#nowMs();
    const overdueMs = nowMs - this.#beatDueMs;
    this.#hasNews = true;
    if (Number.isNaN(this.#firstMs)) {
      this.#firstMs = nowMs;
      setImmediate(this.#onTurnEnd, this.#nowMs);
      if (this.#beatDueMs === Number.POSITIVE_INFINITY) this.#arm(this.#nowMs);
    }
    const lagMs = Math.max(this.#lastTurnMs, nowMs - this.#firstMs, overdueMs);
    return lagMs < LEAST_MS ? 0 : lagMs;
  }

  readonly #onTurnEnd = (nowMs: () => number) => {
    this.#lastTurnMs = nowMs() - this.#firstMs;
    this.#firstMs = Number.NaN;
  };

  #arm(nowMs: () => number): void {
    this.#hasNews = false;
    this.#beatDueMs = nowMs() + BEAT_MS;
    setTimeout(this.#onBeat, BEAT_MS, nowMs).unref();
  }

  readonly #onBeat = (nowMs: () => number) => {
    this.#beatDueMs = Number.POSITIVE_INFINITY;
    if (this.#hasNews) this.#arm(nowMs);
    else this.#lastTurnMs = 0;
  };
}
