/** Sees how often, and for how long, the host takes a processor away. */
import type { Spread } from "stratagem-runtime/internal/bundle/schema";
import { stealTicks } from "./machine-time.ts";
import { rounded, spreadOf } from "./spread.ts";

/** Of one processor. */
export interface StallsSeen {
  readonly perSecond: number;
  readonly ms: Spread;
}

/** Linux counts what was taken in hundredths of a second. */
const TICK_MS = 10;
/** Between two looks. */
const LOOK_MS = 10;

/** What was taken of each processor, look by look: what goes on from one to the next is one. */
export class StallCount {
  readonly #lengthsMs: number[] = [];
  #before: readonly number[] | null = null;
  /** By processor: the stall that it is in; −1 where it is in none. */
  #open: number[] = [];
  #firstMs = Number.NaN;
  #lastMs = Number.NaN;

  /** @param ticks of each processor since the machine started. */
  look(ticks: readonly number[], nowMs: number): void {
    const before = this.#before;
    if (before === null) {
      this.#firstMs = nowMs;
      this.#open = ticks.map(() => -1);
    } else {
      for (const [processor, count] of ticks.entries()) {
        this.#note(processor, count - (before[processor] ?? count));
      }
    }
    this.#before = ticks;
    this.#lastMs = nowMs;
  }

  /** Null where nothing was taken, or nobody looked. */
  seen(): StallsSeen | null {
    const seconds = ((this.#lastMs - this.#firstMs) / 1000) * (this.#before?.length ?? 0);
    if (!(seconds > 0) || this.#lengthsMs.length === 0) return null;
    return {
      perSecond: rounded(this.#lengthsMs.length / seconds),
      ms: spreadOf(this.#lengthsMs),
    };
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

/** Looks until it is ended. @returns ends it, and gives what was seen; null where nobody can. */
export function watchStalls(
  sleep: (ms: number) => Promise<void>,
  nowMs: () => number,
): () => StallsSeen | null {
  const count = new StallCount();
  let isOver = false;
  const looking = async () => {
    while (!isOver) {
      const ticks = stealTicks();
      if (ticks === null) return;
      count.look(ticks, nowMs());
      await sleep(LOOK_MS);
    }
  };
  // A look that is interrupted ends the watch; what it interrupts says so itself.
  void looking().catch(() => {});
  return () => {
    isOver = true;
    return count.seen();
  };
}
