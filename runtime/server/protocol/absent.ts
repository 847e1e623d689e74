/** Extensions of Triton that this server lacks, and the message for clients that use them. */

export const NO_MEMORY =
  "this server shares no memory with its clients: send tensors in the request";

const ABSENT_BY_SEGMENT: ReadonlyMap<string, string> = new Map([
  ["systemsharedmemory", NO_MEMORY],
  ["cudasharedmemory", NO_MEMORY],
]);

/**
 * @param path segments after `/v2`, or after those of a model.
 * @returns the message; undefined for a path that belongs to no extension.
 */
export function absenceOf([first = ""]: readonly string[]): string | undefined {
  return ABSENT_BY_SEGMENT.get(first);
}
