/** Stops on an internal error, in production too. @throws Error when the condition is false. */
export function assert(condition: boolean, message: string): asserts condition {
  if (!condition) throw new Error(`assertion failed: ${message}`);
}
