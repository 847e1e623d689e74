/** One thing that is promised, block after block: it holds, is broken, and may hold again. */
import { EDetector } from "../../server/measures/e-detector.ts";

/** What was seen in some seconds. */
export interface SeenBlock {
  /** 0 to 1: what is promised to be small in the mean. */
  readonly value: number;
  /** Its mean at most, above 0. */
  readonly promised: number;
  /** Of the clock of the server. */
  readonly startMs: number;
  readonly endMs: number;
}

export type Change = "broken" | "holds" | undefined;

interface WatchedOptions {
  /** Evidence at which it is broken: observations until a false alarm, in the mean, at least. */
  readonly threshold: number;
  /** So many blocks in a row have to be as promised together for it to hold again. */
  readonly blocksToHold: number;
}

export class WatchedPromise {
  readonly #options: WatchedOptions;
  readonly #detector = new EDetector();
  /** Of the blocks since it was broken, the last ones. */
  readonly #since: SeenBlock[] = [];
  #brokenSinceMs = Number.NaN;
  #climbedFromMs = Number.NaN;

  constructor(options: WatchedOptions) {
    this.#options = options;
  }

  get isBroken(): boolean {
    return !Number.isNaN(this.#brokenSinceMs);
  }

  /** When what broke it began; NaN while it holds. */
  get brokenSinceMs(): number {
    return this.#brokenSinceMs;
  }

  /** Whether the last blocks speak against it, or have broken it. */
  get isDoubted(): boolean {
    return this.isBroken || this.#detector.isClimbing;
  }

  /** As a share of what breaks it, on a logarithmic scale: 0 nothing, 1 broken. */
  get evidence(): number {
    if (this.isBroken) return 1;
    const { threshold } = this.#options;
    return Math.min(1, Math.log1p(this.#detector.evidence) / Math.log1p(threshold));
  }

  /** @returns what it has become by it, if that is new. */
  see(block: SeenBlock): Change {
    return this.isBroken ? this.#seeBroken(block) : this.#seeHolding(block);
  }

  #seeHolding({ value, promised, startMs }: SeenBlock): Change {
    const wasClimbing = this.#detector.isClimbing;
    this.#detector.observe(value, promised);
    if (!wasClimbing && this.#detector.isClimbing) this.#climbedFromMs = startMs;
    if (this.#detector.evidence < this.#options.threshold) return undefined;
    this.#brokenSinceMs = this.#detector.isClimbing ? this.#climbedFromMs : startMs;
    this.#since.length = 0;
    return "broken";
  }

  #seeBroken(block: SeenBlock): Change {
    this.#since.push(block);
    const { blocksToHold } = this.#options;
    if (this.#since.length > blocksToHold) this.#since.shift();
    if (this.#since.length < blocksToHold) return undefined;
    const excess = this.#since.reduce((sum, one) => sum + one.value - one.promised, 0);
    if (excess > 0) return undefined;
    this.#brokenSinceMs = Number.NaN;
    this.#detector.restart();
    return "holds";
  }
}
