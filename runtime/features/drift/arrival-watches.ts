/** Watches whether requests come as the bundle was compiled for: how many, and how unevenly. */
import type { ArrivalModel } from "../../bundle/schema.ts";
import type { ArrivalBlock, ArrivalCounts } from "../../server/measures/arrival-counts.ts";
import type { Reading } from "../../server/measures/watched.ts";
import { Watch } from "./watch.ts";
import type { Change } from "./watched-promise.ts";

/** Blocks beyond the bounds below, in the mean, that chance alone may make. */
const BEYOND_BLOCKS = 0.1;
const BLOCKS_TO_HOLD = 24;
/** Load above the highest level that is none. */
const RATE_TOLERANCE = 0.1;
/** Dispersion above that of the compiled arrivals that is none. */
const DISPERSION_TOLERANCE = 0.5;
/** Standard deviations of what a block measures that chance is granted. */
const SIGMAS = 2;
/** Rows of a window, in the mean, below which their dispersion says nothing. */
const LEAST_ROWS = 0.5;

/** Both see the same blocks. */
export class ArrivalBlocks {
  readonly #arrivals: ArrivalCounts;
  #taken: ArrivalBlock | undefined;
  #takenMs = Number.NaN;

  constructor(arrivals: ArrivalCounts) {
    this.#arrivals = arrivals;
  }

  at(nowMs: number): ArrivalBlock | undefined {
    if (nowMs !== this.#takenMs) this.#taken = this.#arrivals.take();
    this.#takenMs = nowMs;
    return this.#taken;
  }
}

export class RateWatch extends Watch {
  readonly promise = "arrivals";
  readonly #blocks: ArrivalBlocks;
  #told = "";

  constructor(blocks: ArrivalBlocks, threshold: number) {
    super(threshold, BLOCKS_TO_HOLD);
    this.#blocks = blocks;
  }

  look({ topLevelQps, compiled }: Reading, nowMs: number): Change {
    const block = this.#blocks.at(nowMs);
    if (block === undefined || !(topLevelQps > 0)) return undefined;
    const { rows, windows, windowMs, startMs, endMs } = block;
    const seconds = (windows * windowMs) / 1000;
    const most = topLevelQps * (1 + RATE_TOLERANCE) * seconds;
    const isBeyond = rows > most + SIGMAS * Math.sqrt(most * compiledDispersion(compiled));
    if (isBeyond) {
      const loads = `the highest level is for ${topLevelQps.toPrecision(3)}`;
      this.#told = `${Math.round(rows / seconds)} rows a second come, ${loads}`;
    }
    return this.see({ value: isBeyond ? 1 : 0, promised: BEYOND_BLOCKS, startMs, endMs });
  }

  because(since: string): string {
    return `${this.#told}, ${since}`;
  }
}

export class DispersionWatch extends Watch {
  readonly promise = "arrivals";
  readonly #blocks: ArrivalBlocks;
  #told = "";

  constructor(blocks: ArrivalBlocks, threshold: number) {
    super(threshold, BLOCKS_TO_HOLD);
    this.#blocks = blocks;
  }

  look({ compiled }: Reading, nowMs: number): Change {
    const block = this.#blocks.at(nowMs);
    if (block === undefined) return undefined;
    const { rows, windows, windowMs, dispersion, startMs, endMs } = block;
    const mean = rows / windows;
    if (!(mean >= LEAST_ROWS)) return undefined;
    const most = compiledDispersion(compiled);
    // Of the mean square of successive differences of counts.
    const deviation = Math.sqrt((3 + 1 / mean) / windows);
    const isBeyond = dispersion > most * (1 + DISPERSION_TOLERANCE) * (1 + SIGMAS * deviation);
    if (isBeyond) {
      const counts = `rows within ${Math.round(windowMs)} ms vary ${dispersion.toFixed(1)}x`;
      this.#told = `${counts} as much as Poisson arrivals, compiled for ${most.toPrecision(2)}x`;
    }
    return this.see({ value: isBeyond ? 1 : 0, promised: BEYOND_BLOCKS, startMs, endMs });
  }

  because(since: string): string {
    return `${this.#told}, ${since}`;
  }
}

/**
 * Variance over mean of the rows of a window, at most: within short ones arrivals that are more
 * even than Poisson's hardly are.
 */
function compiledDispersion(compiled: ArrivalModel): number {
  if (compiled.process === "poisson") return 1;
  return Math.max(1, compiled.process === "gamma" ? compiled.cv2 : compiled.dispersion);
}
