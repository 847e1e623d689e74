/** Measures how long the event loop keeps what is due waiting. */
import { Histogram, head, type MetricLine } from "../../base/exposition.ts";

const NAME = "stratagem_event_loop_delay_seconds";
const HELP = "How late a timer of 10 ms was: time that something else held the event loop";
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

  /** @param nowMs of a clock that does not go back. */
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

  /** The timer has come. */
  tick(): void {
    const nowMs = this.#nowMs();
    this.#histogram.observe(Math.max(0, nowMs - this.#dueMs) / 1000);
    this.#dueMs = nowMs + TICK_MS;
  }

  lines(): MetricLine[] {
    return [head(NAME, "histogram", HELP), ...this.#histogram.lines(NAME, {})];
  }
}
