/** Tracks which places are idle, and since when. */
import {
  type AccordionCommands,
  RESHAPE,
} from "stratagem-runtime/internal/methods/accordion/core/commands";
import { NONE } from "stratagem-runtime/internal/methods/accordion/core/pipeline-table";
import { SLEEPS_AFTER_MS } from "../../../simulate/serving/worker-events.ts";

/** Places by the query that uses them; places that were idle for a while sleep. */
export class SleepingPlaces {
  readonly #slot: Int32Array;
  readonly #freeSinceMs: Float64Array;

  constructor(placeCount: number) {
    this.#slot = new Int32Array(placeCount).fill(NONE);
    this.#freeSinceMs = new Float64Array(placeCount).fill(Number.NEGATIVE_INFINITY);
  }

  /**
   * Gives places to a query: a start or a reshape.
   * @returns how many of them slept.
   */
  take(slot: number, commands: AccordionCommands, command: number, nowMs: number): number {
    if (commands.kind(command) === RESHAPE) this.leave(slot, nowMs);
    let asleep = 0;
    for (let stage = 0; stage < commands.placeCount(command); stage++) {
      const place = commands.place(command, stage);
      if (nowMs - (this.#freeSinceMs[place] ?? 0) > SLEEPS_AFTER_MS) asleep++;
      this.#slot[place] = slot;
    }
    return asleep;
  }

  /** Records that a query has released its places. */
  leave(slot: number, nowMs: number): void {
    for (let place = 0; place < this.#slot.length; place++) {
      if (this.#slot[place] !== slot) continue;
      this.#slot[place] = NONE;
      this.#freeSinceMs[place] = nowMs;
    }
  }
}
