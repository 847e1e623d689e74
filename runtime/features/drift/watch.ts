/** Base of the watches: a promise, its state and a description of its violation. */
import type { PromiseName } from "../../server/measures/facts.ts";
import type { Reading } from "../../server/measures/watched.ts";
import { type Change, type SeenBlock, WatchedPromise } from "./watched-promise.ts";

export abstract class Watch {
  abstract readonly promise: PromiseName;
  readonly #promise: WatchedPromise;

  /** @param blocksToHold consecutive good blocks after which a broken promise holds again. */
  constructor(threshold: number, blocksToHold: number) {
    this.#promise = new WatchedPromise({ threshold, blocksToHold });
  }

  get isBroken(): boolean {
    return this.#promise.isBroken;
  }

  get isDoubted(): boolean {
    return this.#promise.isDoubted;
  }

  /** NaN while it holds. */
  get brokenSinceMs(): number {
    return this.#promise.brokenSinceMs;
  }

  /** Range 0 to 1; broken at 1. */
  get evidence(): number {
    return this.#promise.evidence;
  }

  /** Called once a second. @returns the new state if it changed. */
  abstract look(reading: Reading, nowMs: number): Change;

  /** Describes the violation. @param since such as "since 12:03:10". */
  abstract because(since: string): string;

  protected see(block: SeenBlock): Change {
    return this.#promise.see(block);
  }
}
