/** Facilities of commands that simulate a bundle: worker processes and a clock. */
import type { LevelPoolOptions } from "./level-pool.ts";

export interface SimulateWatch extends LevelPoolOptions {
  /** Monotonic clock, ms. */
  readonly nowMs: () => number;
}
