/** Bursts of work of other processes on the serving machine. */
import { assert } from "stratagem-runtime/internal/core/assert";
import type { Rng } from "stratagem-runtime/internal/core/rng";

/**
 * Mean length of a burst, ms. Traced with a load generator and a server on two processors: the
 * compiler and the garbage collector of either work 1 to 5 ms at a time, and its own loop 0.3 ms.
 */
const BURST_MS = 2;
/** Largest share of a processor that one neighbour takes. */
const MOST_SHARE = 0.9;

/** Neighbours that work and pause by turns, for exponential times. */
export class NeighbourBursts {
  readonly #rng: Rng;
  readonly #pauseMs: number;
  /** [count]: when each begins or ends its work next, and whether it works. */
  readonly #changeMs: Float64Array;
  readonly #isOn: boolean[];

  /** @param processors that all of them keep busy on average, more than 0. */
  constructor(processors: number, rng: Rng) {
    assert(processors > 0, "neighbours use processors");
    const count = Math.ceil(processors / MOST_SHARE);
    const share = processors / count;
    this.#rng = rng;
    this.#pauseMs = (BURST_MS * (1 - share)) / share;
    this.#isOn = new Array(count).fill(false);
    this.#changeMs = Float64Array.from({ length: count }, () => this.#lengthMs(this.#pauseMs));
  }

  get count(): number {
    return this.#isOn.length;
  }

  /** Time of the next beginning or end. */
  get nextMs(): number {
    return this.#changeMs.reduce((first, ms) => Math.min(first, ms));
  }

  /** Goes to the next beginning or end. @returns whose it is, and whether it works now. */
  next(): { readonly neighbour: number; readonly isOn: boolean } {
    const neighbour = this.#changeMs.indexOf(this.nextMs);
    const isOn = !this.#isOn[neighbour];
    this.#isOn[neighbour] = isOn;
    const lengthMs = this.#lengthMs(isOn ? BURST_MS : this.#pauseMs);
    this.#changeMs[neighbour] = (this.#changeMs[neighbour] ?? 0) + lengthMs;
    return { neighbour, isOn };
  }

  /** Draws one of so many processors. */
  processorOf(processors: number): number {
    return Math.floor(processors * this.#rng.nextFloat());
  }

  #lengthMs(meanMs: number): number {
    return -meanMs * Math.log(1 - this.#rng.nextFloat());
  }
}
