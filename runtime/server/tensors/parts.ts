/** Bytes that lie in several pieces. */

export function lengthOf(parts: readonly Uint8Array[]): number {
  let length = 0;
  for (const part of parts) length += part.length;
  return length;
}
