/** Times at which the machine stands still, since its host gives processors to others. */
import type { Spread } from "stratagem-runtime/internal/bundle/schema";
import type { Rng } from "stratagem-runtime/internal/core/rng";
import { SpreadDraws } from "./spread-draws.ts";

/** A request depends on two processors at a time: the server's and a worker's. */
const PROCESSORS_OF_A_REQUEST = 2;

/**
 * Stalls of a machine, drawn as time goes on: they come as a Poisson process, and nothing is done
 * while one lasts. Each stops server and workers alike, so that a request meets as many as its two
 * processors do.
 */
export class Stalls {
  readonly #meanGapMs: number;
  readonly #lengths: SpreadDraws;
  readonly #rng: Rng;
  /** Those that are not over; ascending. */
  readonly #fromMs: number[] = [];
  readonly #untilMs: number[] = [];
  #drawnMs = 0;

  /** @param perSecond of one processor, above 0. */
  constructor({ perSecond, ms }: { readonly perSecond: number; readonly ms: Spread }, rng: Rng) {
    this.#meanGapMs = 1000 / (PROCESSORS_OF_A_REQUEST * perSecond);
    this.#lengths = new SpreadDraws(ms, rng);
    this.#rng = rng;
  }

  /** When work is done that begins at a time and takes so long without stalls. */
  endOf(fromMs: number, workMs: number): number {
    let endMs = fromMs + workMs;
    for (let index = 0; this.#hasFrom(index, endMs); index++) {
      const untilMs = this.#untilMs[index] ?? 0;
      if (untilMs > fromMs) endMs += untilMs - Math.max(fromMs, this.#fromMs[index] ?? 0);
    }
    return endMs;
  }

  /** How long nothing is done between two times. */
  between(fromMs: number, untilMs: number): number {
    let sumMs = 0;
    for (let index = 0; this.#hasFrom(index, untilMs); index++) {
      const endMs = Math.min(this.#untilMs[index] ?? 0, untilMs);
      sumMs += Math.max(0, endMs - Math.max(this.#fromMs[index] ?? 0, fromMs));
    }
    return sumMs;
  }

  /** The same; nobody asks for earlier times again. */
  stoodMs(fromMs: number, untilMs: number): number {
    const stoodMs = this.between(fromMs, untilMs);
    while ((this.#untilMs[0] ?? Number.POSITIVE_INFINITY) <= untilMs) {
      this.#fromMs.shift();
      this.#untilMs.shift();
    }
    return stoodMs;
  }

  /** Whether the stall of an index begins before a time. */
  #hasFrom(index: number, beforeMs: number): boolean {
    while (this.#fromMs.length <= index && this.#drawnMs < beforeMs) {
      const beginMs = this.#drawnMs - this.#meanGapMs * Math.log(1 - this.#rng.nextFloat());
      this.#drawnMs = beginMs + this.#lengths.nextMs();
      this.#fromMs.push(beginMs);
      this.#untilMs.push(this.#drawnMs);
    }
    return (this.#fromMs[index] ?? Number.POSITIVE_INFINITY) < beforeMs;
  }
}
