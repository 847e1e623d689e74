/**
 * Sees when the host lets this machine's processors work slowly, which no counter of the system
 * tells: other guests on the same core, or a lower clock. The same piece of work is done again and
 * again, and the processor time that it takes is compared with what it usually takes.
 */
import { PaceLooks } from "./pace-looks.ts";

/** Between two looks. */
const LOOK_MS = 20;

export interface PaceWatch extends Pick<PaceLooks, "slowShare"> {
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
