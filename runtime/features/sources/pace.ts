/** When a source is asked again: not by all servers at once, and ever later where it is away. */

export interface Pace {
  /** Between two looks, ms, where all is well. */
  readonly pollMs: number;
  /** In [0, 1). */
  readonly random: () => number;
}

const FIRST_RETRY_MS = 1000;
/** No wait is longer, but that which a source asks for itself or a longer poll. */
const LONGEST_RETRY_MS = 300_000;
const LONGEST_ASKED_MS = 3_600_000;
const LONGEST_REFUSED_MS = 3_600_000;
const DOUBLINGS = 16;

/** A tenth to either side of the poll's time. */
export function nextPollMs({ pollMs, random }: Pace): number {
  return pollMs * (0.9 + 0.2 * random());
}

/**
 * Between a half and the whole of a time that doubles with every failure, up to the poll's.
 * @param failures in a row, at least one. @param askedMs what the source asked for, if it did.
 */
export function nextRetryMs(failures: number, askedMs: number | null, pace: Pace): number {
  const { pollMs, random } = pace;
  const doubled = FIRST_RETRY_MS * 2 ** Math.min(failures - 1, DOUBLINGS);
  const waitMs = Math.min(doubled, Math.max(pollMs, FIRST_RETRY_MS), LONGEST_RETRY_MS);
  const spreadMs = waitMs * (0.5 + 0.5 * random());
  return Math.max(spreadMs, Math.min(askedMs ?? 0, LONGEST_ASKED_MS));
}

/**
 * After how long the same refused bundle is tried again, for what it lacked may have come since: a
 * time that doubles with every try. @param tries of it, at least one.
 */
export function refusedAgainMs(tries: number, { pollMs }: Pace): number {
  const least = Math.max(pollMs, FIRST_RETRY_MS);
  return Math.min(least * 2 ** Math.min(tries - 1, DOUBLINGS), LONGEST_REFUSED_MS);
}
