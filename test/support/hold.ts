/**
 * For what is checked after every event, where `expect` takes too long.
 * @throws Error saying what does not hold.
 */
export function hold(condition: boolean, message: string): void {
  if (!condition) throw new Error(message);
}
