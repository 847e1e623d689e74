/** Stalls: times for which the host takes away a busy processor. */
import type { Spread } from "stratagem-runtime/internal/bundle/schema";
import type { Rng } from "stratagem-runtime/internal/core/rng";
import { SpreadDraws } from "./spread-draws.ts";

/**
 * Stalls of processors: a Poisson process in working time, since the host takes nothing from an
 * idle processor. A stall stops the process on it: the server, or the batch of a worker.
 */
export class Stalls {
  readonly #meanGapMs: number;
  readonly #lengths: SpreadDraws;
  readonly #rng: Rng;
  /** Work until the next stall. */
  #leftMs: number;

  /** @param perSecond of work, above 0. */
  constructor({ perSecond, ms }: { readonly perSecond: number; readonly ms: Spread }, rng: Rng) {
    this.#meanGapMs = 1000 / perSecond;
    this.#lengths = new SpreadDraws(ms, rng);
    this.#rng = rng;
    this.#leftMs = this.#gapMs();
  }

  /** Returns the total duration of stalls during an amount of work. */
  duringMs(workMs: number): number {
    let stoppedMs = 0;
    for (this.#leftMs -= workMs; this.#leftMs < 0; this.#leftMs += this.#gapMs()) {
      stoppedMs += this.#lengths.nextMs();
    }
    return stoppedMs;
  }

  #gapMs(): number {
    return -this.#meanGapMs * Math.log(1 - this.#rng.nextFloat());
  }
}
