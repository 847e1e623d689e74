/**
 * Sees when the host lets this machine's processors work slowly, which no counter of the system
 * tells: other guests on the same core, or a lower clock. The same piece of work is done again and
 * again, and the processor time that it takes is compared with what it usually takes.
 */

/** Between two looks. */
export const PACE_LOOK_MS = 20;
/** Of what a look usually takes: from there on the processor was slow. */
const SLOW_FACTOR = 1.2;
/** Looks without which nothing is usual. */
const LEAST_LOOKS = 50;
/** So few looks of a time say nothing of it. */
const LEAST_WITHIN = 10;

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

  /** The lower quartile: most of the time may have been slow, but some of it was not. */
  #usualMs(): number | null {
    if (this.#tookMs.length < LEAST_LOOKS) return null;
    const sorted = Float64Array.from(this.#tookMs).sort();
    return sorted[Math.floor(sorted.length / 4)] ?? null;
  }
}

export interface PaceProbe {
  readonly slowShare: PaceLooks["slowShare"];
  end(): void;
}

/** @param nowMs the clock of the looks. @param every calls back until what it gives is called. */
export function probePace(
  nowMs: () => number,
  every: (intervalMs: number, callback: () => void) => () => void,
): PaceProbe {
  const looks = new PaceLooks();
  const numbers = Float64Array.from({ length: NUMBERS }, (_, index) => 1 + 1 / (index + 1));
  // Compiled first, else the first looks are slow.
  for (let round = 0; round < WARM_UP; round++) work(numbers);
  const end = every(PACE_LOOK_MS, () => {
    // Who has slept finds caches cold and a clock that is low.
    work(numbers);
    const before = process.cpuUsage();
    work(numbers);
    const { user, system } = process.cpuUsage(before);
    looks.add(nowMs(), (user + system) / 1000);
  });
  return { slowShare: (from, until) => looks.slowShare(from, until), end };
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
