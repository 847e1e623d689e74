/** What of Triton's extensions is not here, and what clients that ask for it are told. */

export const NO_MEMORY =
  "this server shares no memory with its clients: send tensors in the request";

const ABSENT_BY_SEGMENT: ReadonlyMap<string, string> = new Map([
  ["systemsharedmemory", NO_MEMORY],
  ["cudasharedmemory", NO_MEMORY],
]);

/**
 * @param path segments behind `/v2`, or behind those of a model.
 * @returns why there is nothing; undefined for a path that is none of an extension.
 */
export function absenceOf([first = ""]: readonly string[]): string | undefined {
  return ABSENT_BY_SEGMENT.get(first);
}
