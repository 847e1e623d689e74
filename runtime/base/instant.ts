/** Points in time as files and options write them: a day, or a time in UTC. */

export const INSTANT_EXPECTED = "a day such as 2027-01-31, or a time such as 2027-01-31T12:00:00Z";

const INSTANT = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?Z)?$/;

/**
 * Returns milliseconds since 1970, for a day those of its start in UTC; undefined for invalid text.
 */
export function instantMs(value: unknown): number | undefined {
  if (typeof value !== "string" || !INSTANT.test(value)) return undefined;
  const ms = Date.parse(value);
  return Number.isNaN(ms) ? undefined : ms;
}
