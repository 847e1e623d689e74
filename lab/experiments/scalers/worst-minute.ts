/** The minute that went worst. */

interface Second {
  readonly requests: number;
  readonly violations: number;
}

const MINUTE = 60;

/** Violations of the minute with the most of its requests; minutes follow each other from 0 on. */
export function worstMinute(timeline: readonly Second[] | null): number {
  const seconds = timeline ?? [];
  let worst = 0;
  for (let first = 0; first < seconds.length; first += MINUTE) {
    const minute = seconds.slice(first, first + MINUTE);
    const requests = minute.reduce((sum, one) => sum + one.requests, 0);
    const violations = minute.reduce((sum, one) => sum + one.violations, 0);
    if (requests > 0) worst = Math.max(worst, violations / requests);
  }
  return worst;
}
