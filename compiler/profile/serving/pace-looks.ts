/**
 * Tells when processors worked slowly, by what the batches of a worker took again and again.
 */
import { meanOf } from "./spread.ts";

/** Of what a look usually takes: from there on the processor was slow. */
const SLOW_FACTOR = 1.2;
/** Looks without which nothing is usual. */
const LEAST_LOOKS = 50;
const LEAST_WINDOWS = 2;
/** One look may have been interrupted: it counts as so much of what one usually takes at most. */
const MOST_FACTOR = 4;
/** A batch or a short queue is slow as the mean of so long is. */
const WINDOW_MS = 100;
/** Part of the time that is told as slow at most: some of it was not, or nobody could tell. */
const MOST_SHARE = 0.95;

/** Times in which a processor worked slowly. */
interface SlowSeen {
  /** Part of the time, 0..1 exclusive. */
  readonly share: number;
  /** How many times as long work took in them; above 1. */
  readonly factor: number;
  /** How long one lasted in the mean, ms. */
  readonly spellMs: number;
  /** What a look took in the mean outside of them. */
  readonly fastMs: number;
}

/** What the looks took, in the order in which they were taken. */
export class PaceLooks {
  readonly #atMs: number[] = [];
  readonly #tookMs: number[] = [];
  /** Who worked: each has a pace of its own. */
  readonly #who: number[] = [];

  /** @param atMs any clock, ascending. @param who worked, one of a few. */
  add(atMs: number, tookMs: number, who = 0): void {
    this.#atMs.push(atMs);
    this.#tookMs.push(tookMs);
    this.#who.push(who);
  }

  /**
   * What a time had of slow spells: windows of 100 ms or two looks, which took over 1.2 times as
   * long in the mean as they usually do. Null where there was none, or too few looks.
   */
  slow(fromMs: number, untilMs: number): SlowSeen | null {
    const usualMs = this.#usualMs();
    const byWho = [...new Set(this.#who)].map((who) => this.#windows(who, fromMs, untilMs));
    const slow = byWho.flat().filter(isSlow);
    const fast = byWho.flat().filter((factor) => !isSlow(factor));
    if (usualMs === null || slow.length === 0) return null;
    const spells = byWho.flatMap((windows) => windows.filter(isFirstOfSpell)).length;
    const fastFactor = fast.length === 0 ? 1 : meanOf(fast);
    return {
      share: toThousandths(Math.min(MOST_SHARE, slow.length / (slow.length + fast.length))),
      factor: toThousandths(meanOf(slow) / fastFactor),
      spellMs: Math.round((slow.length * this.#windowMs()) / spells),
      fastMs: fastFactor * usualMs,
    };
  }

  /** Over what a look usually takes, in the mean of each window that has one. */
  #windows(who: number, fromMs: number, untilMs: number): number[] {
    const usualMs = this.#usualMs();
    if (usualMs === null) return [];
    const windowMs = this.#windowMs();
    const first = this.#atMs.find((atMs) => atMs >= fromMs) ?? 0;
    const windows: number[][] = [];
    for (const [look, atMs] of this.#atMs.entries()) {
      if (this.#who[look] !== who || atMs < fromMs || atMs > untilMs) continue;
      const window = Math.floor((atMs - first) / windowMs);
      const factor = Math.min(MOST_FACTOR, (this.#tookMs[look] ?? usualMs) / usualMs);
      windows[window] = [...(windows[window] ?? []), factor];
    }
    const seen = windows.filter((looks) => looks !== undefined);
    return seen.length < LEAST_WINDOWS ? [] : seen.map(meanOf);
  }

  /** Long enough for two looks. */
  #windowMs(): number {
    return Math.max(WINDOW_MS, 2 * (this.#usualMs() ?? 0));
  }

  /** The lower quartile: most of the time may have been slow, but some of it was not. */
  #usualMs(): number | null {
    if (this.#tookMs.length < LEAST_LOOKS) return null;
    const sorted = Float64Array.from(this.#tookMs).sort();
    return sorted[Math.floor(sorted.length / 4)] ?? null;
  }
}

function isSlow(factor: number): boolean {
  return factor > SLOW_FACTOR;
}

function isFirstOfSpell(factor: number, window: number, windows: readonly number[]): boolean {
  return isSlow(factor) && !isSlow(windows[window - 1] ?? 0);
}

function toThousandths(value: number): number {
  return Math.round(value * 1000) / 1000;
}
