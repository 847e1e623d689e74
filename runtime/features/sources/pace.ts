/** Intervals of polls and retries: randomized, and growing while a source is unreachable. */

export interface Pace {
  /** Interval of polls without errors, ms. */
  readonly pollMs: number;
  /** Returns a number in [0, 1). */
  readonly random: () => number;
}

const FIRST_RETRY_MS = 1000;
/** Longest wait, except one that the source requests or a longer poll interval. */
const LONGEST_RETRY_MS = 300_000;
const LONGEST_ASKED_MS = 3_600_000;
const LONGEST_REFUSED_MS = 3_600_000;
const DOUBLINGS = 16;

/** Varies the poll interval by up to 10 %. */
export function nextPollMs({ pollMs, random }: Pace): number {
  return pollMs * (0.9 + 0.2 * random());
}

/**
 * Exponential backoff: between half and all of a time that doubles with each failure, up to the
 * poll interval.
 * @param failures consecutive failures, at least one. @param askedMs requested by the source, if
 * any.
 */
export function nextRetryMs(failures: number, askedMs: number | null, pace: Pace): number {
  const { pollMs, random } = pace;
  const doubled = FIRST_RETRY_MS * 2 ** Math.min(failures - 1, DOUBLINGS);
  const waitMs = Math.min(doubled, Math.max(pollMs, FIRST_RETRY_MS), LONGEST_RETRY_MS);
  const spreadMs = waitMs * (0.5 + 0.5 * random());
  return Math.max(spreadMs, Math.min(askedMs ?? 0, LONGEST_ASKED_MS));
}

/**
 * Time until a rejected bundle is tried again, because what it lacked may be available by then;
 * doubles with each attempt. @param tries of the bundle, at least one.
 */
export function refusedAgainMs(tries: number, { pollMs }: Pace): number {
  const least = Math.max(pollMs, FIRST_RETRY_MS);
  return Math.min(least * 2 ** Math.min(tries - 1, DOUBLINGS), LONGEST_REFUSED_MS);
}
