/** Sends requests sequentially, concurrently, or at given times. */

/** Sends a request. @returns the time until its answer, ms; NaN without an answer. */
export type Ask = () => Promise<number>;

/** Clock and pauses of a loop. */
export interface LoopClock {
  /** Monotonic. */
  readonly nowMs: () => number;
  readonly sleep: (ms: number) => Promise<void>;
}

/** End of a loop: after `leastMs` with at least `fewest` requests, and no later than `mostMs`. */
export interface LoopEnd {
  readonly leastMs: number;
  readonly fewest: number;
  readonly mostMs: number;
}

/**
 * Sends one request at a time, each after a pause.
 * @param gapMs returns the next pause.
 * @returns the time of each.
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

/** Keeps a constant number of requests in flight. @returns the time of each. */
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
 * Sends requests at times that do not depend on the answers, like independent clients, with a limit
 * on requests in flight. @param gapMs returns the time to the next.
 * @returns the time of each.
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

/** Most requests in flight in `inTheirTime`. */
const MOST_OPEN = 256;

function goesOn(count: number, tookMs: number, { leastMs, fewest, mostMs }: LoopEnd): boolean {
  return tookMs < leastMs || (count < fewest && tookMs < mostMs);
}
