/** State of one promise over a sequence of blocks: it holds, is broken, and may hold again. */
import { EDetector } from "../../server/measures/e-detector.ts";

/** Observation over a few seconds. */
export interface SeenBlock {
  /** Observed value, 0 to 1, whose mean is promised to be small. */
  readonly value: number;
  /** Promised upper bound of the mean, above 0. */
  readonly promised: number;
  /** Server clock. */
  readonly startMs: number;
  readonly endMs: number;
}

export type Change = "broken" | "holds" | undefined;

interface WatchedOptions {
  /**
   * Evidence at which the promise is broken: the minimum mean number of observations per false
   * alarm.
   */
  readonly threshold: number;
  /** Number of consecutive blocks that must keep the promise on average for it to hold again. */
  readonly blocksToHold: number;
}

export class WatchedPromise {
  readonly #options: WatchedOptions;
  readonly #detector = new EDetector();
  /** Most recent blocks since the promise was broken. */
  readonly #since: SeenBlock[] = [];
  #brokenSinceMs = Number.NaN;
  #climbedFromMs = Number.NaN;

  constructor(options: WatchedOptions) {
    this.#options = options;
  }

  get isBroken(): boolean {
    return !Number.isNaN(this.#brokenSinceMs);
  }

  /** Start of the violation; NaN while the promise holds. */
  get brokenSinceMs(): number {
    return this.#brokenSinceMs;
  }

  /** Whether recent blocks contradict the promise or it is broken. */
  get isDoubted(): boolean {
    return this.isBroken || this.#detector.isClimbing;
  }

  /** Share of the threshold on a logarithmic scale: 0 for no evidence, 1 for broken. */
  get evidence(): number {
    if (this.isBroken) return 1;
    const { threshold } = this.#options;
    return Math.min(1, Math.log1p(this.#detector.evidence) / Math.log1p(threshold));
  }

  /** @returns the new state if it changed. */
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
