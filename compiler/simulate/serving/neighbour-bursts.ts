/** Bursts of work of other processes on the serving machine. */
import { assert } from "stratagem-runtime/internal/core/assert";
import type { Rng } from "stratagem-runtime/internal/core/rng";

/**
 * Mean length of a burst, ms. Traced with a load generator and a server on two processors: threads
 * of V8's compiler and garbage collector work 1 to 5 ms at a time, the generator's loop 0.3 ms.
 */
const BURST_MS = 2;
/** Largest share of a processor that one neighbour takes. */
const MOST_SHARE = 0.9;

interface Burst {
  readonly neighbour: number;
  /** Processor that it waits for or takes. */
  readonly processor: number;
  readonly workMs: number;
}

/** Neighbours that work and pause by turns, for exponential times. */
export class NeighbourBursts {
  readonly #rng: Rng;
  readonly #pauseMs: number;
  /** [count]: when each begins to work; Infinity while it works. */
  readonly #beginMs: Float64Array;

  /** @param processors that all of them keep busy on average, more than 0. */
  constructor(processors: number, rng: Rng) {
    assert(processors > 0, "neighbours use processors");
    const count = Math.ceil(processors / MOST_SHARE);
    const share = processors / count;
    this.#rng = rng;
    this.#pauseMs = (BURST_MS * (1 - share)) / share;
    this.#beginMs = Float64Array.from({ length: count }, () => this.#drawnMs(this.#pauseMs));
  }

  get count(): number {
    return this.#beginMs.length;
  }

  /** Time of the next beginning; Infinity while all work. */
  get nextMs(): number {
    return this.#beginMs.reduce((first, ms) => Math.min(first, ms));
  }

  /** The next burst begins. */
  begin(processors: number): Burst {
    const neighbour = this.#beginMs.indexOf(this.nextMs);
    this.#beginMs[neighbour] = Number.POSITIVE_INFINITY;
    const processor = Math.floor(processors * this.#rng.nextFloat());
    return { neighbour, processor, workMs: this.#drawnMs(BURST_MS) };
  }

  /** The burst of a neighbour has ended. */
  end(neighbour: number, nowMs: number): void {
    this.#beginMs[neighbour] = nowMs + this.#drawnMs(this.#pauseMs);
  }

  #drawnMs(meanMs: number): number {
    return -meanMs * Math.log(1 - this.#rng.nextFloat());
  }
}
