/** Observes how often, and for how long, the host takes a processor away. */
import type { Spread } from "stratagem-runtime/internal/bundle/schema";
import { type ProcessorCounts, processorCounts } from "./machine-time.ts";
import { rounded, spreadOf } from "./spread.ts";

export interface StallsSeen {
  /** Per second of processor work: the host takes nothing from an idle processor. */
  readonly perSecond: number;
  readonly ms: Spread;
}

/** Resolution of Linux's steal time. */
const TICK_MS = 10;
/** Largest value in a profile: such a machine could not serve anything. */
const MAX_PER_SECOND = 1000;
/** Interval between readings. */
const LOOK_MS = 10;

/**
 * Steal time of each processor between readings; consecutive intervals with steal are one stall.
 */
export class StallCount {
  readonly #lengthsMs: number[] = [];
  #before: readonly ProcessorCounts[] | null = null;
  /** Length of the current stall of each processor; −1 outside a stall. */
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
   * Returns null if nothing was taken or read.
   * @param form durations from a `StallProbe`; null for the resolution of the system, which merges
   * short stalls.
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

/** @param form as for `StallCount.seen`. */
type EndStalls = (form: Spread | null) => StallsSeen | null;

/**
 * Reads the counters until ended. @returns a function that ends it and returns the result; null if
 * the system has no such counters.
 */
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
  // An interrupted sleep ends the watch; its cause is reported elsewhere.
  void looking().catch(() => {});
  return (form) => {
    isOver = true;
    return count.seen(form);
  };
}
