/** How messages about models that take too much tell what can be done. */

/** The words of a worker, with the option that sets the limit they are about. */
export function withRemedy(reason: string): string {
  if (/memory limit of a worker/.test(reason)) return `${reason}, which --model-memory sets`;
  const isLate = /took more than \d+ ms|no answer within \d+ ms/.test(reason);
  return isLate ? `${reason}, the limit of --model-timeout` : reason;
}
