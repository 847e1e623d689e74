/** Times for which the host takes away a processor that works. */
import type { Spread } from "stratagem-runtime/internal/bundle/schema";
import type { Rng } from "stratagem-runtime/internal/core/rng";
import { SpreadDraws } from "./spread-draws.ts";

/**
 * Stalls of processors, drawn as work goes on: they come as a Poisson process in the time that
 * processors work, for the host takes nothing from one that rests. Each stops who works there: the
 * server and all that it would have done, or the batch of a worker.
 */
export class Stalls {
  readonly #meanGapMs: number;
  readonly #lengths: SpreadDraws;
  readonly #rng: Rng;
  /** Work until the next one. */
  #leftMs: number;

  /** @param perSecond of work, above 0. */
  constructor({ perSecond, ms }: { readonly perSecond: number; readonly ms: Spread }, rng: Rng) {
    this.#meanGapMs = 1000 / perSecond;
    this.#lengths = new SpreadDraws(ms, rng);
    this.#rng = rng;
    this.#leftMs = this.#gapMs();
  }

  /** How long in all they stop who works for so long. */
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
