/** How requests follow each other: one by one, several at once, or whenever it is time for one. */

/** Of a request: how long the client waited for its answer; NaN where it was no answer. */
export type Ask = () => Promise<number>;

/** Time that has no mean to it but that nothing else happens meanwhile. */
export interface LoopClock {
  /** Monotonic. */
  readonly nowMs: () => number;
  readonly sleep: (ms: number) => Promise<void>;
}

/** When a loop ends: after its time, or later with the fewest requests, but not later than that. */
export interface LoopEnd {
  readonly leastMs: number;
  readonly fewest: number;
  readonly mostMs: number;
}

/**
 * One request at a time, after a while in which nothing happens.
 * @param gapMs the next of these while.
 * @returns what each took.
 */
export async function oneByOne(
  ask: Ask,
  gapMs: () => number,
  end: LoopEnd,
  clock: LoopClock,
  signal: AbortSignal,
): Promise<number[]> {
  const took: number[] = [];
  const startMs = clock.nowMs();
  while (goesOn(took.length, clock.nowMs() - startMs, end)) {
    await clock.sleep(gapMs());
    signal.throwIfAborted();
    took.push(await ask());
  }
  return took;
}

/** Always as many requests under way, each followed by the next. @returns what each took. */
export async function atOnce(
  ask: Ask,
  width: number,
  end: LoopEnd,
  clock: LoopClock,
  signal: AbortSignal,
): Promise<number[]> {
  const took: number[] = [];
  const startMs = clock.nowMs();
  let sent = 0;
  const lane = async (): Promise<void> => {
    while (goesOn(sent, clock.nowMs() - startMs, end)) {
      sent++;
      signal.throwIfAborted();
      took.push(await ask());
    }
  };
  await Promise.all(Array.from({ length: width }, lane));
  return took;
}

/**
 * Requests at times that no answer changes, as clients send them that know nothing of each other;
 * but none while too many are under way. @param gapMs from one to the next.
 * @returns what each took.
 */
export async function inTheirTime(
  ask: Ask,
  gapMs: () => number,
  end: LoopEnd,
  clock: LoopClock,
  signal: AbortSignal,
): Promise<number[]> {
  const took: number[] = [];
  const startMs = clock.nowMs();
  const open = new Set<Promise<void>>();
  let sent = 0;
  for (let dueMs = startMs + gapMs(); goesOn(sent, dueMs - startMs, end); dueMs += gapMs()) {
    const leftMs = dueMs - clock.nowMs();
    if (leftMs > 0) await clock.sleep(leftMs);
    signal.throwIfAborted();
    if (open.size >= MOST_OPEN) await Promise.race(open);
    sent++;
    const one = ask().then((ms) => {
      took.push(ms);
      open.delete(one);
    });
    open.add(one);
  }
  await Promise.all(open);
  return took;
}

/** Requests under way at once, of those that are sent in their time. */
const MOST_OPEN = 256;

function goesOn(count: number, tookMs: number, { leastMs, fewest, mostMs }: LoopEnd): boolean {
  return tookMs < leastMs || (count < fewest && tookMs < mostMs);
}
