/**
 * Sees when the host lets this machine's processors work slowly, which no counter of the system
 * tells: other guests on the same core, or a lower clock. The same piece of work is done again and
 * again, and the processor time that it takes is compared with what it usually takes.
 */

import { meanOf } from "./spread.ts";

/** Between two looks. */
const LOOK_MS = 20;
/** Of what a look usually takes: from there on the processor was slow. */
const SLOW_FACTOR = 1.2;
/** Looks without which nothing is usual. */
const LEAST_LOOKS = 50;
/** So few looks of a time say nothing of it. */
const LEAST_WITHIN = 10;
/** One look may have been interrupted: it counts as so much of what one usually takes at most. */
const MOST_FACTOR = 4;
/** A batch or a short queue is slow as the mean of so long is. */
const WINDOW_MS = 100;
/** Part of the time that is told as slow at most: some of it was not, or nobody could tell. */
const MOST_SHARE = 0.95;

/** Times in which a processor worked slowly. */
export interface SlowSeen {
  /** Part of the time, 0..1 exclusive. */
  readonly share: number;
  /** How many times as long work took in them; above 1. */
  readonly factor: number;
  /** How long one lasted in the mean, ms. */
  readonly spellMs: number;
}

/** What the looks took, in the order in which they were taken. */
export class PaceLooks {
  readonly #atMs: number[] = [];
  readonly #tookMs: number[] = [];

  /** @param atMs any clock, ascending. @param tookMs of processor time. */
  add(atMs: number, tookMs: number): void {
    this.#atMs.push(atMs);
    this.#tookMs.push(tookMs);
  }

  /** Part of the looks within a time that were slow, 0..1; null where there were too few. */
  slowShare(fromMs: number, untilMs: number): number | null {
    const usualMs = this.#usualMs();
    const own = this.#tookMs.filter((_, look) => {
      const atMs = this.#atMs[look] ?? Number.NaN;
      return atMs >= fromMs && atMs <= untilMs;
    });
    if (usualMs === null || own.length < LEAST_WITHIN) return null;
    return own.filter((tookMs) => tookMs > SLOW_FACTOR * usualMs).length / own.length;
  }

  /**
   * What a time had of slow spells: windows of 100 ms whose looks took over 1.2 times as long in
   * the mean as they usually do. Null where there was none, or too few looks.
   */
  slow(fromMs: number, untilMs: number): SlowSeen | null {
    const windows = this.#windows(fromMs, untilMs);
    const isSlow = windows.map((factor) => factor > SLOW_FACTOR);
    const slow = windows.filter((_, window) => isSlow[window] === true);
    const fast = windows.filter((_, window) => isSlow[window] === false);
    if (slow.length === 0) return null;
    const spells = isSlow.filter((is, window) => is && isSlow[window - 1] !== true).length;
    return {
      share: toThousandths(Math.min(MOST_SHARE, slow.length / windows.length)),
      factor: toThousandths(meanOf(slow) / (fast.length === 0 ? 1 : meanOf(fast))),
      spellMs: Math.round((slow.length * WINDOW_MS) / spells),
    };
  }

  /** Over what a look usually takes, in the mean of each window that has one. */
  #windows(fromMs: number, untilMs: number): number[] {
    const usualMs = this.#usualMs();
    if (usualMs === null) return [];
    const windows: number[][] = [];
    for (const [look, atMs] of this.#atMs.entries()) {
      if (atMs < fromMs || atMs > untilMs) continue;
      const window = Math.floor((atMs - fromMs) / WINDOW_MS);
      const factor = Math.min(MOST_FACTOR, (this.#tookMs[look] ?? usualMs) / usualMs);
      windows[window] = [...(windows[window] ?? []), factor];
    }
    const seen = windows.filter((looks) => looks !== undefined);
    return seen.length * (WINDOW_MS / LOOK_MS) < LEAST_WITHIN ? [] : seen.map(meanOf);
  }

  /** The lower quartile: most of the time may have been slow, but some of it was not. */
  #usualMs(): number | null {
    if (this.#tookMs.length < LEAST_LOOKS) return null;
    const sorted = Float64Array.from(this.#tookMs).sort();
    return sorted[Math.floor(sorted.length / 4)] ?? null;
  }
}

function toThousandths(value: number): number {
  return Math.round(value * 1000) / 1000;
}

export interface PaceWatch extends Pick<PaceLooks, "slowShare" | "slow"> {
  end(): void;
}

/** Looks until it is ended, or the sleep is interrupted. @param nowMs the clock of the looks. */
export function watchPace(nowMs: () => number, sleep: (ms: number) => Promise<void>): PaceWatch {
  const looks = new PaceLooks();
  const numbers = Float64Array.from({ length: NUMBERS }, (_, index) => 1 + 1 / (index + 1));
  // Compiled first, else the first looks are slow.
  for (let round = 0; round < WARM_UP; round++) work(numbers);
  let isOver = false;
  const looking = async () => {
    while (!isOver) {
      // Who has slept finds caches cold and a clock that is low.
      work(numbers);
      const before = process.cpuUsage();
      work(numbers);
      const { user, system } = process.cpuUsage(before);
      looks.add(nowMs(), (user + system) / 1000);
      await sleep(LOOK_MS);
    }
  };
  // A look that is interrupted ends the watch; what it interrupts says so itself.
  void looking().catch(() => {});
  return {
    slowShare: (from, until) => looks.slowShare(from, until),
    slow: (from, until) => looks.slow(from, until),
    end: () => {
      isOver = true;
    },
  };
}

/** 16 KiB, which the nearest cache holds, so that a look depends on the processor alone. */
const NUMBERS = 2048;
const ROUNDS = 40;
const WARM_UP = 500;

/** Eight sums that do not wait for each other, which takes all that a core can do at once. */
function work(numbers: Float64Array): number {
  let [a, b, c, d, e, f, g, h] = [0, 0, 0, 0, 0, 0, 0, 0];
  for (let round = 0; round < ROUNDS; round++) {
    for (let index = 0; index < NUMBERS; index += 8) {
      a += 1.1 * (numbers[index] ?? 0);
      b += 1.2 * (numbers[index + 1] ?? 0);
      c += 1.3 * (numbers[index + 2] ?? 0);
      d += 1.4 * (numbers[index + 3] ?? 0);
      e += 1.5 * (numbers[index + 4] ?? 0);
      f += 1.6 * (numbers[index + 5] ?? 0);
      g += 1.7 * (numbers[index + 6] ?? 0);
      h += 1.8 * (numbers[index + 7] ?? 0);
    }
  }
  return a + b + c + d + e + f + g + h;
}
