/** Sees how often, and for how long, the host takes a processor away. */
import type { Spread } from "stratagem-runtime/internal/bundle/schema";
import { type ProcessorCounts, processorCounts } from "./machine-time.ts";
import { rounded, spreadOf } from "./spread.ts";

export interface StallsSeen {
  /** Of the time that a processor works: the host takes nothing from one that rests. */
  readonly perSecond: number;
  readonly ms: Spread;
}

/** Linux counts what was taken in hundredths of a second. */
const TICK_MS = 10;
/** A profile states no more: nothing could be served on such a machine. */
const MAX_PER_SECOND = 1000;
/** Between two looks. */
const LOOK_MS = 10;

/** What was taken of each processor, look by look: what goes on from one to the next is one. */
export class StallCount {
  readonly #lengthsMs: number[] = [];
  #before: readonly ProcessorCounts[] | null = null;
  /** By processor: the stall that it is in; −1 where it is in none. */
  #open: number[] = [];
  #workMs = 0;

  /** @param counts of each processor since the machine started. */
  look(counts: readonly ProcessorCounts[]): void {
    const before = this.#before;
    if (before === null) this.#open = counts.map(() => -1);
    for (const [processor, count] of counts.entries()) {
      const last = before?.[processor] ?? count;
      this.#workMs += (count.busy - last.busy) * TICK_MS;
      this.#note(processor, count.steal - last.steal);
    }
    this.#before = counts;
  }

  /**
   * Null where nothing was taken, or nobody looked.
   * @param form how long stalls last, as a `StallProbe` found; null for the steps of the system,
   * which put short ones together.
   */
  seen(form: Spread | null): StallsSeen | null {
    const seconds = this.#workMs / 1000;
    if (seconds === 0 || this.#lengthsMs.length === 0) return null;
    const ms = form ?? spreadOf(this.#lengthsMs);
    const takenMs = this.#lengthsMs.reduce((sum, one) => sum + one);
    return { perSecond: Math.min(MAX_PER_SECOND, rounded(takenMs / ms.mean / seconds)), ms };
  }

  #note(processor: number, taken: number): void {
    if (taken <= 0) {
      this.#open[processor] = -1;
      return;
    }
    const open = this.#open[processor] ?? -1;
    const index = open < 0 ? this.#lengthsMs.length : open;
    this.#lengthsMs[index] = (this.#lengthsMs[index] ?? 0) + taken * TICK_MS;
    this.#open[processor] = index;
  }
}

/** @param form as `seen` of a `StallCount` has it. */
type EndStalls = (form: Spread | null) => StallsSeen | null;

/** Looks until it is ended. @returns ends it, and gives what was seen; null where nobody can. */
export function watchStalls(sleep: (ms: number) => Promise<void>): EndStalls {
  const count = new StallCount();
  let isOver = false;
  const looking = async () => {
    while (!isOver) {
      const counts = processorCounts();
      if (counts === null) return;
      count.look(counts);
      await sleep(LOOK_MS);
    }
  };
  // A look that is interrupted ends the watch; what it interrupts says so itself.
  void looking().catch(() => {});
  return (form) => {
    isOver = true;
    return count.seen(form);
  };
}
