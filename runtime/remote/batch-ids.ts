/** Names of batches: `<front end>-<number>`, never used twice. */

/** Numbers that one ms has room for: those of a process that follows do not meet ours. */
const NUMBERS_PER_MS = 1000;

let nextNumber = Date.now() * NUMBERS_PER_MS;

/**
 * @param frontEnd name of this process among those that use the same workers. All executors of a
 * process count together, and one that is started under its name later counts on from there.
 */
export function nextBatchId(frontEnd: string): string {
  const number = nextNumber;
  nextNumber++;
  return `${frontEnd}-${number}`;
}
