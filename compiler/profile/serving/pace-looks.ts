/** Detects when processors were slow from the times of repeated batches of a worker. */
import { meanOf } from "./spread.ts";

/** Multiple of the typical time from which the processor counts as slow. */
const SLOW_FACTOR = 1.2;
/** Fewest looks for a typical time. */
const LEAST_LOOKS = 50;
const LEAST_WINDOWS = 2;
/** Limit of one look relative to the typical time: it may have been interrupted. */
const MOST_FACTOR = 4;
/** A batch or a short queue is slowed by the mean over about this time. */
const WINDOW_MS = 100;
/** Largest share of time reported as slow: the typical time itself needs fast looks. */
const MOST_SHARE = 0.95;

/** Periods in which a processor was slow. */
interface SlowSeen {
  /** Share of the time, 0..1 exclusive. */
  readonly share: number;
  /** Slowdown in these periods; above 1. */
  readonly factor: number;
  /** Mean duration of a period, ms. */
  readonly spellMs: number;
  /** Mean time of a look outside these periods. */
  readonly fastMs: number;
}

/** Times of looks, in order. */
export class PaceLooks {
  readonly #atMs: number[] = [];
  readonly #tookMs: number[] = [];
  /** Index of the worker: each has its own pace. */
  readonly #who: number[] = [];

  /** @param atMs of any clock, ascending. @param who index of the worker. */
  add(atMs: number, tookMs: number, who = 0): void {
    this.#atMs.push(atMs);
    this.#tookMs.push(tookMs);
    this.#who.push(who);
  }

  /**
   * Finds slow periods in an interval: windows of 100 ms or two looks whose mean is over 1.2 times
   * the typical time. Returns null without slow periods, or with too few looks.
   */
  slow(fromMs: number, untilMs: number): SlowSeen | null {
    const typicalMs = this.#typicalMs();
    const byWho = [...new Set(this.#who)].map((who) => this.#windows(who, fromMs, untilMs));
    const slow = byWho.flat().filter(isSlow);
    const fast = byWho.flat().filter((factor) => !isSlow(factor));
    if (typicalMs === null || slow.length === 0) return null;
    const spells = byWho.flatMap((windows) => windows.filter(isFirstOfSpell)).length;
    const fastFactor = fast.length === 0 ? 1 : meanOf(fast);
    return {
      share: toThousandths(Math.min(MOST_SHARE, slow.length / (slow.length + fast.length))),
      factor: toThousandths(meanOf(slow) / fastFactor),
      spellMs: Math.round((slow.length * this.#windowMs()) / spells),
      fastMs: fastFactor * typicalMs,
    };
  }

  /** Mean time in each window relative to the typical time; windows without looks are left out. */
  #windows(who: number, fromMs: number, untilMs: number): number[] {
    const typicalMs = this.#typicalMs();
    if (typicalMs === null) return [];
    const windowMs = this.#windowMs();
    const first = this.#atMs.find((atMs) => atMs >= fromMs) ?? 0;
    const windows: number[][] = [];
    for (const [look, atMs] of this.#atMs.entries()) {
      if (this.#who[look] !== who || atMs < fromMs || atMs > untilMs) continue;
      const window = Math.floor((atMs - first) / windowMs);
      const factor = Math.min(MOST_FACTOR, (this.#tookMs[look] ?? typicalMs) / typicalMs);
      windows[window] = [...(windows[window] ?? []), factor];
    }
    const seen = windows.filter((looks) => looks !== undefined);
    return seen.length < LEAST_WINDOWS ? [] : seen.map(meanOf);
  }

  /** Long enough for two looks. */
  #windowMs(): number {
    return Math.max(WINDOW_MS, 2 * (this.#typicalMs() ?? 0));
  }

  /** Lower quartile: most of the time may have been slow, but not all. */
  #typicalMs(): number | null {
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
