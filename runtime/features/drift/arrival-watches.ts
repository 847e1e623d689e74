/** Watches whether the rate and the dispersion of arrivals match those of the bundle. */
import type { ArrivalModel } from "../../bundle/schema.ts";
import type { ArrivalBlock, ArrivalCounts } from "../../server/measures/arrival-counts.ts";
import type { Reading } from "../../server/measures/watched.ts";
import { Watch } from "./watch.ts";
import type { Change } from "./watched-promise.ts";

/** Share of blocks beyond the bounds below that chance alone may produce. */
const BEYOND_BLOCKS = 0.1;
const BLOCKS_TO_HOLD = 24;
/** Relative load above the highest level that is tolerated. */
const RATE_TOLERANCE = 0.1;
/** Relative dispersion above the compiled arrivals' that is tolerated. */
const DISPERSION_TOLERANCE = 0.5;
/** Standard deviations of a block's measure that are attributed to chance. */
const SIGMAS = 2;
/** Mean number of rows per window below which dispersion is not informative. */
const LEAST_ROWS = 0.5;

/** Blocks of arrivals, shared by both watches. */
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
  #seen = "";
  #expected = "";

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
      this.#seen = `${Math.round(rows / seconds)} rows per second arrive`;
      this.#expected = `the highest level is solved for ${Number(topLevelQps.toPrecision(3))}`;
    }
    return this.see({ value: isBeyond ? 1 : 0, promised: BEYOND_BLOCKS, startMs, endMs });
  }

  because(since: string): string {
    return `${this.#seen} ${since}; ${this.#expected}`;
  }
}

export class DispersionWatch extends Watch {
  readonly promise = "arrivals";
  readonly #blocks: ArrivalBlocks;
  #seen = "";
  #expected = "";

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
    // Standard deviation of the mean square of successive differences.
    const deviation = Math.sqrt((3 + 1 / mean) / windows);
    const isBeyond = dispersion > most * (1 + DISPERSION_TOLERANCE) * (1 + SIGMAS * deviation);
    if (isBeyond) {
      const counts = `rows within ${Math.round(windowMs)} ms vary ${dispersion.toFixed(1)}x`;
      this.#seen = `${counts} as much as Poisson arrivals`;
      this.#expected = `the bundle was compiled for ${most.toPrecision(2)}x`;
    }
    return this.see({ value: isBeyond ? 1 : 0, promised: BEYOND_BLOCKS, startMs, endMs });
  }

  because(since: string): string {
    return `${this.#seen} ${since}; ${this.#expected}`;
  }
}

/**
 * Upper bound of variance over mean of the rows in a window: arrivals more even than Poisson hardly
 * look so within short windows.
 */
function compiledDispersion(compiled: ArrivalModel): number {
  if (compiled.process === "poisson") return 1;
  return Math.max(1, compiled.process === "gamma" ? compiled.cv2 : compiled.dispersion);
}
