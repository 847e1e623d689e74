/** One thing that drift watches, and how it is told. */
import type { PromiseName } from "../../server/measures/facts.ts";
import type { Reading } from "../../server/measures/watched.ts";
import { type Change, type SeenBlock, WatchedPromise } from "./watched-promise.ts";

export abstract class Watch {
  abstract readonly promise: PromiseName;
  readonly #promise: WatchedPromise;

  /** @param blocksToHold as promised, after which it is told to hold again. */
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

  /** 0 to 1, which is broken. */
  get evidence(): number {
    return this.#promise.evidence;
  }

  /** Once a second. @returns what it has become, if that is new. */
  abstract look(reading: Reading, nowMs: number): Change;

  /** What is other than promised. @param since such as "since 12:03:10". */
  abstract because(since: string): string;

  protected see(block: SeenBlock): Change {
    return this.#promise.see(block);
  }
}
