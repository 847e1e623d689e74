/** Watches whether the provisioned cost stays within the plan of the level. */

import type { Reading } from "../../server/measures/watched.ts";
import { Watch } from "./watch.ts";
import type { Change } from "./watched-promise.ts";

const BLOCK_MS = 30_000;
const BLOCKS_TO_HOLD = 10;
/** Relative cost above the promise that is tolerated. */
const COST_TOLERANCE = 0.1;

export class CostWatch extends Watch {
  readonly promise = "cost";
  #startMs = Number.NaN;
  #looks = 0;
  /** Sums of shares of the maximum cost. */
  #held = 0;
  #promised = 0;
  #cause = "";

  constructor(threshold: number) {
    super(threshold, BLOCKS_TO_HOLD);
  }

  look({ cost, loadQps, topLevelQps }: Reading, nowMs: number): Change {
    const isPromised = cost !== undefined && cost.most > 0 && cost.promised > 0;
    if (!isPromised || loadQps > topLevelQps) return undefined;
    if (Number.isNaN(this.#startMs)) this.#startMs = nowMs;
    this.#looks++;
    this.#held += cost.held / cost.most;
    this.#promised += Math.min(1, (cost.promised / cost.most) * (1 + COST_TOLERANCE));
    if (nowMs - this.#startMs < BLOCK_MS) return undefined;
    const value = Math.min(1, this.#held / this.#looks);
    const promised = this.#promised / this.#looks;
    const startMs = this.#startMs;
    const [held, planned] = [value, promised / (1 + COST_TOLERANCE)].map((share) =>
      Number((share * cost.most).toPrecision(3)),
    );
    if (value > promised)
      this.#cause = `the cost is ${held} ${cost.unit}; the plan promises ${planned}`;
    this.#startMs = nowMs;
    this.#looks = 0;
    this.#held = 0;
    this.#promised = 0;
    return this.see({ value, promised, startMs, endMs: nowMs });
  }

  because(since: string): string {
    return `${this.#cause}, ${since}`;
  }
}
