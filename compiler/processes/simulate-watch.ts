/** What commands that simulate a bundle are handed: the pool of workers and a clock. */
import type { LevelPoolOptions } from "./level-pool.ts";

export interface SimulateWatch extends LevelPoolOptions {
  /** A monotonic clock, ms. */
  readonly nowMs: () => number;
}
